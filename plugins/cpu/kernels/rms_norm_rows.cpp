// RMSNormFwdOp for rows whose elements are adjacent: the reference's result, in vector code.
#include <cmath>
#include <cstdint>
#include <optional>

#include "kernels/norm_eps.hpp"
#include "kernels/norm_rows.hpp"
#include "kernels/row_sums.hpp"
#include "kernels/vector_kernel.hpp"
#include "tenon/contracts/norm.h"

namespace tenon::cpu {
namespace {

/// Each element is read before its result is written, and a row's sum before that, so the output
/// may be the very same view as x.
template <class T>
[[gnu::always_inline]] inline void normalize(const NormRows<T>& rows) {
  for (std::int64_t row = 0; row < rows.row_count; ++row) {
    const T* x = rows.x + row * rows.x_stride;
    T* output = rows.output + row * rows.output_stride;
    const double mean = sum_along_row(x, rows.n, Square{}) / static_cast<double>(rows.n);
    const double scale = 1 / std::sqrt(mean + rows.eps);
    if (rows.weight == nullptr) {
#pragma GCC ivdep  // the same element, or another array
      for (std::int64_t i = 0; i < rows.n; ++i) {
        output[i] = narrow_branch_free<T>(as_double(x[i]) * scale);
      }
    } else {
      const T* weight = rows.weight;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < rows.n; ++i) {
        const double scaled = as_double(x[i]) * scale;
        output[i] = narrow_branch_free<T>(scaled * as_double(weight[i]));
      }
    }
  }
}

TENON_CPU_VARIANTS(normalize, NormRows)

class RMSNormRows : public VectorKernel<contracts::rms_norm_fwd::Call> {
 public:
  static constexpr auto op = "RMSNormFwdOp", interface = "rms_norm_fwd", key = "rows";
  static constexpr std::array dtypes = kNarrowFloats;
  static constexpr std::uint32_t layouts = kInner;

  using VectorKernel::VectorKernel;

  void launch(const Launch& launch) const {
    const NormViews views{
        view_of(launch, 0), optional_view_of(launch, 1), std::nullopt, view_of(launch, 2)};
    views.require_adjacent_rows();
    const Call call = launch.call<Call>();
    const double eps = call.eps ? *call.eps : default_norm_eps(call.dtype);
    visit_narrow_float(views.output.dtype, [&]<class T>(std::type_identity<T>) {
      TENON_CPU_RUN(normalize, T, views.rows<T>(eps));
    });
  }
};

}  // namespace

KernelRows rms_norm_rows_kernels() { return kernel_rows<RMSNormRows>(); }

}  // namespace tenon::cpu
