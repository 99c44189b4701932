// Which stream a call goes to.
#pragma once

#include <string_view>

#include "registry/open_streams.hpp"
#include "tenon/core/device_table.hpp"

namespace tenon {

/// That of this thread's innermost scope for the device, else the device's default stream. No lock
/// after the first use.
Result<void*> stream_for(DeviceTable& devices, const DeviceEntry& device);

/// Refuses what may allocate or wait while the stream captures into a graph. `what` begins the
/// sentence: "building a kernel". Not for hit paths: it asks the device's owner.
/// @errors BuildFailed with the advice to call once before; DeviceError.
Result<void> require_not_capturing(DeviceTable& devices,
                                   const DeviceEntry& device,
                                   void* stream,
                                   std::string_view what);

}  // namespace tenon
