// The binding group of an instance: the target that serves it and the entries by call key.
// Immutable once published.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/built_entries.hpp"
#include "tenon/core/registry.hpp"

namespace tenon {

class LaunchExample;

/// What a call key leads to.
struct CallEntry {
  std::vector<std::uint64_t> key;
  std::uint64_t hash = 0;
  std::shared_ptr<BuiltEntry> built;  ///< null: no kernel serves, the composition runs
  std::uint32_t round = 0;
  std::uint64_t copied_args = 0;
  std::uint64_t workspace_bytes = 0;
  /// On the device: one element of padding per argument, kPadBytes each; null where none is padded.
  std::shared_ptr<Storage> pads;
  /// CLOCK's mark: set by a hit only if it is not set yet, so that a hit of this round writes
  /// nothing.
  mutable std::atomic<bool> used{true};

  /// What a launch passed, for tuning; made at the first launch.
  mutable std::atomic<const LaunchExample*> example{nullptr};

  CallEntry() = default;
  CallEntry(const CallEntry&) = delete;
  CallEntry& operator=(const CallEntry&) = delete;
  ~CallEntry();
  void mark_used() const {
    if (!used.load(std::memory_order_relaxed)) used.store(true, std::memory_order_relaxed);
    if (built != nullptr) built->mark_used();
  }
  /// Keeps `launch` as the example, unless there is one.
  const LaunchExample& example_of(const tenon_launch& launch) const;
};

/// Which target serves, and why.
struct TargetChoice {
  std::string name = "builtin";
  std::string from = "detection";
  std::optional<DeviceKind> kind;            ///< a table target of one kind
  std::optional<std::int16_t> device_index;  ///< "KIND:2"
  const BuilderTarget* builder = nullptr;
};

struct Binding {
  TargetChoice target;
  std::uint64_t generation = 0;  ///< unique within the instance; tables of one target share it
  std::uint64_t serial = 0;      ///< unique within the instance, a new one for every table
  std::uint64_t default_version =
      0;  ///< of the process default when it was made; ~0: the instance has its own
  std::vector<std::shared_ptr<const CallEntry>>
      slots;  ///< open addressing, a power of two; null: free
  std::size_t count = 0;
  std::size_t hand = 0;  ///< CLOCK's

  [[nodiscard]] const std::shared_ptr<const CallEntry>* find(
      std::uint64_t hash, std::span<const std::uint64_t> key) const;
  /// A copy with one more entry; evicts one that was not used lately once there are `limit`.
  [[nodiscard]] std::unique_ptr<Binding> with(std::shared_ptr<const CallEntry> entry,
                                              std::size_t limit,
                                              std::size_t& evicted) const;
  /// A copy without the entries that hold one of these kernels; null where it holds none.
  [[nodiscard]] std::unique_ptr<Binding> without(const std::set<const BuiltEntry*>& kernels) const;

 private:
  /// One with the same target and without entries.
  [[nodiscard]] std::unique_ptr<Binding> like_this() const;
  void fill(std::vector<std::shared_ptr<const CallEntry>> entries);
};

}  // namespace tenon
