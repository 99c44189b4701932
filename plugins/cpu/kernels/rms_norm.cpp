// RMSNormFwdOp, reference: x / sqrt(mean(x^2) + eps) * weight over the rows of [m, n].
#include <cmath>

#include "kernels/element_types.hpp"
#include "kernels/norm_eps.hpp"
#include "kernels/reference.hpp"
#include "tenon/contracts/norm.h"

namespace tenon::cpu {
namespace {

template <FloatElement T>
void normalize_row(
    const View& x, const View* weight, const View& output, std::int64_t row, double eps) {
  using C = Compute<T>;
  const std::int64_t n = x.shape[1];
  const auto value = [&](std::int64_t i) {
    return widen(x.load<T>(row * x.strides[0] + i * x.strides[1]));
  };

  CompensatedSum<C> squares;
  for (std::int64_t i = 0; i < n; ++i) squares.add(value(i) * value(i));
  const C root = std::sqrt(squares.value() / static_cast<C>(n) + static_cast<C>(eps));
  for (std::int64_t i = 0; i < n; ++i) {
    C normalized = value(i) / root;
    if (weight != nullptr) normalized *= widen(weight->load<T>(i * weight->strides[0]));
    output.store(row * output.strides[0] + i * output.strides[1], narrow<T>(normalized));
  }
}

struct RMSNormReference : ReferenceKernel<contracts::rms_norm_fwd::Call> {
  static constexpr auto op = "RMSNormFwdOp", interface = "rms_norm_fwd";

  static void launch(const Launch& launch) {
    const View x = view_of(launch, 0);
    const std::optional<View> weight = optional_view_of(launch, 1);
    const View output = view_of(launch, 2);
    require_rank(output, 2, "output");
    require_like(x, output, "x");
    if (weight) require_row(*weight, output, "weight");
    // The dtype of the call, not of the tensors: a wide launch checks a call of a narrower dtype.
    const Call call = launch.call<Call>();
    const double eps = call.eps ? *call.eps : default_norm_eps(call.dtype);
    const bool known = visit_float(output.dtype, [&]<class T>(std::type_identity<T>) {
      for (std::int64_t row = 0; row < output.shape[0]; ++row) {
        normalize_row<T>(x, weight ? &*weight : nullptr, output, row, eps);
      }
    });
    if (!known) unknown_dtype(output.dtype);
  }
};

}  // namespace

KernelRows rms_norm_kernels() { return kernel_rows<RMSNormReference>(); }

}  // namespace tenon::cpu
