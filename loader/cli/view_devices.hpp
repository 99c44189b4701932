// `tenon devices` as a table and as JSON, and that JSON read back as assumed devices.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "console.hpp"
#include "tenon/core/device_table.hpp"
#include "tenon/core/error.hpp"

namespace tenon::cli {

/// A device as it is listed.
struct DeviceRow {
  Device device;
  std::string plugin;  ///< its owner
  DeviceFacts facts;
  std::vector<Device> same_as;  ///< the same physical card under other kinds
  std::string failure;          ///< why it cannot be used; empty where it can
};

/// A kind without a device, and why.
struct AbsentKind {
  std::string kind;
  std::string plugin;
  std::string reason;
};

[[nodiscard]] std::string devices_text(std::span<const DeviceRow> devices,
                                       std::span<const AbsentKind> absent,
                                       const Style& style);
[[nodiscard]] std::string devices_json(std::span<const DeviceRow> devices,
                                       std::span<const AbsentKind> absent);

/// Devices that are not here, from the text of a file as `devices_json` writes it. Fields that are
/// missing have their defaults; `kind` and `arch`, or `device` and `arch`, are needed. `path` is
/// for messages.
/// @errors UsageError naming the device and the field at fault.
[[nodiscard]] Result<std::vector<DeviceFacts>> parse_assumed(std::string_view text,
                                                             const std::string& path);

}  // namespace tenon::cli
