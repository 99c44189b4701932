// Which stream a call goes to.
#pragma once

#include <optional>
#include <string_view>

#include "tenon/core/device_table.hpp"

namespace tenon {

/// How many stream scopes this thread is inside of.
inline constinit thread_local int stream_scopes_of_thread = 0;

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

/// The error of a launch or a wait that met what earlier work left behind: DeviceError with the
/// field late=true. Nothing if the device's owner knows of no such error.
std::optional<Error> late_error(DeviceTable& devices, const DeviceEntry& device);

}  // namespace tenon
