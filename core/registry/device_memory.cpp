// Memory, streams and copies, each through the owner of the kind.
#include <cstdio>
#include <cstring>

#include "registry/abi_text.hpp"
#include "registry/device_kind_state.hpp"
#include "registry/lent_reason.hpp"
#include "tenon/core/device_calls.hpp"
#include "tenon/core/plugin_record.hpp"
#include "values/tensor_bytes.hpp"

namespace tenon {

using detail::empty_reason;
using detail::Finally;
using detail::owner_error;
using detail::Phase;

namespace detail {

Error owner_error(ErrorCode code,
                  const DeviceKindEntry& kind,
                  const char* function,
                  std::string what,
                  tenon_status status,
                  const tenon_reason& reason) {
  std::string why = text_of(reason);
  if (why.empty())
    why = std::string("status ") + std::string(status_name(status)) + " without a text";
  if (status == kThrew) why = std::string(function) + " of plugin '" + kind.plugin + "': " + why;
  return Error(code, std::move(what) + " failed: " + why)
      .with("plugin", kind.plugin)
      .with("status", std::string(status_name(status)));
}

ErrorCode code_of(tenon_status status) {
  switch (status) {
    case TENON_OUT_OF_MEMORY:
      return ErrorCode::kOutOfMemory;
    case TENON_SHUT_DOWN:
      return ErrorCode::kShutDown;
    case kThrew:
    case kBrokeContract:
      return ErrorCode::kPluginFailed;
    default:
      return ErrorCode::kDeviceError;
  }
}

}  // namespace detail

void* DeviceTable::Kind::alloc(const DeviceEntry& device,
                               std::uint32_t memory_kind,
                               std::size_t size_bytes,
                               void* stream,
                               tenon_status& status,
                               tenon_reason* reason) {
  if (!gave_memory.load(std::memory_order_relaxed))
    gave_memory.store(true, std::memory_order_relaxed);
  void* memory = nullptr;
  if (!allocator || memory_kind != TENON_MEMORY_DEVICE) {
    status = owner_alloc(entry, device, memory_kind, size_bytes, stream, &memory, *reason);
    return memory;
  }
  memory = allocator->alloc(device.device, size_bytes, stream);
  status = memory == nullptr ? TENON_OUT_OF_MEMORY : TENON_OK;
  if (memory == nullptr) {
    std::snprintf(reason->text, sizeof reason->text, "%s has none left", allocator->name.c_str());
  } else if (reinterpret_cast<std::uintptr_t>(memory) % kDeviceMemoryAlign != 0) [[unlikely]] {
    std::snprintf(reason->text,
                  sizeof reason->text,
                  "%s gave memory at %p, which is no multiple of %zu; it was given back",
                  allocator->name.c_str(),
                  memory,
                  kDeviceMemoryAlign);
    allocator->free(device.device, memory, size_bytes, stream);
    memory = nullptr;
    status = TENON_INVALID_ARGUMENT;
  }
  return memory;
}

void DeviceTable::Kind::free(const DeviceEntry& device,
                             std::uint32_t memory_kind,
                             void* memory,
                             std::size_t size_bytes,
                             void* stream) const {
  if (is_of_parent()) return;
  if (allocator && memory_kind == TENON_MEMORY_DEVICE)
    return allocator->free(device.device, memory, size_bytes, stream);
  detail::LentReason reason;
  const tenon_status status = owner_free(
      entry, device, memory_kind, memory, size_bytes, stream, told_of_free, *reason.get());
  if (status == TENON_DEVICE) [[unlikely]]
    ask_whether_lost(device);
}

void DeviceTable::Kind::ask_whether_lost(const DeviceEntry& device) const {
  const auto index = static_cast<std::size_t>(device.device.index);
  if (index >= devices.size() || lost[index].load(std::memory_order_acquire)) return;
  tenon_device described{};
  described.struct_size = sizeof described;
  tenon_reason reason = empty_reason();
  const tenon_status status = call_owner(entry,
                                         "describe",
                                         entry.table.describe,
                                         reason,
                                         static_cast<std::uint32_t>(index),
                                         &described);
  if (status != TENON_OK || (described.flags & TENON_DEVICE_FLAG_LOST) == 0) return;
  lost[index].store(true, std::memory_order_release);
  devices_taken.fetch_add(1, std::memory_order_release);
}

Result<void*> DeviceTable::alloc(const DeviceEntry& device,
                                 std::uint32_t memory_kind,
                                 std::size_t size_bytes,
                                 void* stream) {
  Kind* k = find_kind(device.device.kind);
  detail::LentReason reason;
  tenon_status status = TENON_OK;
  void* memory = k->alloc(device, memory_kind, size_bytes, stream, status, reason.get());
  if (status == TENON_OK) [[likely]]
    return memory;
  std::string what =
      "allocating " + std::to_string(size_bytes) + " bytes on " + device.device.to_string();
  if (status == TENON_INVALID_ARGUMENT && k->allocator) {
    return fail(
        owner_error(ErrorCode::kUsageError, k->entry, "alloc", std::move(what), status, *reason));
  }
  return fail(k->error(device, "alloc", std::move(what), status, *reason));
}

void DeviceTable::free(const DeviceEntry& device,
                       std::uint32_t memory_kind,
                       void* memory,
                       std::size_t size_bytes,
                       void* stream) {
  find_kind(device.device.kind)->free(device, memory_kind, memory, size_bytes, stream);
}

Result<void*> DeviceTable::default_stream(const DeviceEntry& device) {
  Kind* k = find_kind(device.device.kind);
  if (k->entry.table.stream_default == nullptr) return static_cast<void*>(nullptr);
  Kind::Stream& slot = k->default_streams[static_cast<std::size_t>(device.device.index)];
  if (slot.phase.load(std::memory_order_acquire) != Phase::kDone) {
    std::unique_lock lock(state_->mutex);
    state_->done.wait(
        lock, [&] { return slot.phase.load(std::memory_order_acquire) != Phase::kRunning; });
    if (slot.phase.load(std::memory_order_acquire) == Phase::kNotYet) {
      slot.phase.store(Phase::kRunning, std::memory_order_release);
      lock.unlock();
      const Finally finished([&] { state_->finish(slot.phase); });
      tenon_reason reason = empty_reason();
      const tenon_status status = call_owner(k->entry,
                                             "stream_default",
                                             k->entry.table.stream_default,
                                             reason,
                                             &device.launch,
                                             &slot.stream);
      if (status != TENON_OK) {
        slot.failure = k->error(device,
                                "stream_default",
                                "making the default stream of " + device.device.to_string(),
                                status,
                                reason);
      }
    }
  }
  if (slot.failure) return fail(*slot.failure);
  return slot.stream;
}

namespace {

// A device as copies name it; host memory is `cpu` even where no plugin owns that kind.
Result<tenon_device> device_of(DeviceTable& devices, Device device) {
  if (device.kind == DeviceKind{} && devices.kind(device.kind) == nullptr) {
    tenon_device host{};
    host.struct_size = sizeof host;
    host.kind = detail::str_of("cpu");
    return host;
  }
  auto entry = devices.find(device);
  if (!entry) return fail(std::move(entry).error());
  return (*entry)->launch;
}

}  // namespace

// One end of a copy.
struct DeviceTable::Bytes {
  Device device;
  void* memory = nullptr;  // of the source it is only read
  bool is_new = false;     // nothing was enqueued that uses it
};

Result<void> DeviceTable::copy_bytes(
    Device dst_device, void* dst, Device src_device, const void* src, std::size_t size_bytes) {
  return copy({dst_device, dst}, {src_device, const_cast<void*>(src)}, size_bytes);
}

Result<void> DeviceTable::copy(const Bytes& to, const Bytes& from, std::size_t size_bytes) {
  if (size_bytes == 0) return {};
  const DeviceKind cpu;
  if (to.device.kind == cpu && from.device.kind == cpu) {
    std::memcpy(to.memory, from.memory, size_bytes);
    return {};
  }
  if (to.device.kind != from.device.kind && to.device.kind != cpu && from.device.kind != cpu) {
    // Two kinds know nothing of each other: the bytes go through host memory.
    std::vector<std::byte> host(size_bytes);
    TENON_TRY(copy({Device{}, host.data(), true}, from, size_bytes));
    return copy(to, {Device{}, host.data(), true}, size_bytes);
  }
  // The copy goes to one stream, and what made the bytes or still uses the memory may be on any.
  const std::string what = "copying " + std::to_string(size_bytes) + " bytes from " +
                           from.device.to_string() + " to " + to.device.to_string();
  for (const Bytes* end : {&from, &to}) {
    if (end->device.kind == cpu || (end == &to && to.device == from.device)) continue;
    auto entry = find(end->device);
    if (!entry) return fail(std::move(entry).error());
    TENON_TRY(settle(**entry, what, end->is_new));
  }
  auto owner = find(to.device.kind == cpu ? from.device : to.device);
  if (!owner) return fail(std::move(owner).error());
  return copy_by(**owner, to, from, size_bytes, what);
}

Result<void> DeviceTable::copy_by(const DeviceEntry& owner,
                                  const Bytes& to,
                                  const Bytes& from,
                                  std::size_t size_bytes,
                                  const std::string& what) {
  const Kind* k = find_kind(owner.device.kind);
  tenon_device to_device{};
  tenon_device from_device{};
  TENON_TRY_ASSIGN(to_device, device_of(*this, to.device));
  TENON_TRY_ASSIGN(from_device, device_of(*this, from.device));
  void* stream = nullptr;
  TENON_TRY_ASSIGN(stream, default_stream(owner));
  tenon_reason reason = empty_reason();
  const tenon_status status = call_owner(k->entry,
                                         "copy",
                                         k->entry.table.copy,
                                         reason,
                                         &to_device,
                                         to.memory,
                                         &from_device,
                                         static_cast<const void*>(from.memory),
                                         std::uint64_t{size_bytes},
                                         stream);
  if (status != TENON_OK) return fail(k->error(owner, "copy", what, status, reason));
  return synchronize(owner);
}

// Memory of a device, given back to its owner. A class of its own rather than a release function:
// what that would have to keep does not fit into a std::function without another allocation.
class DeviceTable::DeviceMemory final : public Storage {
 public:
  DeviceMemory(void* memory,
               std::size_t size_bytes,
               Device device,
               std::shared_ptr<const Kind> kind,
               const DeviceEntry& entry,
               void* stream)
      : Storage(memory, size_bytes, device, nullptr),
        kind_(std::move(kind)),
        entry_(&entry),
        stream_(stream) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { kind_->free(*entry_, TENON_MEMORY_DEVICE, memory(), size_bytes(), stream_); }

