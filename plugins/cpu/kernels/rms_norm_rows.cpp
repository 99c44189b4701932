// RMSNormFwdOp for rows whose elements are adjacent: the reference's result, in vector code.
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>

#include "kernels/arch_variants.hpp"
#include "kernels/arguments.hpp"
#include "kernels/element_types.hpp"
#include "kernels/norm_eps.hpp"
#include "numeric/branch_free.hpp"
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

constexpr std::int64_t kLanes = 32;
constexpr std::int64_t kBlock = 256;

/// Sum of squares in double: 32 sums that each take every 32nd element of a block, so that no sum
/// has many terms before it is added to the total.
template <class T>
[[gnu::always_inline]] inline double sum_of_squares(const T* x, std::int64_t n) {
  double total = 0;
  std::int64_t start = 0;
  for (; start + kBlock <= n; start += kBlock) {
    double lanes[kLanes] = {};
    for (std::int64_t i = start; i < start + kBlock; i += kLanes) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        const auto value = static_cast<double>(widen_branch_free(x[i + lane]));
        lanes[lane] += value * value;
      }
    }
    double block = 0;
    for (const double lane : lanes) block += lane;
    total += block;
  }
  for (; start < n; ++start) {
    const auto value = static_cast<double>(widen_branch_free(x[start]));
    total += value * value;
  }
  return total;
}

/// Each element is read before its result is written, and a row's sum before that, so the output
/// may be the very same view as x.
template <class T>
[[gnu::always_inline]] inline void normalize(const Rows<T>& rows) {
  for (std::int64_t row = 0; row < rows.row_count; ++row) {
    const T* x = rows.x + row * rows.x_stride;
    T* output = rows.output + row * rows.output_stride;
    const double mean = sum_of_squares(x, rows.n) / static_cast<double>(rows.n);
    const double scale = 1 / std::sqrt(mean + rows.eps);
    if (rows.weight == nullptr) {
#pragma GCC ivdep  // the same element, or another array
      for (std::int64_t i = 0; i < rows.n; ++i) {
        output[i] = narrow_branch_free<T>(static_cast<double>(widen_branch_free(x[i])) * scale);
      }
    } else {
      const T* weight = rows.weight;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < rows.n; ++i) {
        const double scaled = static_cast<double>(widen_branch_free(x[i])) * scale;
        output[i] =
            narrow_branch_free<T>(scaled * static_cast<double>(widen_branch_free(weight[i])));
      }
    }
  }
}

template <class T>
void normalize_baseline(const Rows<T>& rows) {
  normalize(rows);
}
template <class T>
TENON_CPU_TARGET_V3 void normalize_v3(const Rows<T>& rows) {
  normalize(rows);
}
template <class T>
TENON_CPU_TARGET_V4 void normalize_v4(const Rows<T>& rows) {
  normalize(rows);
}

class RMSNormRows {
 public:
  static constexpr auto op = "RMSNormFwdOp", interface = "rms_norm_fwd", key = "rows";
  static constexpr std::array devices{"cpu"};
  static constexpr std::array preferred_over{"reference"};
  // Not float64: a square of one may be beyond the largest double, where the reference still has
  // room.
  static constexpr std::array dtypes{kFloat16, kBFloat16, kFloat32};
  static constexpr std::uint32_t layouts = kInner;
  static constexpr ElementType accumulate = kFloat64;
  static constexpr bool deterministic = true;
  using Call = contracts::rms_norm_fwd::Call;

  static std::tuple<> identity(const Call& /*call*/) { return {}; }

  explicit RMSNormRows(BuildContext& context) : variant_(variant_for(context.device())) {}

  void launch(const Launch& launch) const {
    const View output = view_of(launch, 2);
    switch (ElementType(output.dtype).id()) {
      case kFloat16.id():
        return normalize_as<Float16>(launch, output);
      case kBFloat16.id():
        return normalize_as<BFloat16>(launch, output);
      case kFloat32.id():
        return normalize_as<float>(launch, output);
      default:
        unknown_dtype(output.dtype);
    }
  }

 private:
  template <class T>
  void normalize_as(const Launch& launch, const View& output) const {
    const View x = view_of(launch, 0);
    const std::optional<View> weight = optional_view_of(launch, 1);
    require_rank(output, 2, "output");
    require_like(x, output, "x");
    require_adjacent(x, "x");
    require_adjacent(output, "output");
    if (weight) {
      require_row(*weight, output, "weight");
      require_adjacent(*weight, "weight");
    }
    const Call call = launch.call<Call>();
    Rows<T> rows;
    rows.x = x.first_as<const T>();
    rows.weight = weight ? weight->first_as<const T>() : nullptr;
    rows.output = output.first_as<T>();
    rows.x_stride = x.strides[0];
    rows.output_stride = output.strides[0];
    rows.row_count = output.shape[0];
    rows.n = output.shape[1];
    rows.eps = call.eps ? *call.eps : default_norm_eps(call.dtype);
    run_variant(variant_, normalize_baseline<T>, normalize_v3<T>, normalize_v4<T>, rows);
  }

  Variant variant_;
};

}  // namespace

KernelRows rms_norm_rows_kernels() { return kernel_rows<RMSNormRows>(); }

}  // namespace tenon::cpu
