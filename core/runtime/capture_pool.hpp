// The memory behind a CaptureScope, and which one a call takes.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "registry/open_streams.hpp"
#include "runtime/workspace.hpp"
#include "tenon/core/device_table.hpp"

namespace tenon {

/// Memory for one capture, never used twice for outputs, and shared in turn by the workspaces of
/// one stream. Allocated on a stream of its own: the capturing one takes no allocations.
class CapturePool : public std::enable_shared_from_this<CapturePool> {
 public:
  CapturePool(std::shared_ptr<DeviceTable> devices, const DeviceEntry& device, void* stream)
      : devices_(std::move(devices)),
        device_(&device),
        stream_(stream),
        memory_(std::make_shared<Memory>(devices_, device, stream)) {}
  /// Its memory goes once the device has passed everything.
  ~CapturePool();
  CapturePool(const CapturePool&) = delete;
  CapturePool& operator=(const CapturePool&) = delete;

  [[nodiscard]] const DeviceTable* devices() const { return devices_.get(); }
  [[nodiscard]] const DeviceEntry& device() const { return *device_; }
  [[nodiscard]] std::size_t size_bytes() const;
  Result<Tensor> make_tensor(DType dtype, const Dims& shape);
  WorkspaceArena& workspace_of(void* stream);
  /// Waits until what was allocated is usable on every stream.
  Result<void> settle();
  /// See DeviceTable::let_go_of_passed.
  void let_go_of_passed() { devices_->let_go_of_passed(); }

 private:
  friend class CapturedMemory;
  /// What is given back at the end, with the stream that it was allocated on.
  struct Memory {
    Memory(std::shared_ptr<DeviceTable> table, const DeviceEntry& of, void* allocated_on)
        : devices(std::move(table)), device(&of), stream(allocated_on) {}
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    std::shared_ptr<DeviceTable> devices;
    const DeviceEntry* device;
    void* stream;  ///< owned, null where the kind has none
    std::vector<std::pair<void*, std::size_t>> blocks;
    std::vector<std::pair<void*, std::unique_ptr<WorkspaceArena>>> workspaces;
  };
  std::shared_ptr<DeviceTable> devices_;
  const DeviceEntry* device_;
  void* stream_;  ///< the memory's
  std::shared_ptr<Memory> memory_;
  std::size_t size_bytes_ = 0;  ///< of outputs
};

/// The innermost open scope of this thread for a device of a table, or null.
[[nodiscard]] CapturePool* capture_of_thread(const DeviceTable& devices, Device device);

/// A tensor that a call returns: from the open scope, else as DeviceTable::make_tensor.
inline Result<Tensor> make_output_tensor(
    DeviceTable& devices, DType dtype, const Dims& shape, Device device, void* stream) {
  if (open_captures_of_thread != 0) {
    if (CapturePool* pool = capture_of_thread(devices, device))
      return pool->make_tensor(dtype, shape);
  }
  return devices.make_tensor(dtype, shape, device, stream);
}

}  // namespace tenon
