// A kernel type: what it says about itself, and what it does. Replace it by one of yours.
#pragma once

#include <array>
#include <cstdint>

#include <tenon/contracts/norm.h>
#include <tenon/plugin.hpp>

namespace acme_plugin {

// RMSNorm of rows of at most 4096 float32 elements.
struct ShortRows {
  static constexpr auto op = "RMSNormFwdOp", interface = "rms_norm_fwd", key = "short_rows";
  static constexpr std::array devices{"widget"};
  static constexpr std::array dtypes{tenon::kFloat32};

  // The facts of a call, from the contract of the interface: m, n, eps, dtype, affine.
  using Call = tenon::contracts::rms_norm_fwd::Call;

  // Why a call is not served; users read it. Sees facts only, and answers the same each time.
  static tenon::Refusal refusal(const Call& call) {
    if (call.n > 4096) return tenon::refuse("n", tenon::at_most(4096), call.n);
    return tenon::serves;
  }

  // Arguments in the contract's order: x, weight (may be absent), output. Any thread may call it.
  void launch(const tenon::Launch& launch) const;
};

}  // namespace acme_plugin
