// Included ahead of HIP 5.2's headers for NVIDIA (nvcc -include), so that they compile with CUDA
// 13, which dropped and retyped what they call. Nothing of it is called by the plugin.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>
#include <cuda_runtime_api.h>

// NOLINTBEGIN: spells names that are not ours.

// Functions whose arguments changed, under their old arguments.
static inline cudaMemLocation tenon_memory_location(int device) {
  cudaMemLocation location{};
  location.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  location.id = device == cudaCpuDeviceId ? 0 : device;
  return location;
}
static inline cudaError_t cudaMemAdvise(const void* memory,
                                        size_t size_bytes,
                                        cudaMemoryAdvise advice,
                                        int device) {
  return cudaMemAdvise(memory, size_bytes, advice, tenon_memory_location(device));
}
static inline cudaError_t cudaMemPrefetchAsync(const void* memory,
                                               size_t size_bytes,
                                               int device,
                                               cudaStream_t stream) {
  return cudaMemPrefetchAsync(memory, size_bytes, tenon_memory_location(device), 0U, stream);
}
static inline CUresult tenon_context_create(CUcontext* out, unsigned flags, CUdevice device) {
  return cuCtxCreate_v4(out, nullptr, flags, device);
}
#undef cuCtxCreate
#define cuCtxCreate tenon_context_create
static inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph,
                                                   const cudaGraphNode_t* from,
                                                   const cudaGraphNode_t* to,
                                                   size_t count) {
  return cudaGraphAddDependencies(graph, from, to, nullptr, count);
}
static inline cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph,
                                                      const cudaGraphNode_t* from,
                                                      const cudaGraphNode_t* to,
                                                      size_t count) {
  return cudaGraphRemoveDependencies(graph, from, to, nullptr, count);
}
static inline cudaError_t cudaGraphGetEdges(cudaGraph_t graph,
                                            cudaGraphNode_t* from,
                                            cudaGraphNode_t* to,
                                            size_t* count) {
  return cudaGraphGetEdges(graph, from, to, nullptr, count);
}
static inline cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node,
                                                       cudaGraphNode_t* nodes,
                                                       size_t* count) {
  return cudaGraphNodeGetDependencies(node, nodes, nullptr, count);
}
static inline cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node,
                                                         cudaGraphNode_t* nodes,
                                                         size_t* count) {
  return cudaGraphNodeGetDependentNodes(node, nodes, nullptr, count);
}
static inline cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream,
                                                      cudaStreamCaptureStatus* status,
                                                      unsigned long long* id,
                                                      cudaGraph_t* graph,
                                                      const cudaGraphNode_t** nodes,
                                                      size_t* count) {
  return cudaStreamGetCaptureInfo(stream, status, id, graph, nodes, nullptr, count);
}
static inline cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
                                                              cudaGraphNode_t* nodes,
                                                              size_t count,
                                                              unsigned flags) {
  return cudaStreamUpdateCaptureDependencies(stream, nodes, nullptr, count, flags);
}

// What is gone for good: texture references and launches on several devices.
#define cudaDevAttrCooperativeMultiDeviceLaunch static_cast<cudaDeviceAttr>(96)
template <class T, int dim, enum cudaTextureReadMode mode>
struct texture {};
struct textureReference;
#define TENON_GONE(function)                           \
  template <class... Arguments>                        \
  static inline cudaError_t function(Arguments&&...) { \
    return cudaErrorNotSupported;                      \
  }
TENON_GONE(cudaBindTexture)
TENON_GONE(cudaBindTexture2D)
TENON_GONE(cudaUnbindTexture)
TENON_GONE(cudaBindTextureToArray)
TENON_GONE(cudaGetTextureAlignmentOffset)
TENON_GONE(cudaLaunchCooperativeKernelMultiDevice)

// Members of the properties that are attributes now.
struct tenon_device_properties : cudaDeviceProp {
  int clockRate = 0;
  int memoryClockRate = 0;
  int computeMode = 0;
  int cooperativeMultiDeviceLaunch = 0;
  int kernelExecTimeoutEnabled = 0;
};
static inline cudaError_t tenon_get_device_properties(tenon_device_properties* out, int device) {
  *out = tenon_device_properties{};
  const cudaError_t status = cudaGetDeviceProperties(static_cast<cudaDeviceProp*>(out), device);
  if (status != cudaSuccess) return status;
  (void)cudaDeviceGetAttribute(&out->clockRate, cudaDevAttrClockRate, device);
  (void)cudaDeviceGetAttribute(&out->memoryClockRate, cudaDevAttrMemoryClockRate, device);
  (void)cudaDeviceGetAttribute(&out->computeMode, cudaDevAttrComputeMode, device);
  (void)cudaDeviceGetAttribute(
      &out->kernelExecTimeoutEnabled, cudaDevAttrKernelExecTimeout, device);
  return cudaSuccess;
}
#define cudaDeviceProp tenon_device_properties
#define cudaGetDeviceProperties tenon_get_device_properties

// NOLINTEND
