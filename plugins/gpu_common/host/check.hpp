// From a runtime's status to the plugin's: the driver's own words, and which errors end a device.
#pragma once

#include <atomic>
#include <string>

#include "host/runtime.hpp"
#include "tenon/plugin/views.hpp"

namespace tenon::gpu {

/// "cudaErrorInvalidValue: invalid argument"
[[nodiscard]] std::string words_of(Status status);

/// Whether no later call on the device can succeed in this process.
[[nodiscard]] bool ends_device(Status status);

/// What is known of a device that cannot go on. One per device, alive as long as the process.
class Loss {
 public:
  /// Remembers the first reason. Later ones keep the first.
  void mark(const std::string& why);
  [[nodiscard]] bool is_lost() const { return lost_.load(std::memory_order_acquire); }
  /// The first reason; empty while the device is not lost.
  [[nodiscard]] std::string why() const;

 private:
  std::atomic<const std::string*> why_{nullptr};
  std::atomic<bool> lost_{false};
};
[[nodiscard]] Loss& loss_of(std::int32_t device_index);

/// Throws a Failure that says what failed on which device and why. An error that an earlier launch
/// left behind says so, and marks the device as lost where it cannot go on.
[[noreturn]] void fail(Status status, const char* what, std::int32_t device_index);
inline void check(Status status, const char* what, std::int32_t device_index) {
  if (status != kSuccess) fail(status, what, device_index);
}
/// After a kernel was enqueued: what the runtime says at once.
void check_launch(const char* what, std::int32_t device_index);

/// Throws INVALID_ARGUMENT unless the stream is one of the device: the runtime would take another
/// device's stream and run the work there.
void require_stream_of(std::int32_t device_index, Stream stream);

/// Makes a device current and puts back the one that was.
class Current {
 public:
  explicit Current(std::int32_t device_index);
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace tenon::gpu
