// LayerNormFwdOp for rows whose elements are adjacent, in vector code.
#include <cmath>
#include <cstdint>

#include "kernels/norm_rows.hpp"
#include "kernels/row_sums.hpp"
#include "kernels/vector_kernel.hpp"
#include "tenon/contracts/norm.h"

namespace tenon::cpu {
namespace {

template <bool kWeight, bool kBias, class T>
[[gnu::always_inline]] inline void normalize_row(const NormRows<T>& rows, const T* x, T* output) {
  const auto count = static_cast<double>(rows.n);
  const double mean = sum_along_row(x, rows.n, Itself{}) / count;
  const double variance = sum_along_row(x, rows.n, SquaredDifference{mean}) / count;
  const double scale = 1 / std::sqrt(variance + rows.eps);
  const T* weight = rows.weight;
  const T* bias = rows.bias;
#pragma GCC ivdep  // the same element, or another array
  for (std::int64_t i = 0; i < rows.n; ++i) {
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): null only without elements to load
    double value = (as_double(x[i]) - mean) * scale;
    if constexpr (kWeight) value *= as_double(weight[i]);
    if constexpr (kBias) value += as_double(bias[i]);
    output[i] = narrow_branch_free<T>(value);
  }
}

/// A row's statistics come before its first result, and each element is read before its result is
/// written, so the output may be the very same view as x.
template <class T>
[[gnu::always_inline]] inline void normalize(const NormRows<T>& rows) {
  for (std::int64_t row = 0; row < rows.row_count; ++row) {
    const T* x = rows.x + row * rows.x_stride;
    T* output = rows.output + row * rows.output_stride;
    if (rows.weight != nullptr && rows.bias != nullptr) {
      normalize_row<true, true>(rows, x, output);
    } else if (rows.weight != nullptr) {
      normalize_row<true, false>(rows, x, output);
    } else if (rows.bias != nullptr) {
      normalize_row<false, true>(rows, x, output);
    } else {
      normalize_row<false, false>(rows, x, output);
    }
  }
}

TENON_CPU_VARIANTS(normalize, NormRows)

class LayerNormRows : public VectorKernel<contracts::layer_norm_fwd::Call> {
 public:
  static constexpr auto op = "LayerNormFwdOp", interface = "layer_norm_fwd", key = "rows";
  static constexpr std::array dtypes = kNarrowFloats;
  static constexpr std::uint32_t layouts = kInner;

  using VectorKernel::VectorKernel;

  void launch(const Launch& launch) const {
    const NormViews views{view_of(launch, 0),
                          optional_view_of(launch, 1),
                          optional_view_of(launch, 2),
                          view_of(launch, 3)};
    views.require_adjacent_rows();
    const double eps = launch.call<Call>().eps;
    visit_narrow_float(views.output.dtype, [&]<class T>(std::type_identity<T>) {
      TENON_CPU_RUN(normalize, T, views.rows<T>(eps));
    });
  }
};

}  // namespace

KernelRows layer_norm_rows_kernels() { return kernel_rows<LayerNormRows>(); }

}  // namespace tenon::cpu
