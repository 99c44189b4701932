// What a DeviceTable keeps of a kind, shared by its parts.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "registry/process_fork.hpp"
#include "tenon/core/device_table.hpp"

namespace tenon {

namespace detail {

/// Of what is done once, by the first who needs it.
enum class Phase : std::uint8_t { kNotYet, kRunning, kDone };

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

/// An error with the owner's words. `function` is the one that was called, `what` what for.
[[nodiscard]] Error owner_error(ErrorCode code,
                                const DeviceKindEntry& kind,
                                const char* function,
                                std::string what,
                                tenon_status status,
                                const tenon_reason& reason);
/// The code that an owner's status reads as.
[[nodiscard]] ErrorCode code_of(tenon_status status);

}  // namespace detail

// Shared with the tensors whose memory it made, so that they may outlive the table.
struct DeviceTable::Kind : std::enable_shared_from_this<DeviceTable::Kind> {
  DeviceKindEntry entry;
  std::optional<std::vector<std::int32_t>> visible;
  std::string visible_from;
  std::atomic<detail::Phase> phase{detail::Phase::kNotYet};
  std::vector<DeviceEntry> devices;  // written before phase is kDone, then only read
  std::string no_devices_reason;
  std::optional<Error> failure;  // of the enumeration as a whole
  struct Stream {
    std::atomic<detail::Phase> phase{detail::Phase::kNotYet};
    void* stream = nullptr;
    std::optional<Error> failure;
  };
  std::deque<Stream> default_streams;  // parallel to devices
  std::optional<DeviceAllocator> allocator;
  std::atomic<bool> gave_memory{false};
  mutable std::atomic<bool> told_of_free{false};
  // NOLINTNEXTLINE(modernize-avoid-c-arrays): its size is known at the enumeration only
  std::unique_ptr<std::atomic<bool>[]> lost;  // parallel to devices
  std::uint32_t forks = 0;                    // forks_seen when the table was made

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
  /// Asks the owner; see DeviceTable::late_error.
  void ask_whether_lost(const DeviceEntry& device) const;
  [[nodiscard]] std::optional<Error> late_error(const DeviceEntry& device,
                                                tenon_status status,
                                                std::string_view met_by) const;
  /// See DeviceTable::function_error.
  [[nodiscard]] Error error(const DeviceEntry& device,
                            const char* function,
                            std::string what,
                            tenon_status status,
                            const tenon_reason& reason) const;
  [[nodiscard]] bool captures(const DeviceEntry& device, void* stream) const;
  /// Whether one of the device's streams is known to capture.
  [[nodiscard]] bool captures(const DeviceEntry& device) const;
  Result<void> wait(const DeviceEntry& device) const;
  void let_go_when_passed(const DeviceEntry& device, std::shared_ptr<void> what) const;
  static void let_go_of_passed();

 private:
  struct PutOff;
  struct PutOffs;
};

struct DeviceTable::State {
  std::mutex mutex;
  std::condition_variable done;
  std::deque<std::shared_ptr<Kind>> kinds;
  // Looked up without a lock: DeviceKind ids are small and dense.
  static constexpr std::size_t kMaxKinds = 1024;
  std::array<std::atomic<Kind*>, kMaxKinds> by_id{};
  std::function<std::optional<Error>(const DeviceKindEntry&)> gate;

  /// Wakes who waits for it.
  void finish(std::atomic<detail::Phase>& phase) {
    {
      const std::lock_guard lock(mutex);
      phase.store(detail::Phase::kDone, std::memory_order_release);
    }
    done.notify_all();
  }
};

// Every output that a call makes asks for it.
inline DeviceTable::Kind* DeviceTable::find_kind(DeviceKind kind) const {
  return state_->by_id[kind.id()].load(std::memory_order_acquire);
}

}  // namespace tenon
