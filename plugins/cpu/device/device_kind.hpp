// The device kind `cpu`: one synchronous device whose memory is the host's.
#pragma once

#include <cstdint>

#include "tenon/plugin.hpp"

namespace tenon::cpu {

/// The owner of kind `cpu`.
/// Memory   `device`, `pinned` and `managed` are all plain host memory, aligned to 256 bytes.
/// Streams  none but the default one, null; every function has finished when it returns.
/// Handle   tenon_device.native is null: there is nothing to hand out.
/// Threads  [any-thread]
class CpuDevices {
 public:
  static constexpr auto kind = "cpu";
  static constexpr std::int32_t dlpack_type = 1;
  static constexpr std::uint32_t flags =
      TENON_DEVICE_FLAG_SYNCHRONOUS | TENON_DEVICE_FLAG_HOST_MEMORY;

  explicit CpuDevices(Host host) : host_(host) {}

  static DeviceCount count() { return 1; }
  void describe(std::uint32_t index, tenon_device& out) const;
  static void* alloc(const DeviceFacts& device,
                     std::uint32_t memory_kind,
                     std::uint64_t size_bytes,
                     void* stream);
  static void free(const DeviceFacts& device,
                   std::uint32_t memory_kind,
                   void* memory,
                   std::uint64_t size_bytes,
                   void* stream);
  static void copy(const DeviceFacts& dst_device,
                   void* dst,
                   const DeviceFacts& src_device,
                   const void* src,
                   std::uint64_t size_bytes,
                   void* stream);
  static void fill(const DeviceFacts& device,
                   void* dst,
                   std::uint8_t value,
                   std::uint64_t size_bytes,
                   void* stream);
  static MemoryInfo mem_info(const DeviceFacts& device);
  static void synchronize(const DeviceFacts& /*device*/) {}
  static void last_error(const DeviceFacts& /*device*/, bool /*clear*/) {}

 private:
  Host host_;
};

}  // namespace tenon::cpu
