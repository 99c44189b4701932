// Device kinds and their devices, enumerated once at first need without a lock held over the
// plugin's code.
#include "tenon/core/device_table.hpp"

#include <condition_variable>
#include <cstdio>
#include <deque>

#include "registry/abi_text.hpp"
#include "registry/lent_reason.hpp"
#include "registry/process_fork.hpp"
#include "tenon/core/device_calls.hpp"
#include "tenon/core/floating_environment.hpp"
#include "tenon/core/plugin_record.hpp"
#include "values/tensor_bytes.hpp"

namespace tenon {

using detail::empty_reason;
using detail::text_of;

namespace {

// More devices than this is a plugin's mistake, not a machine.
constexpr std::uint32_t kMaxDevices = 1024;
constexpr std::uint64_t kMaxRunsArchs = 4096;

enum class Phase : std::uint8_t { kNotYet, kRunning, kDone };

}  // namespace

// Shared with the tensors whose memory it made, so that they may outlive the table.
struct DeviceTable::Kind : std::enable_shared_from_this<DeviceTable::Kind> {
  DeviceKindEntry entry;
  std::optional<std::vector<std::int32_t>> visible;
  std::string visible_from;
  std::atomic<Phase> phase{Phase::kNotYet};
  std::vector<DeviceEntry> devices;  // written before phase is kDone, then only read
  std::string no_devices_reason;
  std::optional<Error> failure;  // of the enumeration as a whole
  struct Stream {
    std::atomic<Phase> phase{Phase::kNotYet};
    void* stream = nullptr;
    std::optional<Error> failure;
  };
  std::deque<Stream> default_streams;  // parallel to devices
  std::optional<DeviceAllocator> allocator;
  std::atomic<bool> gave_memory{false};
  mutable std::atomic<bool> told_of_free{false};
  mutable std::deque<std::atomic<bool>> lost;  // parallel to devices
  std::uint32_t forks = 0;                     // forks_seen when the table was made

