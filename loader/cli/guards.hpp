// Guards around the memory of a checked call: bytes that nobody may write on both sides of each
// allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/core/device_table.hpp"
#include "tenon/core/error.hpp"

namespace tenon::cli {

/// What became of the guards of one allocation.
struct GuardDamage {
  const void* memory = nullptr;  ///< what the allocation's user had
  std::size_t size_bytes = 0;
  std::uint64_t before_bytes = 0;  ///< how many before it changed
  std::uint64_t before_reach = 0;  ///< from the farthest of them to its start
  std::uint64_t past_bytes = 0;    ///< how many past its end changed
  std::uint64_t past_reach = 0;    ///< from its end to behind the farthest of them
};

/// While it guards, memory of its device kinds comes between guards and filled with poison:
/// outputs, workspaces and what kernels ask the host for. It reaches device memory through the
/// owner's copies. One for the lifetime of a device table.
class GuardedMemory {
 public:
  /// Takes over the allocation of these kinds; one that has no owner is left alone.
  /// @errors UsageError: memory of a kind was given out already.
  static Result<GuardedMemory> over(DeviceTable& devices, std::span<const DeviceKind> kinds);
  GuardedMemory(GuardedMemory&&) noexcept;
  GuardedMemory& operator=(GuardedMemory&&) noexcept;
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory();

  /// From here on memory is guarded, and holds `poison` until it is written.
  void guard(std::byte poison);
  /// From here on memory comes as the owner gives it: for measuring.
  void rest();
  /// The damage to what lives, and to what was given back since the last time that this was asked.
  /// Waits for the devices. @errors what the owner reports.
  [[nodiscard]] Result<std::vector<GuardDamage>> damage();
  /// What an owner did wrong itself, before any kernel could: its copies do not come back.
  [[nodiscard]] std::optional<Error> failure() const;
  /// The name under which the table reports that there is none left.
  static constexpr const char* kName = "the guarded memory of --check";
  /// Why an owner gave no memory since guard(), which the table does not hear: the error as it is
  /// without guards.
  [[nodiscard]] std::optional<Error> refusal() const;

 private:
  struct State;
  explicit GuardedMemory(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace tenon::cli
