// RMSNormFwdOp for rows whose elements are adjacent: the reference's result, in vector code.
#include <cmath>
#include <cstdint>
#include <optional>

#include "kernels/norm_eps.hpp"
#include "kernels/row_sums.hpp"
#include "kernels/vector_kernel.hpp"
#include "tenon/contracts/norm.h"

namespace tenon::cpu {
namespace {

/// Dense or inner-contiguous rows; strides in elements.
template <class T>
struct Rows {
  const T* x = nullptr;
  const T* weight = nullptr;  ///< or null
  T* output = nullptr;
  std::int64_t x_stride = 0;
  std::int64_t output_stride = 0;
  std::int64_t row_count = 0;
  std::int64_t n = 0;
  double eps = 0;
};

/// Each element is read before its result is written, and a row's sum before that, so the output
/// may be the very same view as x.
template <class T>
[[gnu::always_inline]] inline void normalize(const Rows<T>& rows) {
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

TENON_CPU_VARIANTS(normalize, Rows)

class RMSNormRows : public VectorKernel<contracts::rms_norm_fwd::Call> {
 public:
  static constexpr auto op = "RMSNormFwdOp", interface = "rms_norm_fwd", key = "rows";
  static constexpr std::array dtypes = kNarrowFloats;
  static constexpr std::uint32_t layouts = kInner;

  using VectorKernel::VectorKernel;

  void launch(const Launch& launch) const {
    const View x = view_of(launch, 0);
    const std::optional<View> weight = optional_view_of(launch, 1);
    const View output = view_of(launch, 2);
    require_rank(output, 2, "output");
    require_like(x, output, "x");
    require_adjacent(x, "x");
    require_adjacent(output, "output");
    if (weight) require_adjacent_row(*weight, output, "weight");
    const Call call = launch.call<Call>();
    visit_narrow_float(output.dtype, [&]<class T>(std::type_identity<T>) {
      Rows<T> rows;
      rows.x = x.first_as<const T>();
      rows.weight = weight ? weight->first_as<const T>() : nullptr;
      rows.output = output.first_as<T>();
      rows.x_stride = x.strides[0];
      rows.output_stride = output.strides[0];
      rows.row_count = output.shape[0];
      rows.n = output.shape[1];
      rows.eps = call.eps ? *call.eps : default_norm_eps(call.dtype);
      TENON_CPU_RUN(normalize, T, rows);
    });
  }
};

}  // namespace

KernelRows rms_norm_rows_kernels() { return kernel_rows<RMSNormRows>(); }

}  // namespace tenon::cpu
