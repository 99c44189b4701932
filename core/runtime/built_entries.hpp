// What kernel types built, shared by every instance of a Runtime; one identity is built once.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "registry/lent_reason.hpp"
#include "tenon/core/plugin_calls.hpp"
#include "tenon/core/registry.hpp"

namespace tenon {

/// A kernel and its plugin's state: of a kernel type, or of a builder target. Destroyed once
/// nothing launches it.
class BuiltEntry {
 public:
  BuiltEntry(std::shared_ptr<const KernelType> type,
             std::shared_ptr<DeviceTable> devices,
             const DeviceEntry* device,
             const tenon_kernel& kernel)
      : type_(std::move(type)), devices_(std::move(devices)), device_(device), kernel_(kernel) {}
  BuiltEntry(std::shared_ptr<const BuilderTarget> target,
             std::shared_ptr<DeviceTable> devices,
             const DeviceEntry* device,
             const tenon_kernel& kernel)
      : target_(std::move(target)),
        devices_(std::move(devices)),
        device_(device),
        kernel_(kernel) {}
  ~BuiltEntry();
  BuiltEntry(const BuiltEntry&) = delete;
  BuiltEntry& operator=(const BuiltEntry&) = delete;

  [[nodiscard]] const tenon_kernel& kernel() const { return kernel_; }
  /// @pre Built by a kernel type.
  // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.UndefReturn): the precondition
  [[nodiscard]] const KernelType& type() const { return *type_; }
  /// "plugin:key", or "plugin:target".
  [[nodiscard]] const std::string& name() const {
    // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.UndefReturn): one of the two is there
    return type_ != nullptr ? type_->qualified : target_->qualified;
  }
  /// "kernel type 'cpu:rows' of interface 'rms_norm_fwd'", for messages.
  [[nodiscard]] std::string description() const;
  /// Empty for a builder target's.
  [[nodiscard]] std::string interface() const {
    return type_ != nullptr ? type_->interface : std::string();
  }
  /// CLOCK's mark among all kernels of a Runtime.
  void mark_used() {
    if (!used_.load(std::memory_order_relaxed)) used_.store(true, std::memory_order_relaxed);
  }
  [[nodiscard]] bool forget_use() { return used_.exchange(false, std::memory_order_relaxed); }
  [[nodiscard]] bool is_tuned() const {
    return tuning_.load(std::memory_order_acquire) == Tuning::kDone;
  }
  /// True for the one thread that shall tune.
  [[nodiscard]] bool begin_tuning() {
    Tuning none = Tuning::kNone;
    return tuning_.compare_exchange_strong(none, Tuning::kRunning, std::memory_order_acq_rel);
  }
  void end_tuning(bool done) {
    tuning_.store(done ? Tuning::kDone : Tuning::kNone, std::memory_order_release);
  }
  [[nodiscard]] const PluginInfo& plugin() const {
    return type_ != nullptr ? *type_->plugin : *target_->plugin;
  }
  [[nodiscard]] const DeviceEntry& device() const { return *device_; }
  [[nodiscard]] DeviceTable& devices() const { return *devices_; }

 private:
  struct Launched;
  std::shared_ptr<const KernelType> type_;
  std::shared_ptr<const BuilderTarget> target_;
  std::shared_ptr<DeviceTable> devices_;
  const DeviceEntry* device_;
  tenon_kernel kernel_;
  enum class Tuning : std::uint8_t { kNone, kRunning, kDone };
  std::atomic<Tuning> tuning_{Tuning::kNone};
  std::atomic<bool> used_{true};
};

/// Gives a kernel's state back to its plugin. A failure is logged: nothing else can be done.
void destroy_kernel(const tenon_kernel& kernel,
                    const PluginInfo& plugin,
                    const std::string& qualified);

/// What a plugin said beside the failure of a launch, as an error.
[[nodiscard]] Error launch_error(const BuiltEntry& entry,
                                 tenon_status status,
                                 const tenon_reason& reason);

/// Launches a kernel. What the plugin says beside a failure becomes the error. Inline, like the
/// rest of what a hit runs through: its calls cost as much as its work.
inline Result<void> launch_kernel(const BuiltEntry& entry, const tenon_launch& request) {
  detail::LentReason reason(detail::Lending::kLaunch);
  const tenon_kernel& kernel = entry.kernel();
  const tenon_status status =
      caught(*reason.get(), [&] { return kernel.launch(kernel.state, &request, reason.get()); });
  if (status == TENON_OK) [[likely]]
    return {};
  return fail(launch_error(entry, status, *reason));
}

/// The weak pool of built entries, keyed by build identity.
class BuildPool {
 public:
  /// Gives the entry of this identity, building it if nobody holds one. Threads that need the same
  /// identity wait for the one that builds, and share its result or its error; the next call tries
  /// again after an error. `built` tells whether this call built it.
  Result<std::shared_ptr<BuiltEntry>> get(
      const std::vector<std::uint64_t>& identity,
      const std::function<Result<std::shared_ptr<BuiltEntry>>()>& build,
      bool& built);
  [[nodiscard]] std::size_t builds() const { return builds_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t live() const;
  [[nodiscard]] std::size_t evicted() const { return evicted_.load(std::memory_order_relaxed); }
  /// Where more than `limit` kernels live: those to let go, not lately used ones first, a few more
  /// than needed so that it is not asked for at every build.
  std::vector<std::shared_ptr<BuiltEntry>> victims(std::size_t limit, const BuiltEntry& newest);

 private:
  struct Pending {
    bool done = false;
    std::shared_ptr<BuiltEntry> entry;
    std::optional<Error> error;
  };
  // Ends the waiting for a build, also where an exception or the end of the thread ended it.
  struct Unfinished {
    BuildPool& pool;
    const std::vector<std::uint64_t>& identity;
    Pending& pending;
    ~Unfinished();
  };
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::vector<std::uint64_t>, std::weak_ptr<BuiltEntry>> entries_;
  std::map<std::vector<std::uint64_t>, std::shared_ptr<Pending>> pending_;
  std::size_t sweep_at_ = 256;
  std::vector<std::uint64_t> hand_;  // CLOCK's: the identity that it looks at next
  std::atomic<std::size_t> builds_{0};
  std::atomic<std::size_t> evicted_{0};
};

}  // namespace tenon
