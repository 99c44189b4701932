// LayerNormFwdOp, reference: (x - mean) / sqrt(var + eps) * weight + bias over the rows of [m, n].
#include <cmath>

#include "kernels/element_types.hpp"
#include "kernels/reference.hpp"
#include "tenon/contracts/norm.h"

namespace tenon::cpu {
namespace {

/// In two passes: the variance is of the differences from the mean, because the difference of two
/// large means of squares cancels.
template <FloatElement T>
void normalize_row(const View& x,
                   const View* weight,
                   const View* bias,
                   const View& output,
                   std::int64_t row,
                   double eps) {
  using C = Compute<T>;
  const std::int64_t n = x.shape[1];
  const auto count = static_cast<C>(n);
  const auto value = [&](std::int64_t i) {
    return widen(x.load<T>(row * x.strides[0] + i * x.strides[1]));
  };

  CompensatedSum<C> sum;
  for (std::int64_t i = 0; i < n; ++i) sum.add(value(i));
  const C mean = sum.value() / count;
  CompensatedSum<C> squares;
  for (std::int64_t i = 0; i < n; ++i) squares.add((value(i) - mean) * (value(i) - mean));
  const C root = std::sqrt(squares.value() / count + static_cast<C>(eps));
  for (std::int64_t i = 0; i < n; ++i) {
    C normalized = (value(i) - mean) / root;
    if (weight != nullptr) normalized *= widen(weight->load<T>(i * weight->strides[0]));
    if (bias != nullptr) normalized += widen(bias->load<T>(i * bias->strides[0]));
    output.store(row * output.strides[0] + i * output.strides[1], narrow<T>(normalized));
  }
}

struct LayerNormReference : ReferenceKernel<contracts::layer_norm_fwd::Call> {
  static constexpr auto op = "LayerNormFwdOp", interface = "layer_norm_fwd";

  static void launch(const Launch& launch) {
    const View x = view_of(launch, 0);
    const std::optional<View> weight = optional_view_of(launch, 1);
    const std::optional<View> bias = optional_view_of(launch, 2);
    const View output = view_of(launch, 3);
    require_rank(output, 2, "output");
    require_like(x, output, "x");
    if (weight) require_row(*weight, output, "weight");
    if (bias) require_row(*bias, output, "bias");
    const double eps = launch.call<Call>().eps;
    const bool known = visit_float(output.dtype, [&]<class T>(std::type_identity<T>) {
      for (std::int64_t row = 0; row < output.shape[0]; ++row) {
        normalize_row<T>(x, weight ? &*weight : nullptr, bias ? &*bias : nullptr, output, row, eps);
      }
    });
    if (!known) unknown_dtype(output.dtype);
  }
};

}  // namespace

KernelRows layer_norm_kernels() { return kernel_rows<LayerNormReference>(); }

}  // namespace tenon::cpu
