// What eps of a norm is where a call gives none.
#pragma once

#include <limits>

#include "tenon/plugin.hpp"

namespace tenon::cpu {

/// The epsilon of the type that the statistics of a dtype are stated in: float32, and float64 for
/// float64.
[[nodiscard]] constexpr double default_norm_eps(ElementType dtype) {
  return dtype == kFloat64 ? std::numeric_limits<double>::epsilon()
                           : static_cast<double>(std::numeric_limits<float>::epsilon());
}

}  // namespace tenon::cpu
