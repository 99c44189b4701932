// The owner of the plugin's device kind: devices, stream-ordered memory, copies, streams, events.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "host/identity.hpp"
#include "host/kept_memory.hpp"
#include "host/runtime.hpp"
#include "tenon/plugin/device_kind.hpp"

namespace tenon::gpu {

/// The owner of kind TENON_GPU_KIND.
/// Memory   `device` is stream-ordered, from a pool of the plugin's own that keeps what is freed;
///          where the driver has no pools, from the driver at once, which waits for the device.
///          `pinned` and `managed` are the runtime's; freeing them waits for the stream.
///          What is freed on a stream that captures is kept, and given back by a later alloc, free,
///          graph_end or synchronisation, when that stream no longer captures. A stream that the
///          application made itself is asked only where it is named again: nobody else knows
///          whether it still exists.
/// Streams  a stream handle is the runtime's own (cudaStream_t, hipStream_t), and any copy of the
///          same runtime in the process may use it. The default stream is one that the plugin
///          makes, non-blocking.
/// Handle   tenon_device.native is the runtime's ordinal, cast to a pointer.
/// Errors   an error that ends the device marks it as lost. The function that met it first says
///          what failed; the later ones say that the device is lost, and since what.
/// Threads  [any-thread]
class GpuDevices {
 public:
  static constexpr auto kind = kKind;
  static constexpr std::int32_t dlpack_type = kDlpackType;

  explicit GpuDevices(Host host);
  ~GpuDevices();
  GpuDevices(const GpuDevices&) = delete;
  GpuDevices& operator=(const GpuDevices&) = delete;

  DeviceCount count();
  void describe(std::uint32_t index, tenon_device& out);
  void* alloc(const DeviceFacts& device,
              std::uint32_t memory_kind,
              std::uint64_t size_bytes,
              void* stream);
  void free(const DeviceFacts& device,
            std::uint32_t memory_kind,
            void* memory,
            std::uint64_t size_bytes,
            void* stream);
  void copy(const DeviceFacts& dst_device,
            void* dst,
            const DeviceFacts& src_device,
            const void* src,
            std::uint64_t size_bytes,
            void* stream);
  void fill(const DeviceFacts& device,
            void* dst,
            std::uint8_t value,
            std::uint64_t size_bytes,
            void* stream);
  MemoryInfo mem_info(const DeviceFacts& device);
  void* stream_create(const DeviceFacts& device);
  void stream_destroy(const DeviceFacts& device, void* stream);
  void* stream_default(const DeviceFacts& device);
  void stream_synchronize(const DeviceFacts& device, void* stream);
  void stream_wait_event(const DeviceFacts& device, void* stream, void* event);
  bool stream_is_capturing(const DeviceFacts& device, void* stream);
  void* event_create(const DeviceFacts& device);
  void event_record(const DeviceFacts& device, void* event, void* stream);
  bool event_query(const DeviceFacts& device, void* event);
  std::uint64_t event_elapsed_ns(const DeviceFacts& device, void* start, void* end);
  void event_destroy(const DeviceFacts& device, void* event);
  void synchronize(const DeviceFacts& device);
  void last_error(const DeviceFacts& device, bool clear);
  const void* extension(std::string_view name, std::uint32_t min_version);

  /// Of the extensions, which are C tables whose context is this object.
  void graph_begin(std::int32_t device_index, void* stream);
  void* graph_end(std::int32_t device_index, void* stream);
  void graph_launch(std::int32_t device_index, void* graph, void* stream);
  void graph_destroy(std::int32_t device_index, void* graph);
  void delay(std::int32_t device_index, void* stream, std::uint64_t delay_ns);
  void read_counters(std::int32_t device_index, tenon_device_counters& out);

 private:
  struct PerDevice;
  PerDevice& per_device(std::int32_t index);
  Stream stream_of(const DeviceFacts& device, void* stream);   ///< checked as for a launch
  Stream stream_now(const DeviceFacts& device, void* stream);  ///< checked as for a copy
  void allow_peer(std::int32_t reader, std::int32_t owner);
  Status release(std::int32_t device_index, const Kept& piece);
  void give_back(std::int32_t device_index, Stream named);
  void give_back_idle(std::int32_t device_index);

  Host host_;
  std::mutex mutex_;  // guards devices_ while it grows
  std::vector<std::unique_ptr<PerDevice>> devices_;
};

}  // namespace tenon::gpu
