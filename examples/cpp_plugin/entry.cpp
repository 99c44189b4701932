// A plugin with one kernel: RMSNorm of short float32 rows on the CPU.
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include <tenon/contracts/norm.h>
#include <tenon/plugin.hpp>

// docs:begin kernel
// docs:begin short
struct ShortRows {
  static constexpr auto op = "RMSNormFwdOp", interface = "rms_norm_fwd", key = "short_rows";
  static constexpr std::array devices{"cpu"};
  static constexpr std::array dtypes{tenon::kFloat32};
  static constexpr std::array preferred_over{"cpu:*"};
  using Call = tenon::contracts::rms_norm_fwd::Call;  // m, n, eps, dtype, affine

  static tenon::Refusal refusal(const Call& call) {
    if (call.n > 1024) return tenon::refuse("n", tenon::at_most(1024), call.n);
    return tenon::serves;
  }
  void launch(const tenon::Launch& launch) const;
};
// docs:end short

void ShortRows::launch(const tenon::Launch& launch) const {
  const Call call = launch.call<Call>();
  const double eps = call.eps.value_or(std::numeric_limits<float>::epsilon());
  const auto* x = launch[0].data<const float>();
  const auto* weight = launch[1].data_or_null<const float>();
  auto* y = launch[2].data<float>();
  for (std::int64_t row = 0; row < call.m; ++row, x += call.n, y += call.n) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < call.n; ++i) sum += static_cast<double>(x[i]) * x[i];
    const double scale = 1.0 / std::sqrt(sum / static_cast<double>(call.n) + eps);
    for (std::int64_t i = 0; i < call.n; ++i) {
      y[i] = static_cast<float>(x[i] * scale * (weight == nullptr ? 1.0 : weight[i]));
    }
  }
}
// docs:end kernel

// docs:begin entry
TENON_PLUGIN(tenon::plugin("acme", "1.0.0").vendor("Acme").needs_kinds("cpu").kernels<ShortRows>());
// docs:end entry
