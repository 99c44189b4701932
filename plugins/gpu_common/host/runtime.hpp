// The one place that spells a GPU runtime's names: cuda*, hip* or mc*, chosen by TENON_GPU_CUDA,
// TENON_GPU_HIP or TENON_GPU_MACA. Everything else says TENON_GPU(Malloc) and the aliases below.
#pragma once

#include <cstddef>

#if defined(TENON_GPU_CUDA)
#if defined(__CUDACC__)
#include <cuda_runtime.h>
#else
#include <cuda_runtime_api.h>
#endif
#define TENON_GPU(name) cuda##name
#elif defined(TENON_GPU_HIP)
#if defined(__CUDACC__) || defined(__HIP__) || defined(__HIPCC__)
#include <hip/hip_runtime.h>
#else
#include <hip/hip_runtime_api.h>
#endif
#define TENON_GPU(name) hip##name
#elif defined(TENON_GPU_MACA)
#include <mcr/mc_runtime.h>
#define TENON_GPU(name) mc##name
#else
#error "define TENON_GPU_CUDA, TENON_GPU_HIP or TENON_GPU_MACA"
#endif

// Devices that run NVIDIA's code, through CUDA or through HIP.
#if defined(TENON_GPU_CUDA) || (defined(TENON_GPU_HIP) && defined(__HIP_PLATFORM_NVIDIA__))
#define TENON_GPU_IS_NVIDIA 1
#else
#define TENON_GPU_IS_NVIDIA 0
#endif

// In device code for NVIDIA's hardware its compute capability (900), else 0: whether PTX can be
// written. MetaX's cu-bridge defines __CUDA_ARCH__ as well, and takes none.
#if defined(__CUDA_ARCH__) && TENON_GPU_IS_NVIDIA
#define TENON_GPU_PTX __CUDA_ARCH__
#else
#define TENON_GPU_PTX 0
#endif

