// Kernels of the extension tenon.device.test.
#pragma once

#include <cstdint>

#include "host/runtime.hpp"

namespace tenon::gpu {

/// Keeps the stream busy for about that long. clock_khz: the device's clock, for hardware that has
/// no timer in nanoseconds.
void launch_delay(Stream stream, std::uint64_t delay_ns, std::uint32_t clock_khz);

}  // namespace tenon::gpu