  [[nodiscard]] bool is_of_parent() const {
    return forks_seen.load(std::memory_order_relaxed) != forks && !(entry.kind == DeviceKind{});
  }
  void* alloc(const DeviceEntry& device,
              std::uint32_t memory_kind,
              std::size_t size_bytes,
              void* stream,
              tenon_status& status,
              tenon_reason* reason);
  void free(const DeviceEntry& device,
            std::uint32_t memory_kind,
            void* memory,
            std::size_t size_bytes,
            void* stream) const;
  /// See DeviceTable::ask_whether_lost.
  void ask_whether_lost(const DeviceEntry& device) const;
};

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
    std::snprintf(reason->text, sizeof reason->text, "the application's allocator has none left");
  } else if (reinterpret_cast<std::uintptr_t>(memory) % kDeviceMemoryAlign != 0) [[unlikely]] {
    std::snprintf(reason->text,
                  sizeof reason->text,
                  "the application's allocator gave memory at %p, which is no multiple of %zu; it "
                  "was given back",
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
  const tenon_status status =
      owner_free(entry, device, memory_kind, memory, size_bytes, stream, told_of_free);
  if (status == TENON_DEVICE) [[unlikely]]
    ask_whether_lost(device);
}

void DeviceTable::Kind::ask_whether_lost(const DeviceEntry& device) const {
  const auto index = static_cast<std::size_t>(device.device.index);
  if (index >= lost.size() || lost[index].load(std::memory_order_acquire)) return;
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

struct DeviceTable::State {
  std::mutex mutex;
  std::condition_variable done;
  std::deque<std::shared_ptr<Kind>> kinds;
  // Looked up without a lock: DeviceKind ids are small and dense.
  static constexpr std::size_t kMaxKinds = 1024;
  std::array<std::atomic<Kind*>, kMaxKinds> by_id{};
  std::function<std::optional<Error>(const DeviceKindEntry&)> gate;

  /// Wakes who waits for it.
  void finish(std::atomic<Phase>& phase) {
    {
      const std::lock_guard lock(mutex);
      phase.store(Phase::kDone, std::memory_order_release);
    }
    done.notify_all();
  }
};

namespace {

/// Does the work at its end, however that comes.
template <class F>
class Finally {
 public:
  explicit Finally(F work) : work_(std::move(work)) {}
  ~Finally() { work_(); }
  Finally(const Finally&) = delete;
  Finally& operator=(const Finally&) = delete;

 private:
  F work_;
};

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

}  // namespace

DeviceTable::DeviceTable() : state_(std::make_unique<State>()) { watch_forks(); }
DeviceTable::~DeviceTable() = default;

Result<void> DeviceTable::add(DeviceKindEntry kind) {
  const std::lock_guard lock(state_->mutex);
  std::atomic<Kind*>& slot = state_->by_id[kind.kind.id()];
  if (const Kind* owner = slot.load(std::memory_order_acquire); owner != nullptr) {
    return fail(Error(ErrorCode::kPluginRejected,
                      "device kind '" + std::string(kind.kind.name()) + "' of plugin '" +
                          kind.plugin + "' is owned by plugin '" + owner->entry.plugin +
                          "' already")
                    .with_hint("disable one of the two with plugins.disable")
                    .with("status", "ALREADY_EXISTS"));
  }
  auto added = std::make_shared<Kind>();
  added->entry = std::move(kind);
  added->forks = forks_seen.load(std::memory_order_relaxed);
  slot.store(added.get(), std::memory_order_release);
  state_->kinds.push_back(std::move(added));
  return {};
}

void DeviceTable::set_visible(DeviceKind kind,
                              std::vector<std::int32_t> indices,
                              std::string from) {
  if (Kind* k = find_kind(kind)) {
    k->visible = std::move(indices);
    k->visible_from = std::move(from);
  }
}

Result<void> DeviceTable::set_allocator(DeviceKind kind, DeviceAllocator allocator) {
  Kind* k = find_kind(kind);
  if (k == nullptr) {
    return fail(ErrorCode::kDeviceError,
                "no plugin owns device kind '" + std::string(kind.name()) + "'");
  }
  if (!allocator.alloc || !allocator.free) {
    return fail(ErrorCode::kUsageError,
                "an allocator for kind '" + std::string(kind.name()) + "' needs both functions");
  }
  if (k->gave_memory.load(std::memory_order_relaxed)) {
    return fail(Error(ErrorCode::kUsageError,
                      "memory of kind '" + std::string(kind.name()) +
                          "' was given out already, and would be freed by another allocator")
                    .with_hint("set the allocator before the first tensor or call of the kind"));
  }
  k->allocator = std::move(allocator);
  return {};
}

bool DeviceTable::is_of_parent(const DeviceEntry& device) const {
  return find_kind(device.device.kind)->is_of_parent();
}

void DeviceTable::ask_whether_lost(const DeviceEntry& device) {
  if (const Kind* k = find_kind(device.device.kind)) k->ask_whether_lost(device);
}

void DeviceTable::set_gate(std::function<std::optional<Error>(const DeviceKindEntry&)> gate) {
  state_->gate = std::move(gate);
}

DeviceTable::Kind* DeviceTable::find_kind(DeviceKind kind) const {
  return state_->by_id[kind.id()].load(std::memory_order_acquire);
}

const DeviceKindEntry* DeviceTable::kind(DeviceKind kind) const {
  const Kind* k = find_kind(kind);
  return k == nullptr ? nullptr : &k->entry;
}

std::vector<const DeviceKindEntry*> DeviceTable::kinds() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<const DeviceKindEntry*> all;
  for (const auto& k : state_->kinds) all.push_back(&k->entry);
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) {
    return a->kind.name() < b->kind.name();
  });
  return all;
}

namespace {

DeviceEntry describe(const DeviceKindEntry& kind, std::uint32_t index) {
  DeviceEntry entry;
  entry.device = Device{kind.kind, static_cast<std::int16_t>(index)};
  tenon_device described{};
  described.struct_size = sizeof described;
  tenon_reason reason = empty_reason();
  const FloatingCall floating_call("describe", kind.plugin);
  const tenon_status status =
      call_owner(kind, "describe", kind.table.describe, reason, index, &described);
  if (status != TENON_OK) {
    entry.failure = owner_error(code_of(status),
                                kind,
                                "describe",
                                "describing " + entry.device.to_string(),
                                status,
                                reason);
    return entry;
  }
  if (described.n_runs_archs > kMaxRunsArchs) {
    entry.failure = Error(ErrorCode::kPluginFailed,
                          "plugin '" + kind.plugin + "' says that " + entry.device.to_string() +
                              " runs code of " + std::to_string(described.n_runs_archs) +
                              " archs (runs_archs); at most " + std::to_string(kMaxRunsArchs) +
                              " are believed");
    return entry;
  }
  described.kind = detail::str_of(kind.kind.name());
  described.index = static_cast<std::int32_t>(index);
  described.flags |= kind.table.flags;
  entry.facts = DeviceFacts(described);
  entry.launch = entry.facts.abi();
  entry.launch.native = described.native;
  return entry;
}

void enumerate(const DeviceKindEntry& kind,
               std::vector<DeviceEntry>& devices,
               std::string& no_devices_reason,
               std::optional<Error>& failure) {
  std::uint32_t count = 0;
  tenon_reason reason = empty_reason();
  const FloatingCall floating_call("count", kind.plugin);
  const tenon_status status = call_owner(kind, "count", kind.table.count, reason, &count);
  if (status != TENON_OK) {
    failure = owner_error(code_of(status),
                          kind,
                          "count",
                          "enumerating the devices of kind '" + std::string(kind.kind.name()) + "'",
                          status,
                          reason);
    no_devices_reason = failure->message();
    return;
  }
  if (count > kMaxDevices) {
    failure = Error(ErrorCode::kPluginFailed,
                    "plugin '" + kind.plugin + "' reports " + std::to_string(count) +
                        " devices of kind '" + std::string(kind.kind.name()) + "'; at most " +
                        std::to_string(kMaxDevices) + " are believed");
    no_devices_reason = failure->message();
    return;
  }
  if (count == 0) no_devices_reason = text_of(reason);
  devices.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) devices.push_back(describe(kind, i));
}

}  // namespace

