// GeluFwdOp, reference, in both forms.
#include <cmath>
#include <numbers>

#include "kernels/element_types.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/reference.hpp"
#include "tenon/contracts/elementwise.h"

namespace tenon::cpu {
namespace {

/// x * P(N(0, 1) <= x) = x/2 * (1 + erf(x / sqrt 2)). Through erfc, because 1 + erf loses its
/// digits for negative x.
template <std::floating_point C>
[[nodiscard]] C gelu_erf(C x) {
  return x * (std::erfc(-x / std::numbers::sqrt2_v<C>) / 2);
}

/// x/2 * (1 + tanh u), u = sqrt(2 / pi) * (x + 0.044715 x^3). Through 1 + tanh u = 2 / (1 +
/// exp(-2u)), for the same reason. The coefficient is the double that every framework writes.
template <std::floating_point C>
[[nodiscard]] C gelu_tanh(C x) {
  constexpr C kSlope = std::numbers::sqrt2_v<C> * std::numbers::inv_sqrtpi_v<C>;
  constexpr double kCubic = 0.044715;
  const C u = kSlope * (x + static_cast<C>(kCubic) * x * x * x);
  return x / (1 + std::exp(-2 * u));
}

struct GeluReference : ReferenceKernel<contracts::gelu_fwd::Call> {
  static constexpr auto op = "GeluFwdOp", interface = "gelu_fwd";

  static void launch(const Launch& launch) {
    const View x = view_of(launch, 0);
    const View output = view_of(launch, 1);
    require_like(x, output, "x");
    const bool tanh_form =
        launch.call<Call>().approximate == contracts::gelu_fwd::Approximate::kTanh;
    const bool known = visit_float(output.dtype, [&]<class T>(std::type_identity<T>) {
      if (tanh_form) {
        map_elements<T>(x, output, [](T value) { return narrow<T>(gelu_tanh(widen(value))); });
      } else {
        map_elements<T>(x, output, [](T value) { return narrow<T>(gelu_erf(widen(value))); });
      }
    });
    if (!known) unknown_dtype(output.dtype);
  }
};

}  // namespace

KernelRows gelu_kernels() { return kernel_rows<GeluReference>(); }

}  // namespace tenon::cpu
