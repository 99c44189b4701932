// From a runtime's status to the plugin's.
#include "host/check.hpp"

#include <array>
#include <mutex>

#include "host/identity.hpp"

namespace tenon::gpu {
namespace {

constexpr std::size_t kMostDevices = 64;

/// Devices of the process; their number does not change.
int device_count() {
  static const int kDevices = [] {
    int count = 0;
    return TENON_GPU(GetDeviceCount)(&count) == kSuccess ? count : 0;
  }();
  return kDevices;
}

std::string name_of(std::int32_t device_index) {
  return std::string(kKind) + ":" + std::to_string(device_index);
}

}  // namespace

std::string words_of(Status status) {
  const char* name = TENON_GPU(GetErrorName)(status);
  const char* text = TENON_GPU(GetErrorString)(status);
  std::string words = name == nullptr ? "status " + std::to_string(static_cast<int>(status)) : name;
  if (text != nullptr && words != text) words += std::string(": ") + text;
  return words;
}

bool ends_device(Status status) {
  // The numbers are the same in all runtimes: illegal address, illegal instruction, launch failure
  // and their kin. https://docs.nvidia.com/cuda/cuda-runtime-api, enum cudaError: "leaves the
  // process in an inconsistent state".
  switch (static_cast<int>(status)) {
    case 214:  // uncorrectable ECC
    case 700:  // illegal address
    case 702:  // launch timeout
    case 709:  // context is destroyed
    case 710:  // assert
    case 714:  // hardware stack error
    case 715:  // illegal instruction
    case 716:  // misaligned address
    case 717:  // invalid address space
    case 718:  // invalid program counter
    case 719:  // launch failure
      return true;
    default:
      return false;
  }
}

void Loss::mark(const std::string& why) {
  if (why_.load(std::memory_order_acquire) == nullptr) {
    const auto* kept = new std::string(why);  // kept: reasons stay valid for the process
    const std::string* none = nullptr;
    if (!why_.compare_exchange_strong(none, kept)) delete kept;
  }
  lost_.store(true, std::memory_order_release);
}

std::string Loss::why() const {
  const std::string* why = why_.load(std::memory_order_acquire);
  return why == nullptr ? std::string() : *why;
}

Loss& loss_of(std::int32_t device_index) {
  static std::array<Loss, kMostDevices> losses;
  return losses[static_cast<std::size_t>(device_index) % kMostDevices];
}

void fail(Status status, const char* what, std::int32_t device_index) {
  const std::string device = name_of(device_index);
  if (status == kOutOfMemory) {
    static_cast<void>(TENON_GPU(GetLastError)());  // it is reported here, and only here
    throw Failure(TENON_OUT_OF_MEMORY,
                  std::string(what) + " on " + device + ": " + words_of(status));
  }
  if (ends_device(status)) {
    Loss& loss = loss_of(device_index);
    if (loss.is_lost()) throw Failure(TENON_DEVICE, device + " is lost since " + loss.why());
    const std::string why = "earlier work on it failed with " + words_of(status);
    loss.mark(why);
    throw Failure(TENON_DEVICE,
                  device + " cannot go on in this process: " + why + ", which showed in " + what);
  }
  static_cast<void>(TENON_GPU(GetLastError)());
  throw Failure(TENON_DEVICE, std::string(what) + " on " + device + ": " + words_of(status));
}

void check_launch(const char* what, std::int32_t device_index) {
  const Status status = TENON_GPU(GetLastError)();
  if (status != kSuccess) fail(status, what, device_index);
}

void require_stream_of(std::int32_t device_index, Stream stream) {
  if (device_count() < 2) return;
  // Asking takes half as long as a launch. A handle that was given back and made again on another
  // device meanwhile is refused by the runtime itself, in its words.
  struct Seen {
    Stream stream = nullptr;
    std::int32_t device = -1;
  };
  static thread_local Seen seen;
  if (seen.stream == stream && seen.device == device_index) return;
  // A stream that captures must not be asked: that would end the capture.
  auto state = TENON_GPU(StreamCaptureStatusNone);
  check(TENON_GPU(StreamIsCapturing)(stream, &state),
        "asking whether a stream captures",
        device_index);
  if (state != TENON_GPU(StreamCaptureStatusNone)) return;
  int device = -1;
  check(stream_device(stream, &device), "asking for the device of a stream", device_index);
  if (device == device_index) {
    seen = {stream, device_index};
    return;
  }
  throw Failure(
      TENON_INVALID_ARGUMENT,
      "the stream is one of " + name_of(device) + ", and the call is on " + name_of(device_index));
}

Current::Current(std::int32_t device_index) {
  if (device_count() == 1 && device_index == 0) return;  // no other can be current
  check(TENON_GPU(GetDevice)(&before_), "asking for the current device", device_index);
  if (before_ == device_index) return;
  check(TENON_GPU(SetDevice)(device_index), "making the device current", device_index);
  changed_ = true;
}

Current::~Current() {
  if (changed_) static_cast<void>(TENON_GPU(SetDevice)(before_));
}

}  // namespace tenon::gpu
