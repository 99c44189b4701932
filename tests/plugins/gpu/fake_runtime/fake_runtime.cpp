// The functions of the fake runtime.
#include "fake_runtime/fake_runtime.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "device/test_kernels.hpp"

namespace tenon::fake_runtime {

State& state() {
  static State the_state;
  return the_state;
}

void reset() {
  for (void* memory : state().memory) std::free(memory);
  state() = State();
}

namespace {

constexpr int kInvalidValue = 1;
constexpr int kInvalidHandle = 400;
constexpr int kIllegalState = 401;
constexpr int kCaptureUnsupported = 900;

mcError_t done(mcError_t status) {
  if (state().pending != mcSuccess) status = state().pending;
  if (status != mcSuccess) state().last = status;
  return status;
}
mcError_t done(int status) { return done(code(status)); }

/// Null where the stream was given back.
StreamState* find(mcStream_t stream) {
  const auto found = state().streams.find(stream);
  if (found != state().streams.end()) return &found->second;
  ++state().asked_of_dead_streams;
  return nullptr;
}

mcError_t take_memory(void** out, std::size_t size_bytes) {
  if (size_bytes > (std::size_t{1} << 40U)) return done(mcErrorMemoryAllocation);
  *out = std::malloc(size_bytes);
  state().memory.insert(*out);
  return done(mcSuccess);
}
mcError_t give_memory(void* memory) {
  if (state().memory.erase(memory) == 0) return done(kInvalidValue);
  std::free(memory);
  return done(mcSuccess);
}

}  // namespace

void launch_kernel() {
  if (state().launch != mcSuccess) state().last = state().launch;
  state().launch = mcSuccess;
}

}  // namespace tenon::fake_runtime

namespace tenon::gpu {
void launch_delay(Stream /*stream*/, std::uint64_t /*delay_ns*/, std::uint32_t /*clock_khz*/) {
  fake_runtime::launch_kernel();
}
}  // namespace tenon::gpu

using namespace tenon::fake_runtime;  // NOLINT(google-build-using-namespace)

