// AddFwdOp, reference: self + alpha * other.
#include <cmath>

#include "kernels/element_types.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/reference.hpp"
#include "tenon/contracts/elementwise.h"

namespace tenon::cpu {
namespace {

/// The exact self + alpha * other, rounded to double once and then to T.
template <FloatElement T>
void add_floats(const View& self, const View& other, const View& output, double alpha) {
  map_elements<T>(self, other, output, [alpha](T a, T b) {
    const double sum =
        std::fma(alpha, static_cast<double>(widen(b)), static_cast<double>(widen(a)));
    return narrow<T>(sum);
  });
}

/// Wraps around, as two's complement does.
template <class T>
void add_integers(const View& self, const View& other, const View& output, std::int64_t alpha) {
  const auto factor = static_cast<std::uint64_t>(alpha);
  map_elements<T>(self, other, output, [factor](T a, T b) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + factor * static_cast<std::uint64_t>(b));
  });
}

struct AddReference : ReferenceKernel<contracts::add_fwd::Call> {
  static constexpr auto op = "AddFwdOp", interface = "add_fwd";

  static void launch(const Launch& launch) {
    const View self = view_of(launch, 0);
    const View other = view_of(launch, 1);
    const View output = view_of(launch, 2);
    require_like(self, output, "self");
    require_like(other, output, "other");
    const Number alpha = launch.call<Call>().alpha;
    const ElementType dtype = output.dtype;
    if (visit_float(dtype, [&]<class T>(std::type_identity<T>) {
          add_floats<T>(self, other, output, alpha.as_double());
        })) {
      return;
    }
    if (visit_integer(dtype, [&]<class T>(std::type_identity<T>) {
          add_integers<T>(self, other, output, alpha.as_int());
        })) {
      return;
    }
    unknown_dtype(dtype);
  }
};

}  // namespace

KernelRows add_kernels() { return kernel_rows<AddReference>(); }

}  // namespace tenon::cpu
