// From a runtime's status to the plugin's: the driver's own words, and which errors end a device.
#pragma once

#include <atomic>
#include <string>

#include "host/runtime.hpp"
#include "tenon/plugin/views.hpp"

namespace tenon::gpu {

/// "cudaErrorInvalidValue: invalid argument". Of a call's status at once, before the next call.
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
/// Takes an error back that a call has left behind and that is none: the last error, where it is
/// this one. One that the application left stays.
void forget(Status status);

/// The error that is pending before a launch. Where the runtime is shared with the application, it
/// is the application's, and not asked for elsewhere.
[[nodiscard]] inline Status pending_error() { return kSharedRuntime ? peek_error() : kSuccess; }
/// After a kernel was enqueued: what the runtime says at once. An error that was pending before is
/// left where it is, unless it ends the device.
void check_launch(const char* what, std::int32_t device_index, Status pending);

/// Whether the stream records a graph.
[[nodiscard]] bool captures(std::int32_t device_index, Stream stream);
/// The device that a stream belongs to; -1 of one that captures, which must not be asked.
[[nodiscard]] int device_of_stream(std::int32_t device_index, Stream stream);

/// Throws INVALID_ARGUMENT unless the stream is one of the device. CUDA refuses a kernel on a
/// stream that is not of the current device, but runs a copy there, behind other work than the
/// caller meant (CUDA Programming Guide, "Stream and Event Behavior"); of fills, and of the other
/// runtimes, the documents say nothing, so they are taken to run, too. For launches: remembers the
/// thread's last stream, and so cannot see a handle that the application gave back and made again
/// on another device; nor a stream that captures. CUDA refuses these launches itself.
void require_stream_of(std::int32_t device_index, Stream stream);
/// For copies and fills, which nobody else would refuse: asks every time.
void require_stream_now(std::int32_t device_index, Stream stream);
/// A stream was given back: what threads remember of streams counts no longer.
void forget_streams();

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