// NOLINTBEGIN(readability-identifier-naming,readability-inconsistent-declaration-parameter-name)
extern "C" {

const char* mcGetErrorName(mcError_t status) {
  static thread_local std::string name;
  name = "mcError" + std::to_string(static_cast<int>(status));
  return name.c_str();
}
const char* mcGetErrorString(mcError_t status) { return mcGetErrorName(status); }
mcError_t mcGetLastError() {
  const mcError_t last = mcPeekAtLastError();
  state().last = mcSuccess;
  return last;
}
mcError_t mcPeekAtLastError() {
  return state().pending != mcSuccess ? state().pending : state().last;
}
mcError_t mcGetDevice(int* device) {
  *device = state().current;
  return done(mcSuccess);
}
mcError_t mcSetDevice(int device) {
  state().current = device;
  return done(mcSuccess);
}
mcError_t mcGetDeviceCount(int* count) {
  *count = 2;
  return done(mcSuccess);
}
mcError_t mcDeviceGetAttribute(int* value, mcDeviceAttribute_t which, int /*device*/) {
  *value = which == mcDeviceAttributeMemoryPoolsSupported ? (state().pools ? 1 : 0) : 64;
  return done(mcSuccess);
}
mcError_t mcGetDeviceProperties(mcDeviceProp_t* out, int /*device*/) {
  *out = mcDeviceProp_t{};
  std::strcpy(out->name, "fake");
  return done(mcSuccess);
}
mcError_t mcDeviceGetPCIBusId(char* out, int size, int device) {
  std::snprintf(out, static_cast<std::size_t>(size), "0000:%02x:00.0", device);
  return done(mcSuccess);
}
mcError_t mcDeviceSynchronize() {
  for (auto& [stream, it] : state().streams) {
    if (!it.captures) continue;
    it.spoilt = true;
    return done(kCaptureUnsupported);
  }
  return done(mcSuccess);
}
mcError_t mcDeviceCanAccessPeer(int* can, int /*reader*/, int /*owner*/) {
  *can = 1;
  return done(mcSuccess);
}
mcError_t mcDeviceEnablePeerAccess(int /*owner*/, unsigned /*flags*/) { return done(mcSuccess); }
mcError_t mcMalloc(void** out, size_t size_bytes) { return take_memory(out, size_bytes); }
mcError_t mcMallocHost(void** out, size_t size_bytes, unsigned /*flags*/) {
  return take_memory(out, size_bytes);
}
mcError_t mcMallocManaged(void** out, size_t size_bytes, unsigned /*flags*/) {
  return take_memory(out, size_bytes);
}
mcError_t mcFree(void* memory) { return give_memory(memory); }
mcError_t mcFreeHost(void* memory) { return give_memory(memory); }
mcError_t mcMallocFromPoolAsync(void** out,
                                size_t size_bytes,
                                mcMemPool_t /*pool*/,
                                mcStream_t stream) {
  if (find(stream) == nullptr) return done(kInvalidHandle);
  return take_memory(out, size_bytes);
}
mcError_t mcFreeAsync(void* memory, mcStream_t stream) {
  StreamState* const on = find(stream);
  if (on == nullptr) return done(kInvalidHandle);
  if (on->captures) {
    // A graph frees only what it has allocated.
    on->spoilt = true;
    return done(kInvalidValue);
  }
  return give_memory(memory);
}
mcError_t mcMemPoolCreate(mcMemPool_t* out, const mcMemPoolProps* /*properties*/) {
  *out = nullptr;
  return done(mcSuccess);
}
mcError_t mcMemPoolSetAttribute(mcMemPool_t /*pool*/, mcMemPoolAttr /*which*/, void* /*value*/) {
  return done(mcSuccess);
}
mcError_t mcMemcpyAsync(
    void* to, const void* from, size_t size_bytes, mcMemcpyKind /*kind*/, mcStream_t stream) {
  const StreamState* const on = find(stream);
  if (on == nullptr) return done(kInvalidHandle);
  state().copied_on = on->device;
  std::memcpy(to, from, size_bytes);
  return done(mcSuccess);
}
mcError_t mcMemcpyPeerAsync(void* to,
                            int /*to_device*/,
                            const void* from,
                            int /*from_device*/,
                            size_t size_bytes,
                            mcStream_t stream) {
  return mcMemcpyAsync(to, from, size_bytes, mcMemcpyDeviceToDevice, stream);
}
mcError_t mcMemsetAsync(void* to, int value, size_t size_bytes, mcStream_t stream) {
  const StreamState* const on = find(stream);
  if (on == nullptr) return done(kInvalidHandle);
  state().copied_on = on->device;
  std::memset(to, value, size_bytes);
  return done(mcSuccess);
}
mcError_t mcMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  *free_bytes = *total_bytes = 1U << 30U;
  return done(mcSuccess);
}
mcError_t mcStreamCreateWithFlags(mcStream_t* out, unsigned /*flags*/) {
  static std::uintptr_t count = 0;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle, which nobody reads through
  *out = reinterpret_cast<mcStream_t>(++count * 64);
  state().streams[*out] = {state().current, false, false};
  return done(mcSuccess);
}
mcError_t mcStreamDestroy(mcStream_t stream) {
  if (find(stream) == nullptr) return done(kInvalidHandle);
  state().streams.erase(stream);
  return done(mcSuccess);
}
mcError_t mcStreamGetDevice(mcStream_t stream, int* device) {
  StreamState* const asked = find(stream);
  if (asked == nullptr) return done(kInvalidHandle);
  if (asked->captures) asked->spoilt = true;
  *device = asked->device;
  return done(mcSuccess);
}
mcError_t mcStreamSynchronize(mcStream_t stream) {
  StreamState* const asked = find(stream);
  if (asked == nullptr) return done(kInvalidHandle);
  if (!asked->captures) return done(mcSuccess);
  asked->spoilt = true;
  return done(kCaptureUnsupported);
}
mcError_t mcStreamWaitEvent(mcStream_t /*stream*/, mcEvent_t /*event*/, unsigned /*flags*/) {
  return done(mcSuccess);
}
mcError_t mcStreamIsCapturing(mcStream_t stream, mcStreamCaptureStatus* out) {
  const StreamState* const asked = find(stream);
  if (asked == nullptr) return done(kInvalidHandle);
  *out = static_cast<mcStreamCaptureStatus>(asked->captures ? 1 : 0);
  return done(mcSuccess);
}
mcError_t mcStreamBeginCapture(mcStream_t stream, mcStreamCaptureMode /*mode*/) {
  StreamState* const on = find(stream);
  if (on == nullptr) return done(kInvalidHandle);
  if (on->captures) return done(kIllegalState);
  on->captures = true;
  on->spoilt = false;
  return done(mcSuccess);
}
mcError_t mcThreadExchangeStreamCaptureMode(mcStreamCaptureMode* /*mode*/) {
  return done(mcSuccess);
}
mcError_t mcStreamEndCapture(mcStream_t stream, mcGraph_t* out) {
  StreamState* const on = find(stream);
  if (on == nullptr) return done(kInvalidHandle);
  if (!on->captures) return done(kIllegalState);
  on->captures = false;
  *out = nullptr;
  return done(on->spoilt ? code(kCaptureUnsupported + 1) : mcSuccess);
}
mcError_t mcGraphInstantiate(
    mcGraphExec_t* out, mcGraph_t /*graph*/, void* /*node*/, char* /*log*/, size_t /*size*/) {
  *out = nullptr;
  return done(mcSuccess);
}
mcError_t mcGraphDestroy(mcGraph_t /*graph*/) { return done(mcSuccess); }
mcError_t mcGraphExecDestroy(mcGraphExec_t /*graph*/) { return done(mcSuccess); }
mcError_t mcGraphLaunch(mcGraphExec_t /*graph*/, mcStream_t /*stream*/) { return done(mcSuccess); }
mcError_t mcEventCreateWithFlags(mcEvent_t* out, unsigned /*flags*/) {
  *out = nullptr;
  return done(mcSuccess);
}
mcError_t mcEventDestroy(mcEvent_t /*event*/) { return done(mcSuccess); }
mcError_t mcEventRecord(mcEvent_t /*event*/, mcStream_t /*stream*/) { return done(mcSuccess); }
mcError_t mcEventQuery(mcEvent_t /*event*/) { return done(mcErrorNotReady); }
mcError_t mcEventElapsedTime(float* out, mcEvent_t /*start*/, mcEvent_t /*end*/) {
  *out = 1;
  return done(mcSuccess);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming,readability-inconsistent-declaration-parameter-name)
