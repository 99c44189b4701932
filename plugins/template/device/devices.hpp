// The device kind `widget`, of which this plugin is the owner. As generated it is one device that
// is simulated in host memory, so that everything works before your driver does: replace each body
// by the call of your runtime.
#pragma once

#include <cstdint>

#include <tenon/plugin.hpp>

namespace acme_plugin {

class Devices {
 public:
  static constexpr auto kind = "widget";
  // Work is done when a function returns. Take this out once launches are asynchronous, and add
  // streams and events (tenon/plugin/device_kind.hpp lists the functions).
  static constexpr std::uint32_t flags = TENON_DEVICE_FLAG_SYNCHRONOUS;

  // How many devices there are; where there is no driver, tenon::no_devices("its own words").
  static tenon::DeviceCount count() { return 1; }
  static void describe(std::uint32_t index, tenon_device& out);
  static void* alloc(const tenon::DeviceFacts& device,
                     std::uint32_t memory_kind,
                     std::uint64_t size_bytes,
                     void* stream);
  static void free(const tenon::DeviceFacts& device,
                   std::uint32_t memory_kind,
                   void* memory,
                   std::uint64_t size_bytes,
                   void* stream);
  // Between two devices of the kind, or one of them and host memory.
  static void copy(const tenon::DeviceFacts& dst_device,
                   void* dst,
                   const tenon::DeviceFacts& src_device,
                   const void* src,
                   std::uint64_t size_bytes,
                   void* stream);
  static void synchronize(const tenon::DeviceFacts& device);
  // Throws tenon::Failure with the error that an earlier launch left behind.
  static void last_error(const tenon::DeviceFacts& device, bool clear);
};

}  // namespace acme_plugin
