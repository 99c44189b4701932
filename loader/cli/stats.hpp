// What a summary says about the values of a tensor.
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/core/tensor.hpp"

namespace tenon::cli {

/// Of the elements that are no NaN; nothing where there is none. Of a complex dtype: of the
/// absolute values.
struct TensorStats {
  std::optional<double> min;
  std::optional<double> max;
  std::optional<double> mean;
  std::uint64_t nan_count = 0;
};

/// Reads every element of a view of host memory.
[[nodiscard]] TensorStats stats_of(const TensorView& view);

}  // namespace tenon::cli
