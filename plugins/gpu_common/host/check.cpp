// From a runtime's status to the plugin's.
#include "host/check.hpp"

#include <array>
#include <atomic>
#include <cstdint>

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
  status = exact(status);
  const char* name = error_name(status);
  const char* text = error_text(status);
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
    case 226:  // contained: like 214, other contexts go on
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
    case 721:  // tensor memory was not given back
    case 810:  // the MPS server ended this client
    case 911:  // a device outside of the GPU failed
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
  status = exact(status);
  const std::string device = name_of(device_index);
  if (status == kOutOfMemory) {
    forget(status);  // it is reported here, and only here
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
  const std::string words = words_of(status);
  forget(status);
  throw Failure(TENON_DEVICE, std::string(what) + " on " + device + ": " + words);
}

void forget(Status status) {
  if (peek_error() == exact(status)) static_cast<void>(take_error());
}

void check_launch(const char* what, std::int32_t device_index, Status pending) {
  const Status status = kSharedRuntime ? peek_error() : take_error();
  if (status == kSuccess) return;
  if (kSharedRuntime && status == pending && !ends_device(status)) return;
  fail(status, what, device_index);
}

bool captures(std::int32_t device_index, Stream stream) {
  auto state = TENON_GPU(StreamCaptureStatusNone);
  check(TENON_GPU(StreamIsCapturing)(stream, &state),
        "asking whether a stream captures",
        device_index);
  return state != TENON_GPU(StreamCaptureStatusNone);
}

int device_of_stream(std::int32_t device_index, Stream stream) {
  int device = -1;
  // Being asked would end a capture.
  if (captures(device_index, stream)) return device;
  check(stream_device(stream, &device), "asking for the device of a stream", device_index);
  return device;
}

namespace {

/// Counts streams that were given back through the plugin.
std::atomic<std::uint64_t> streams_ended{0};

/// False of a stream that captures, of which nothing is known.
bool is_known_of(std::int32_t device_index, Stream stream) {
  const int device = device_of_stream(device_index, stream);
  if (device == -1) return false;
  if (device == device_index) return true;
  throw Failure(
      TENON_INVALID_ARGUMENT,
      "the stream is one of " + name_of(device) + ", and the call is on " + name_of(device_index));
}

}  // namespace

void forget_streams() { streams_ended.fetch_add(1, std::memory_order_relaxed); }

void require_stream_now(std::int32_t device_index, Stream stream) {
  if (device_count() > 1) static_cast<void>(is_known_of(device_index, stream));
}

void require_stream_of(std::int32_t device_index, Stream stream) {
  if (device_count() < 2) return;
  // Asking takes half as long as a launch.
  struct Seen {
    Stream stream = nullptr;
    std::int32_t device = -1;
    std::uint64_t ended = 0;
  };
  static thread_local Seen seen;
  const std::uint64_t ended = streams_ended.load(std::memory_order_relaxed);
  if (seen.stream == stream && seen.device == device_index && seen.ended == ended) return;
  if (is_known_of(device_index, stream)) seen = {stream, device_index, ended};
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
