// SoftmaxFwdOp, reference: exp(x - max) / sum over the middle axis of [outer, n, inner].
#include <cmath>
#include <limits>

#include "kernels/element_types.hpp"
#include "kernels/reference.hpp"
#include "tenon/contracts/reduction.h"

namespace tenon::cpu {
namespace {

/// One row. A NaN, a +inf, or nothing but -inf makes the whole row NaN: each gives NaN in x - max
/// for some element, and that reaches every element through the sum.
template <FloatElement T>
void softmax_row(const View& x,
                 std::int64_t x_start,
                 const View& output,
                 std::int64_t output_start) {
  using C = Compute<T>;
  const std::int64_t n = x.shape[1];
  const auto value = [&](std::int64_t i) { return widen(x.load<T>(x_start + i * x.strides[1])); };

  C largest = -std::numeric_limits<C>::infinity();
  for (std::int64_t i = 0; i < n; ++i) {
    const C v = value(i);
    if (v > largest) largest = v;
  }
  CompensatedSum<C> sum;
  for (std::int64_t i = 0; i < n; ++i) sum.add(std::exp(value(i) - largest));
  const C total = sum.value();
  for (std::int64_t i = 0; i < n; ++i) {
    const C share = std::exp(value(i) - largest) / total;
    output.store(output_start + i * output.strides[1], narrow<T>(share));
  }
}

struct SoftmaxReference : ReferenceKernel<contracts::softmax_fwd::Call> {
  static constexpr auto op = "SoftmaxFwdOp", interface = "softmax_fwd";

  static void launch(const Launch& launch) {
    const View x = view_of(launch, 0);
    const View output = view_of(launch, 1);
    require_rank(output, 3, "output");
    require_like(x, output, "x");
    const bool known = visit_float(output.dtype, [&]<class T>(std::type_identity<T>) {
      for (std::int64_t i = 0; i < output.shape[0]; ++i) {
        for (std::int64_t j = 0; j < output.shape[2]; ++j) {
          softmax_row<T>(x,
                         i * x.strides[0] + j * x.strides[2],
                         output,
                         i * output.strides[0] + j * output.strides[2]);
        }
      }
    });
    if (!known) unknown_dtype(output.dtype);
  }
};

}  // namespace

KernelRows softmax_kernels() { return kernel_rows<SoftmaxReference>(); }

}  // namespace tenon::cpu
