// The allocator behind guarded memory, and the comparison of guards.
#include "guards.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "tenon/core/device_calls.hpp"

namespace tenon::cli {
namespace {

/// As much as a kernel that steps a tile too far writes; a multiple of every alignment that owners
/// promise.
constexpr std::size_t kGuardBytes = std::size_t{64} << 10;
constexpr std::size_t kPieceBytes = std::size_t{16} << 20;

/// No two neighbours are equal and none is 0, so that neither a constant nor a shifted copy passes
/// for it.
std::byte guard_byte(std::size_t at) { return static_cast<std::byte>(0x21 + at % 193); }

std::vector<std::byte> guard_bytes() {
  std::vector<std::byte> bytes(kGuardBytes);
  for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = guard_byte(at);
  return bytes;
}

}  // namespace

struct GuardedMemory::State {
  struct Block {
    DeviceEntry device;
    std::size_t size_bytes = 0;
  };

  explicit State(DeviceTable& table) : devices(&table) {}

  void* alloc(Device device, std::size_t size_bytes, void* stream);
  void free(Device device, void* memory, std::size_t size_bytes, void* stream);
  /// Fills guards and poison. Waits for the device, since memory comes in the order of a stream.
  Result<void> fill(const Block& block, std::byte* memory, std::byte with);
  Result<GuardDamage> compare(const Block& block, const std::byte* memory);
  /// Whether what the owner's copy put there is there: else no kernel is to blame for anything.
  Result<void> check_copies(const DeviceKindEntry& owner,
                            const Block& block,
                            const std::byte* memory);
  /// Keeps what an allocation's end shows.
  void keep(const Block& block, const std::byte* memory);