namespace tenon::gpu {

using Status = TENON_GPU(Error_t);
using Stream = TENON_GPU(Stream_t);
using Event = TENON_GPU(Event_t);
using Graph = TENON_GPU(Graph_t);
using GraphExec = TENON_GPU(GraphExec_t);
using MemPool = TENON_GPU(MemPool_t);

inline constexpr Status kSuccess = TENON_GPU(Success);
inline constexpr Status kOutOfMemory = TENON_GPU(ErrorMemoryAllocation);
inline constexpr Status kNotReady = TENON_GPU(ErrorNotReady);

// What the runtimes spell differently beyond the prefix.
#if defined(TENON_GPU_CUDA)
using Properties = cudaDeviceProp;
using MemPoolProperties = cudaMemPoolProps;
inline constexpr auto kPinnedAllocation = cudaMemAllocationTypePinned;
inline constexpr auto kDeviceLocation = cudaMemLocationTypeDevice;
inline constexpr auto kReleaseThreshold = cudaMemPoolAttrReleaseThreshold;
inline constexpr auto kUnits = cudaDevAttrMultiProcessorCount;
inline constexpr auto kSharedPerBlock = cudaDevAttrMaxSharedMemoryPerBlockOptin;
inline constexpr auto kSharedPerUnit = cudaDevAttrMaxSharedMemoryPerMultiprocessor;
inline constexpr auto kHasMemPools = cudaDevAttrMemoryPoolsSupported;
inline constexpr auto kClockRate = cudaDevAttrClockRate;  // kHz
inline Status host_alloc(void** out, std::size_t size_bytes) {
  return cudaHostAlloc(out, size_bytes, cudaHostAllocPortable);
}
inline Status host_free(void* memory) { return cudaFreeHost(memory); }
inline Status graph_instantiate(GraphExec* out, Graph graph) {
  return cudaGraphInstantiate(out, graph, 0);
}
#elif defined(TENON_GPU_HIP)
using Properties = hipDeviceProp_t;
using MemPoolProperties = hipMemPoolProps;
#if TENON_GPU_IS_NVIDIA  // HIP's headers for NVIDIA leave these names as CUDA has them
inline constexpr auto kPinnedAllocation = cudaMemAllocationTypePinned;
inline constexpr auto kDeviceLocation = cudaMemLocationTypeDevice;
inline constexpr auto kReleaseThreshold = cudaMemPoolAttrReleaseThreshold;
#else
inline constexpr auto kPinnedAllocation = hipMemAllocationTypePinned;
inline constexpr auto kDeviceLocation = hipMemLocationTypeDevice;
inline constexpr auto kReleaseThreshold = hipMemPoolAttrReleaseThreshold;
#endif
inline constexpr auto kUnits = hipDeviceAttributeMultiprocessorCount;
inline constexpr auto kSharedPerBlock = hipDeviceAttributeMaxSharedMemoryPerBlock;
inline constexpr auto kSharedPerUnit = hipDeviceAttributeMaxSharedMemoryPerMultiprocessor;
inline constexpr auto kHasMemPools = hipDeviceAttributeMemoryPoolsSupported;
inline constexpr auto kClockRate = hipDeviceAttributeClockRate;  // kHz
inline Status host_alloc(void** out, std::size_t size_bytes) {
  return hipHostMalloc(out, size_bytes, hipHostMallocPortable);
}
inline Status host_free(void* memory) { return hipHostFree(memory); }
#if !TENON_GPU_IS_NVIDIA
inline Status graph_instantiate(GraphExec* out, Graph graph) {
  return hipGraphInstantiate(out, graph, nullptr, nullptr, 0);
}
#elif defined(__CUDACC__)  // HIP's headers for NVIDIA have graphs for nvcc alone
inline Status graph_instantiate(GraphExec* out, Graph graph) {
  return hipGraphInstantiateWithFlags(out, graph, 0);
}
#endif
#elif defined(TENON_GPU_MACA)
using Properties = mcDeviceProp_t;
using MemPoolProperties = mcMemPoolProps;
inline constexpr auto kPinnedAllocation = mcMemAllocationTypePinned;
inline constexpr auto kDeviceLocation = mcMemLocationTypeDevice;
inline constexpr auto kReleaseThreshold = mcMemPoolAttrReleaseThreshold;
inline constexpr auto kUnits = mcDeviceAttributeMultiProcessorCount;
inline constexpr auto kSharedPerBlock = mcDeviceAttributeMaxSharedMemoryPerBlock;
inline constexpr auto kSharedPerUnit = mcDeviceAttributeMaxSharedMemoryPerMultiProcessor;
inline constexpr auto kHasMemPools = mcDeviceAttributeMemoryPoolsSupported;
inline constexpr auto kClockRate = mcDeviceAttributeClockRate;  // kHz
inline Status host_alloc(void** out, std::size_t size_bytes) {
  return mcMallocHost(out, size_bytes, 0);
}
inline Status host_free(void* memory) { return mcFreeHost(memory); }
inline Status graph_instantiate(GraphExec* out, Graph graph) {
  return mcGraphInstantiate(out, graph, nullptr, nullptr, 0);
}
#endif

/// Whether the application's calls and the plugin's reach one library, and so one last error.
/// CUDA's is linked into the plugin.
inline constexpr bool kSharedRuntime = TENON_GPU_IS_NVIDIA == 0;

// Of errors. HIP's headers for NVIDIA make "unknown error" of each that they do not list; the
// numbers are the same.
#if TENON_GPU_IS_NVIDIA && defined(TENON_GPU_HIP)
inline Status peek_error() { return static_cast<Status>(cudaPeekAtLastError()); }
inline Status take_error() { return static_cast<Status>(cudaGetLastError()); }
inline const char* error_name(Status status) {
  return cudaGetErrorName(static_cast<cudaError_t>(status));
}
inline const char* error_text(Status status) {
  return cudaGetErrorString(static_cast<cudaError_t>(status));
}
/// What the driver said where a call that has just returned says "unknown error".
inline Status exact(Status status) {
  const Status last = status == hipErrorUnknown ? peek_error() : kSuccess;
  return last == kSuccess ? status : last;
}
#else
inline Status peek_error() { return TENON_GPU(PeekAtLastError)(); }
inline Status take_error() { return TENON_GPU(GetLastError)(); }
inline const char* error_name(Status status) { return TENON_GPU(GetErrorName)(status); }
inline const char* error_text(Status status) { return TENON_GPU(GetErrorString)(status); }
inline Status exact(Status status) { return status; }
#endif

#if TENON_GPU_IS_NVIDIA
using CaptureMode = cudaStreamCaptureMode;
#else
using CaptureMode = TENON_GPU(StreamCaptureMode);
#endif
/// Sets what this thread may do while a stream captures, and *mode to what was set before.
inline Status swap_capture_mode(CaptureMode* mode) {
#if TENON_GPU_IS_NVIDIA  // HIP's headers for NVIDIA have no name for it
  return static_cast<Status>(cudaThreadExchangeStreamCaptureMode(mode));
#else
  return TENON_GPU(ThreadExchangeStreamCaptureMode)(mode);
#endif
}

/// Sets *device to the device that the stream belongs to.
inline Status stream_device(Stream stream, int* device) {
#if TENON_GPU_IS_NVIDIA
  return static_cast<Status>(cudaStreamGetDevice(stream, device));
#elif defined(TENON_GPU_HIP)
  *device = hipGetStreamDeviceId(stream);
  return kSuccess;
#else
  return mcStreamGetDevice(stream, device);
#endif
}

}  // namespace tenon::gpu
