// RMSNorm of short rows: y = x / sqrt(mean(x^2) + eps) * weight.
#include "rms_norm.hpp"

#include <cmath>
#include <limits>

namespace acme_plugin {

void ShortRows::launch(const tenon::Launch& launch) const {
  const Call call = launch.call<Call>();
  // Without an eps the op takes the machine epsilon of the dtype.
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

}  // namespace acme_plugin
