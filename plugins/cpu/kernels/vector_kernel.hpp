// What the vector forms declare in common.
#pragma once

#include <array>
#include <tuple>

#include "kernels/arch_variants.hpp"
#include "kernels/arguments.hpp"
#include "kernels/element_types.hpp"
#include "tenon/plugin.hpp"

namespace tenon::cpu {

/// Float types that vector kernels compute in double, as the reference does. Not float64: for that
/// the reference has more digits and a larger range than double gives.
inline constexpr std::array kNarrowFloats{kFloat16, kBFloat16, kFloat32};

/// Base of the kernel types in vector code. Built once per device; the architecture level is chosen
/// then.
template <class CallType>
class VectorKernel {
 public:
  static constexpr std::array devices{"cpu"};
  static constexpr std::array preferred_over{"reference"};
  static constexpr ElementType accumulate = kFloat64;
  static constexpr bool deterministic = true;
  using Call = CallType;

  static std::tuple<> identity(const Call& /*call*/) { return {}; }

  explicit VectorKernel(BuildContext& context) : variant_(variant_for(context.device())) {}

 protected:
  [[nodiscard]] Variant variant() const { return variant_; }

 private:
  Variant variant_;
};

/// Calls visit(std::type_identity<T>{}) for a dtype that vector kernels compute in.
template <class Visit>
void visit_narrow_float(ElementType dtype, Visit visit) {
  switch (dtype.id()) {
    case kFloat16.id():
      return visit(std::type_identity<Float16>{});
    case kBFloat16.id():
      return visit(std::type_identity<BFloat16>{});
    case kFloat32.id():
      return visit(std::type_identity<float>{});
    default:
      unknown_dtype(dtype);
  }
}

}  // namespace tenon::cpu

// Defines NAME_baseline, NAME_v3 and NAME_v4 as function templates over T, each NAME(arguments)
// compiled for its level. A macro because an attribute cannot be a template parameter.
#define TENON_CPU_VARIANTS(name, Arguments)                           \
  template <class T>                                                  \
  void name##_baseline(const Arguments<T>& arguments) {               \
    name(arguments);                                                  \
  }                                                                   \
  template <class T>                                                  \
  TENON_CPU_TARGET_V3 void name##_v3(const Arguments<T>& arguments) { \
    name(arguments);                                                  \
  }                                                                   \
  template <class T>                                                  \
  TENON_CPU_TARGET_V4 void name##_v4(const Arguments<T>& arguments) { \
    name(arguments);                                                  \
  }
#define TENON_CPU_RUN(name, T, arguments) \
  run_variant(variant(), name##_baseline<T>, name##_v3<T>, name##_v4<T>, arguments)