Result<DeviceTable::Kind*> DeviceTable::enumerated(DeviceKind kind) {
  Kind* k = find_kind(kind);
  if (k == nullptr) {
    std::string known;
    for (const auto* e : kinds())
      known += (known.empty() ? "" : ", ") + std::string(e->kind.name());
    return fail(
        Error(ErrorCode::kDeviceError,
              "no plugin owns device kind '" + std::string(kind.name()) + "'")
            .with_hint("kinds that are there: " + (known.empty() ? std::string("none") : known)));
  }
  if (k->is_of_parent()) {
    return fail(Error(ErrorCode::kDeviceError,
                      "devices of kind '" + std::string(kind.name()) +
                          "' are lost: this process was forked from the one that they belong to, "
                          "and a driver's state does not pass into a child")
                    .with_hint("start a new program, or make the Runtime after the fork, before "
                               "any device is used"));
  }
  if (k->phase.load(std::memory_order_acquire) == Phase::kDone) return k;
  {
    std::unique_lock lock(state_->mutex);
    if (k->phase.load(std::memory_order_acquire) == Phase::kRunning) {
      state_->done.wait(lock,
                        [&] { return k->phase.load(std::memory_order_acquire) == Phase::kDone; });
    }
    if (k->phase.load(std::memory_order_acquire) == Phase::kDone) return k;
    k->phase.store(Phase::kRunning, std::memory_order_release);
  }
  // Where the thread ends before the end, nobody waits for it, and there are no devices.
  const Finally finished([&] { state_->finish(k->phase); });
  if (state_->gate) k->failure = state_->gate(k->entry);
  if (k->failure) {
    k->no_devices_reason = k->failure->message();
  } else {
    enumerate(k->entry, k->devices, k->no_devices_reason, k->failure);
  }
  k->default_streams.resize(k->devices.size());
  k->lost.resize(k->devices.size());
  for (std::size_t i = 0; i < k->devices.size(); ++i)
    k->lost[i] = (k->devices[i].facts.fields().flags & TENON_DEVICE_FLAG_LOST) != 0;
  return k;
}

Result<std::span<const DeviceEntry>> DeviceTable::devices(DeviceKind kind) {
  auto k = enumerated(kind);
  if (!k) return fail(std::move(k).error());
  if ((*k)->failure) return fail(*(*k)->failure);
  return std::span<const DeviceEntry>((*k)->devices);
}

std::string DeviceTable::no_devices_reason(DeviceKind kind) {
  auto k = enumerated(kind);
  if (!k) return k.error().message();
  return (*k)->no_devices_reason;
}

std::vector<Device> DeviceTable::same_card_as(const DeviceEntry& device) {
  std::vector<Device> same;
  const auto& mine = device.facts.fields();
  for (const DeviceKindEntry* kind : kinds()) {
    if (kind->kind == device.device.kind) continue;
    const auto others = devices(kind->kind);
    if (!others) continue;
    for (const DeviceEntry& other : *others) {
      const auto& theirs = other.facts.fields();
      const bool same_pci = !mine.pci.empty() && mine.pci == theirs.pci;
      const bool both_uuids = !mine.uuid.empty() && !theirs.uuid.empty();
      const bool same_uuid = both_uuids && mine.uuid == theirs.uuid;
      if ((same_pci && (!both_uuids || same_uuid)) ||
          (same_uuid && (mine.pci.empty() || theirs.pci.empty()))) {
        same.push_back(other.device);
      }
    }
  }
  return same;
}

