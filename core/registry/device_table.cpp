// Device kinds and their devices, enumerated once at first need without a lock held over the
// plugin's code.
#include "tenon/core/device_table.hpp"

#include <algorithm>

#include "registry/abi_text.hpp"
#include "registry/device_kind_state.hpp"
#include "registry/known_flags.hpp"
#include "tenon/core/device_calls.hpp"
#include "tenon/core/floating_environment.hpp"
#include "tenon/core/nearest.hpp"

namespace tenon {

using detail::code_of;
using detail::empty_reason;
using detail::Finally;
using detail::owner_error;
using detail::Phase;
using detail::text_of;

namespace {

// More devices than this is a plugin's mistake, not a machine.
constexpr std::uint32_t kMaxDevices = 1024;
constexpr std::uint64_t kMaxRunsArchs = 4096;

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

bool DeviceTable::separates_workspaces(const DeviceEntry& device) const {
  const Kind* k = find_kind(device.device.kind);
  return k->allocator && k->allocator->separate_workspaces;
}

bool DeviceTable::is_of_parent(const DeviceEntry& device) const {
  return find_kind(device.device.kind)->is_of_parent();
}

void DeviceTable::set_gate(std::function<std::optional<Error>(const DeviceKindEntry&)> gate) {
  state_->gate = std::move(gate);
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
  if (const std::string fault = take_flags(kind.table, described); !fault.empty()) {
    entry.failure = Error(
        ErrorCode::kPluginFailed,
        "plugin '" + kind.plugin + "' describes " + entry.device.to_string() + ": its " + fault);
    return entry;
  }
  described.kind = detail::str_of(kind.kind.name());
  described.index = static_cast<std::int32_t>(index);
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
    std::vector<std::string> names;
    for (const auto* e : kinds()) {
      names.emplace_back(e->kind.name());
      known += (known.empty() ? "" : ", ") + names.back();
    }
    std::string near = did_you_mean(kind.name(), names);
    if (!near.empty()) near += "; ";
    return fail(Error(ErrorCode::kDeviceError,
                      "no plugin owns device kind '" + std::string(kind.name()) + "'")
                    .with_hint(near + "kinds that are there: " +
                               (known.empty() ? std::string("none") : known)));
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
    std::vector<DeviceEntry> found;
    enumerate(k->entry, found, k->no_devices_reason, k->failure);
    k->devices = std::move(found);
  }
  k->default_streams.resize(k->devices.size());
  k->lost = std::make_unique<std::atomic<bool>[]>(k->devices.size());
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

}  // namespace tenon
