// SoftmaxFwdOp along an innermost axis of adjacent elements, in vector code.
#include <cstdint>
#include <limits>

#include "kernels/row_sums.hpp"
#include "kernels/vector_kernel.hpp"
#include "numeric/vector_math.hpp"
#include "tenon/contracts/reduction.h"

namespace tenon::cpu {
namespace {

/// Strides in elements.
template <class T>
struct Rows {
  const T* x = nullptr;
  T* output = nullptr;
  std::int64_t x_stride = 0;
  std::int64_t output_stride = 0;
  std::int64_t row_count = 0;
  std::int64_t n = 0;
};

/// Largest element of a row that is no NaN; -inf where there is none.
template <class T>
[[gnu::always_inline]] inline double largest_of_row(const T* x, std::int64_t n) {
  constexpr std::int64_t kLanes = 32;
  float lanes[kLanes];
  for (float& lane : lanes) lane = -std::numeric_limits<float>::infinity();
  std::int64_t start = 0;
  for (; start + kLanes <= n; start += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const float value = widen_branch_free(x[start + lane]);
      lanes[lane] = value > lanes[lane] ? value : lanes[lane];
    }
  }
  float largest = lanes[0];
  for (const float lane : lanes) largest = lane > largest ? lane : largest;
  for (; start < n; ++start) {
    const float value = widen_branch_free(x[start]);
    largest = value > largest ? value : largest;
  }
  return static_cast<double>(largest);
}

struct ExpOfDifference {
  double from = 0;
  [[gnu::always_inline]] double operator()(double value) const {
    return exp_branch_free(value - from);
  }
};

/// A NaN, a +inf or nothing but -inf gives NaN in x - largest, and through the sum in the whole
/// row. A row's sum comes before its first result, so the output may be the very same view as x.
template <class T>
[[gnu::always_inline]] inline void softmax(const Rows<T>& rows) {
  for (std::int64_t row = 0; row < rows.row_count; ++row) {
    const T* x = rows.x + row * rows.x_stride;
    T* output = rows.output + row * rows.output_stride;
    const double largest = largest_of_row(x, rows.n);
    const double scale = 1 / sum_along_row(x, rows.n, ExpOfDifference{largest});
#pragma GCC ivdep  // the same element, or another array
    for (std::int64_t i = 0; i < rows.n; ++i) {
      output[i] = narrow_branch_free<T>(exp_branch_free(as_double(x[i]) - largest) * scale);
    }
  }
}

TENON_CPU_VARIANTS(softmax, Rows)

class SoftmaxRows : public VectorKernel<contracts::softmax_fwd::Call> {
 public:
  static constexpr auto op = "SoftmaxFwdOp", interface = "softmax_fwd", key = "rows";
  static constexpr std::array dtypes = kNarrowFloats;
  static constexpr std::uint32_t layouts = kInner;

  using VectorKernel::VectorKernel;

  static Refusal refusal(const Call& call) {
    if (call.inner != 1) return refuse("inner", equal_to(1), call.inner);
    return serves;
  }

  void launch(const Launch& launch) const {
    const View x = view_of(launch, 0);
    const View output = view_of(launch, 1);
    require_rank(output, 3, "output");
    require_like(x, output, "x");
    if (output.shape[2] != 1)
      throw Failure(TENON_INVALID_ARGUMENT, "inner is not 1, as this kernel declares");
    require_adjacent(x, 1, "x");
    require_adjacent(output, 1, "output");
    visit_narrow_float(output.dtype, [&]<class T>(std::type_identity<T>) {
      Rows<T> rows;
      rows.x = x.first_as<const T>();
      rows.output = output.first_as<T>();
      rows.x_stride = x.strides[0];
      rows.output_stride = output.strides[0];
      rows.row_count = output.shape[0];
      rows.n = output.shape[1];
      TENON_CPU_RUN(softmax, T, rows);
    });
  }
};

}  // namespace

KernelRows softmax_rows_kernels() { return kernel_rows<SoftmaxRows>(); }

}  // namespace tenon::cpu