  std::mutex mutex;      ///< of everything below; never held while a plugin is called
  DeviceTable* devices;  ///< null once nothing is guarded any more: the table may be gone
  std::map<std::uint16_t, DeviceKindEntry> kinds;  ///< by the kind's id
  /// By kind and index. Copies: tensors may outlive the table.
  std::map<std::pair<std::uint16_t, std::int16_t>, DeviceEntry> entries;
  std::map<void*, Block> blocks;
  std::vector<GuardDamage> found;
  std::optional<Error> failure;
  std::optional<Error> refusal;
  std::optional<std::byte> poison;
  std::atomic<bool> told_of_free{false};
};

void* GuardedMemory::State::alloc(Device device, std::size_t size_bytes, void* stream) {
  const DeviceKindEntry& owner = kinds.at(device.kind.id());
  Block block;
  std::optional<std::byte> with;
  {
    const std::lock_guard lock(mutex);
    with = poison;
    auto known = entries.find({device.kind.id(), device.index});
    if (known == entries.end()) {
      if (devices == nullptr) return nullptr;
      // Whoever asks for memory of a device has found it: this enumerates nothing.
      const auto entry = devices->find(device);
      if (!entry) return nullptr;
      known = entries.emplace(std::pair(device.kind.id(), device.index), **entry).first;
    }
    block = {known->second, size_bytes};
  }
  if (size_bytes > std::numeric_limits<std::size_t>::max() - 2 * kGuardBytes) return nullptr;
  const std::size_t whole = size_bytes + (with ? 2 * kGuardBytes : 0);
  void* base = nullptr;
  tenon_reason reason{};
  reason.struct_size = sizeof reason;
  reason.arg_index = -1;
  const tenon_status status =
      owner_alloc(owner, block.device, TENON_MEMORY_DEVICE, whole, stream, &base, reason);
  if (status != TENON_OK) {
    Error why = devices->function_error(
        block.device,
        "alloc",
        fmt::format("allocating {} bytes on {}", size_bytes, block.device.device.to_string()),
        status,
        reason);
    if (with && why.code() == ErrorCode::kOutOfMemory)
      why.with_hint(fmt::format("--check asks for {} bytes more, for its guards", 2 * kGuardBytes));
    const std::lock_guard lock(mutex);
    refusal = std::move(why);
    return nullptr;
  }
  if (!with) return base;
  auto* const memory = static_cast<std::byte*>(base) + kGuardBytes;
  auto filled = fill(block, memory, *with);
  if (filled) filled = check_copies(owner, block, memory);
  if (!filled) {
    (void)owner_free(
        owner, block.device, TENON_MEMORY_DEVICE, base, whole, stream, told_of_free, reason);
    const std::lock_guard lock(mutex);
    if (!failure) failure = std::move(filled).error();
    return nullptr;
  }
  const std::lock_guard lock(mutex);
  blocks.emplace(memory, std::move(block));
  return memory;
}

void GuardedMemory::State::free(Device device, void* memory, std::size_t size_bytes, void* stream) {
  const DeviceKindEntry& owner = kinds.at(device.kind.id());
  Block block;
  bool was_guarded = false;
  {
    const std::lock_guard lock(mutex);
    const auto at = blocks.find(memory);
    was_guarded = at != blocks.end();
    if (was_guarded) {
      block = std::move(at->second);
      blocks.erase(at);
    } else {
      block = {entries.at({device.kind.id(), device.index}), size_bytes};
    }
  }
  auto* base = static_cast<std::byte*>(memory);
  if (was_guarded) {
    keep(block, base);
    base -= kGuardBytes;
    size_bytes += 2 * kGuardBytes;
  }
  tenon_reason reason{};
  reason.struct_size = sizeof reason;
  reason.arg_index = -1;
  (void)owner_free(
      owner, block.device, TENON_MEMORY_DEVICE, base, size_bytes, stream, told_of_free, reason);
}

Result<void> GuardedMemory::State::check_copies(const DeviceKindEntry& owner,
                                                const Block& block,
                                                const std::byte* memory) {
  auto damage = compare(block, memory);
  if (!damage) return fail(std::move(damage).error());
  if (damage->before_bytes == 0 && damage->past_bytes == 0) return {};
  return fail(Error(ErrorCode::kPluginFailed,
                    fmt::format("copy of device kind '{}' (plugin '{}') does not copy: what it was "
                                "given for {} does not come back, and no kernel has run yet",
                                owner.kind.name(),
                                owner.plugin,
                                block.device.device.to_string()))
                  .with("plugin", owner.plugin));
}

void GuardedMemory::State::keep(const Block& block, const std::byte* memory) {
  {
    const std::lock_guard lock(mutex);
    if (!poison) return;
  }
  auto damage = compare(block, memory);
  const std::lock_guard lock(mutex);
  if (!damage) {
    if (!failure) failure = std::move(damage).error();
  } else if (damage->before_bytes != 0 || damage->past_bytes != 0) {
    found.push_back(*damage);
  }
}

Result<void> GuardedMemory::State::fill(const Block& block, std::byte* memory, std::byte with) {
  TENON_TRY(devices->synchronize(block.device));
  const auto put = [&](std::byte* at, std::span<const std::byte> bytes) {
    return devices->copy_bytes(block.device.device, at, Device{}, bytes.data(), bytes.size());
  };
  const std::vector<std::byte> guard = guard_bytes();
  TENON_TRY(put(memory - kGuardBytes, guard));
  TENON_TRY(put(memory + block.size_bytes, guard));
  // In pieces: the host need not have room for as much once more.
  const std::vector<std::byte> piece(std::min(block.size_bytes, kPieceBytes), with);
  for (std::size_t at = 0; at < block.size_bytes; at += piece.size()) {
    const std::size_t size = std::min(piece.size(), block.size_bytes - at);
    TENON_TRY(put(memory + at, std::span(piece).first(size)));
  }
  return {};
}

Result<GuardDamage> GuardedMemory::State::compare(const Block& block, const std::byte* memory) {
  TENON_TRY(devices->synchronize(block.device));
  GuardDamage damage;
  damage.memory = memory;
  damage.size_bytes = block.size_bytes;
  std::vector<std::byte> guard(kGuardBytes);
  TENON_TRY(devices->copy_bytes(
      Device{}, guard.data(), block.device.device, memory - kGuardBytes, kGuardBytes));
  for (std::size_t at = 0; at < kGuardBytes; ++at) {
    if (guard[at] == guard_byte(at)) continue;
    if (damage.before_bytes++ == 0) damage.before_reach = kGuardBytes - at;
  }
  TENON_TRY(devices->copy_bytes(
      Device{}, guard.data(), block.device.device, memory + block.size_bytes, kGuardBytes));
  for (std::size_t at = kGuardBytes; at-- > 0;) {
    if (guard[at] == guard_byte(at)) continue;
    if (damage.past_bytes++ == 0) damage.past_reach = at + 1;
  }
  return damage;
}

GuardedMemory::GuardedMemory(std::shared_ptr<State> state) : state_(std::move(state)) {}
GuardedMemory::GuardedMemory(GuardedMemory&&) noexcept = default;
GuardedMemory& GuardedMemory::operator=(GuardedMemory&&) noexcept = default;

GuardedMemory::~GuardedMemory() {
  if (state_ == nullptr) return;
  const std::lock_guard lock(state_->mutex);
  state_->poison.reset();
  state_->devices = nullptr;
}

std::optional<Error> GuardedMemory::failure() const {
  const std::lock_guard lock(state_->mutex);
  return state_->failure;
}

std::optional<Error> GuardedMemory::refusal() const {
  const std::lock_guard lock(state_->mutex);
  return state_->refusal;
}

Result<GuardedMemory> GuardedMemory::over(DeviceTable& devices, std::span<const DeviceKind> kinds) {
  auto state = std::make_shared<State>(devices);
  for (const DeviceKind kind : kinds) {
    const DeviceKindEntry* const owner = devices.kind(kind);
    if (owner == nullptr || !state->kinds.emplace(kind.id(), *owner).second) continue;
    // The table keeps the functions for as long as any memory lives, and they the state.
    TENON_TRY(devices.set_allocator(
        kind,
        {[state](Device device, std::size_t size_bytes, void* stream) {
           return state->alloc(device, size_bytes, stream);
         },
         [state](Device device, void* memory, std::size_t size_bytes, void* stream) {
           state->free(device, memory, size_bytes, stream);
         },
         kName,
         true}));
  }
  return GuardedMemory(std::move(state));
}

void GuardedMemory::guard(std::byte poison) {
  const std::lock_guard lock(state_->mutex);
  state_->poison = poison;
  state_->refusal.reset();
}

void GuardedMemory::rest() {
  const std::lock_guard lock(state_->mutex);
  state_->poison.reset();
}

Result<std::vector<GuardDamage>> GuardedMemory::damage() {
  std::map<void*, State::Block> blocks;
  std::vector<GuardDamage> all;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->failure) return fail(*state_->failure);
    all = std::move(state_->found);
    state_->found.clear();
    blocks = state_->blocks;
  }
  for (const auto& [memory, block] : blocks) {
    auto damage = state_->compare(block, static_cast<const std::byte*>(memory));
    if (!damage) return fail(std::move(damage).error());
    if (damage->before_bytes != 0 || damage->past_bytes != 0) all.push_back(*damage);
  }
  return all;
}

}  // namespace tenon::cli