Result<const DeviceEntry*> DeviceTable::find(Device device) {
  auto k = enumerated(device.kind);
  if (!k) return fail(std::move(k).error());
  if ((*k)->failure) return fail(*(*k)->failure);
  const auto& devices = (*k)->devices;
  const auto index = static_cast<std::size_t>(device.index);
  if (device.index < 0 || index >= devices.size()) {
    std::string have = devices.empty() ? "there are none"
                                       : "there are " + std::to_string(devices.size()) + ", 0.." +
                                             std::to_string(devices.size() - 1);
    if (devices.empty() && !(*k)->no_devices_reason.empty()) have += ": " + (*k)->no_devices_reason;
    return fail(Error(ErrorCode::kDeviceError,
                      "no device " + device.to_string() + ": of kind '" +
                          std::string(device.kind.name()) + "' " + have));
  }
  if (const auto& visible = (*k)->visible;
      visible && std::find(visible->begin(), visible->end(), device.index) == visible->end()) {
    return fail(
        Error(ErrorCode::kDeviceError,
              "device " + device.to_string() + " is hidden by devices.visible" +
                  ((*k)->visible_from.empty() ? "" : " (" + (*k)->visible_from + ")"))
            .with_hint("add its index to devices.visible." + std::string(device.kind.name())));
  }
  if (devices[index].failure) return fail(*devices[index].failure);
  if ((*k)->lost[index].load(std::memory_order_acquire)) {
    return fail(Error(ErrorCode::kDeviceError,
                      device.to_string() + " is lost: plugin '" + (*k)->entry.plugin +
                          "' says that it cannot go on")
                    .with_hint("start the program again; a reset of the device may be needed"));
  }
  return &devices[index];
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
  if (status == TENON_DEVICE) k->ask_whether_lost(device);
  return fail(owner_error(
      status == TENON_INVALID_ARGUMENT && k->allocator ? ErrorCode::kUsageError : code_of(status),
      k->entry,
      "alloc",
      "allocating " + std::to_string(size_bytes) + " bytes on " + device.device.to_string(),
      status,
      *reason));
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
        slot.failure = owner_error(code_of(status),
                                   k->entry,
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

Result<void> DeviceTable::synchronize(const DeviceEntry& device) {
  const Kind* k = find_kind(device.device.kind);
  if (k->is_of_parent()) return fail(enumerated(device.device.kind).error());
  tenon_reason reason = empty_reason();
  const tenon_status status =
      call_owner(k->entry, "synchronize", k->entry.table.synchronize, reason, &device.launch);
  if (status == TENON_OK) return {};
  if (status == TENON_DEVICE) k->ask_whether_lost(device);
  return fail(owner_error(code_of(status),
                          k->entry,
                          "synchronize",
                          "synchronising " + device.device.to_string(),
                          status,
                          reason));
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

Result<void> DeviceTable::copy_bytes(
    Device dst_device, void* dst, Device src_device, const void* src, std::size_t size_bytes) {
  if (size_bytes == 0) return {};
  const DeviceKind cpu;
  if (dst_device.kind == cpu && src_device.kind == cpu) {
    std::memcpy(dst, src, size_bytes);
    return {};
  }
  if (dst_device.kind != src_device.kind && dst_device.kind != cpu && src_device.kind != cpu) {
    // Two kinds know nothing of each other: the bytes go through host memory.
    std::vector<std::byte> host(size_bytes);
    TENON_TRY(copy_bytes(Device{}, host.data(), src_device, src, size_bytes));
    return copy_bytes(dst_device, dst, Device{}, host.data(), size_bytes);
  }
  const Device owner = dst_device.kind == cpu ? src_device : dst_device;
  auto owner_entry = find(owner);
  if (!owner_entry) return fail(std::move(owner_entry).error());
  const Kind* k = find_kind(owner.kind);
  tenon_device to{};
  tenon_device from{};
  TENON_TRY_ASSIGN(to, device_of(*this, dst_device));
  TENON_TRY_ASSIGN(from, device_of(*this, src_device));
  void* stream = nullptr;
  TENON_TRY_ASSIGN(stream, default_stream(**owner_entry));
  tenon_reason reason = empty_reason();
  const tenon_status status = call_owner(k->entry,
                                         "copy",
                                         k->entry.table.copy,
                                         reason,
                                         &to,
                                         dst,
                                         &from,
                                         src,
                                         std::uint64_t{size_bytes},
                                         stream);
  if (status != TENON_OK) {
    if (status == TENON_DEVICE) k->ask_whether_lost(**owner_entry);
    return fail(owner_error(code_of(status),
                            k->entry,
                            "copy",
                            "copying " + std::to_string(size_bytes) + " bytes from " +
                                src_device.to_string() + " to " + dst_device.to_string(),
                            status,
                            reason));
  }
  return synchronize(**owner_entry);
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
      copy_bytes(device, made->view().first(), tensor.device(), tensor.view().first(), bytes));
  return made;
}

}  // namespace tenon
