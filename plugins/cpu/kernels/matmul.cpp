// MatMulFwdOp, reference: batched [m, k] x [k, n].
#include "tenon/contracts/matmul.h"

#include "kernels/element_types.hpp"
#include "kernels/reference.hpp"

namespace tenon::cpu {
namespace {

/// The last two axes of an operand: rows and columns.
struct MatrixSteps {
  std::int64_t row;
  std::int64_t column;
  explicit MatrixSteps(const View& view)
      : row(view.strides[view.rank - 2]), column(view.strides[view.rank - 1]) {}
};

/// Offsets are of the first elements of one matrix each. A sum of no terms is 0.
template <FloatElement T>
void multiply(const View& a,
              std::int64_t a_start,
              const View& b,
              std::int64_t b_start,
              const View& output,
              std::int64_t output_start) {
  using C = Compute<T>;
  const MatrixSteps a_steps(a);
  const MatrixSteps b_steps(b);
  const MatrixSteps output_steps(output);
  const std::int64_t m = output.shape[output.rank - 2];
  const std::int64_t n = output.shape[output.rank - 1];
  const std::int64_t k = a.shape[a.rank - 1];
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      CompensatedSum<C> sum;
      for (std::int64_t l = 0; l < k; ++l) {
        const C left = widen(a.load<T>(a_start + i * a_steps.row + l * a_steps.column));
        const C right = widen(b.load<T>(b_start + l * b_steps.row + j * b_steps.column));
        sum.add(left * right);
      }
      output.store(output_start + i * output_steps.row + j * output_steps.column,
                   narrow<T>(sum.value()));
    }
  }
}

struct MatMulReference : ReferenceKernel<contracts::matmul_fwd::Call> {
  static constexpr auto op = "MatMulFwdOp", interface = "matmul_fwd";

  static void launch(const Launch& launch) {
    const View a = view_of(launch, 0);
    const View b = view_of(launch, 1);
    const View output = view_of(launch, 2);
    require_matrices(a, b, output);
    const std::size_t batch_rank = output.rank - 2;
    const bool known = visit_float(output.dtype, [&]<class T>(std::type_identity<T>) {
      for_each_index<3>(output.sizes().first(batch_rank),
                        {a.steps(), b.steps(), output.steps()},
                        [&](const auto& at) { multiply<T>(a, at[0], b, at[1], output, at[2]); });
    });
    if (!known) unknown_dtype(output.dtype);
  }
};

}  // namespace

KernelRows matmul_kernels() { return kernel_rows<MatMulReference>(); }

}  // namespace tenon::cpu
