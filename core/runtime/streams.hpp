// Which stream a call goes to.
#pragma once

#include "tenon/core/device_table.hpp"

namespace tenon {

/// That of this thread's innermost scope for the device, else the device's default stream. No lock
/// after the first use.
Result<void*> stream_for(DeviceTable& devices, const DeviceEntry& device);

}  // namespace tenon
