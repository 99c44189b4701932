// MulFwdOp, reference: self * other.
#include "kernels/element_types.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/reference.hpp"
#include "tenon/contracts/elementwise.h"

namespace tenon::cpu {
namespace {

/// A product of two 16- or 32-bit values is exact in double; one of doubles is rounded by its one
/// operation.
template <FloatElement T>
void mul_floats(const View& self, const View& other, const View& output) {
  map_elements<T>(self, other, output, [](T a, T b) {
    const double product = static_cast<double>(widen(a)) * static_cast<double>(widen(b));
    return narrow<T>(product);
  });
}

/// Wraps around, as two's complement does.
template <class T>
void mul_integers(const View& self, const View& other, const View& output) {
  map_elements<T>(self, other, output, [](T a, T b) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  });
}

struct MulReference : ReferenceKernel<contracts::mul_fwd::Call> {
  static constexpr auto op = "MulFwdOp", interface = "mul_fwd";

  static void launch(const Launch& launch) {
    const View self = view_of(launch, 0);
    const View other = view_of(launch, 1);
    const View output = view_of(launch, 2);
    require_like(self, output, "self");
    require_like(other, output, "other");
    const ElementType dtype = output.dtype;
    if (visit_float(dtype,
                    [&]<class T>(std::type_identity<T>) { mul_floats<T>(self, other, output); }))
      return;
    if (visit_integer(
            dtype, [&]<class T>(std::type_identity<T>) { mul_integers<T>(self, other, output); }))
      return;
    unknown_dtype(dtype);
  }
};

}  // namespace

KernelRows mul_kernels() { return kernel_rows<MulReference>(); }

}  // namespace tenon::cpu
