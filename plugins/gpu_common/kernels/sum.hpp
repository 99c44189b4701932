// Launches of the sums.
#pragma once

#include <cstdint>

#include "device/views.hpp"
#include "host/runtime.hpp"

namespace tenon::gpu {

/// Sums of x over the axes `summed`, one for each index of the axes `kept`. Operand 0 is x, operand
/// 1 the output.
struct Sums {
  const void* x = nullptr;
  void* out = nullptr;
  Axes<2> kept;
  Axes<1> summed;
  std::uint32_t unit_count = 1;  ///< of the device
  void* workspace = nullptr;     ///< sum_workspace_bytes(kept.count, summed.count, unit_count)
};

/// Room for the partial sums of kept_count sums of n terms, whichever way they are made.
[[nodiscard]] std::uint64_t sum_workspace_bytes(std::int64_t kept_count,
                                                std::int64_t n,
                                                std::uint32_t unit_count);

/// x is dense rows, of whole vectors at 16 bytes or of any length: kept and summed are one axis
/// each at most.
void launch_sum_rows(Element element, const Sums& sums, Stream stream);
/// Any strides. Across the columns of x where those are adjacent.
void launch_sum_strided(Element element, const Sums& sums, Stream stream);

}  // namespace tenon::gpu