 private:
  std::shared_ptr<const Kind> kind_;  // the table may end before its tensors
  const DeviceEntry* entry_;
  void* stream_;
};

Result<Tensor> DeviceTable::make_tensor(DType dtype,
                                        const Dims& shape,
                                        Device device,
                                        void* stream) {
  Kind* k = find_kind(device.kind);
  if (k == nullptr && device.kind == DeviceKind{}) return Tensor::host(dtype, shape);
  auto entry = find(device);
  if (!entry) return fail(std::move(entry).error());
  std::size_t size = 0;
  TENON_TRY_ASSIGN(size, detail::dense_bytes(dtype, shape));
  if (size == 0) {
    return Tensor(std::make_shared<Storage>(nullptr, 0, device, nullptr),
                  TensorView(nullptr, dtype, shape, device));
  }
  void* memory = nullptr;
  TENON_TRY_ASSIGN(memory, alloc(**entry, TENON_MEMORY_DEVICE, size, stream));
  return Tensor(
      std::make_shared<DeviceMemory>(memory, size, device, k->shared_from_this(), **entry, stream),
      TensorView(memory, dtype, shape, device));
}

Result<Tensor> DeviceTable::to_device(const Tensor& tensor, Device device) {
  if (!tensor.view().is_dense()) {
    return fail(ErrorCode::kUsageError,
                "only dense tensors move between devices; this one has strides " +
                    tensor.strides().to_string());
  }
  auto made = make_tensor(tensor.dtype(), tensor.shape(), device);
  if (!made) return made;
  const auto bytes =
      static_cast<std::size_t>(tensor.view().count()) * size_bytes_of(tensor.dtype());
  TENON_TRY(
      copy({device, made->view().first(), true}, {tensor.device(), tensor.view().first()}, bytes));
  return made;
}

}  // namespace tenon
