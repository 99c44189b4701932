// A compile check, not MetaX's SDK: declares what the GPU plugins call of a runtime under MACA's
// names, as far as they are known from its documentation and from HIP, which it follows. It shows
// that the shared host code compiles with the third set of names, and nothing else.
#pragma once

#include <cstddef>

// NOLINTBEGIN: spells names that are not ours.
extern "C" {

enum mcError_t { mcSuccess = 0, mcErrorMemoryAllocation = 2, mcErrorNotReady = 600 };
typedef struct ihipStream_t* mcStream_t;  // HIP's, which the stand-in compiler launches on
typedef struct mcEvent* mcEvent_t;
typedef struct mcGraph* mcGraph_t;
typedef struct mcGraphExec* mcGraphExec_t;
typedef struct mcMemPool* mcMemPool_t;

enum mcDeviceAttribute_t {
  mcDeviceAttributeMultiProcessorCount,
  mcDeviceAttributeMaxSharedMemoryPerBlock,
  mcDeviceAttributeMaxSharedMemoryPerMultiProcessor,
  mcDeviceAttributeMemoryPoolsSupported,
  mcDeviceAttributeClockRate
};
enum mcMemcpyKind {
  mcMemcpyHostToDevice = 1,
  mcMemcpyDeviceToHost = 2,
  mcMemcpyDeviceToDevice = 3
};
enum mcMemAllocationType { mcMemAllocationTypePinned = 1 };
enum mcMemLocationType { mcMemLocationTypeDevice = 1 };
enum mcMemPoolAttr { mcMemPoolAttrReleaseThreshold = 4 };
enum mcStreamCaptureStatus { mcStreamCaptureStatusNone = 0 };
enum mcStreamCaptureMode { mcStreamCaptureModeThreadLocal = 1, mcStreamCaptureModeRelaxed = 2 };
enum { mcStreamNonBlocking = 1, mcEventDefault = 0, mcMemAttachGlobal = 1 };

struct mcDeviceProp_t {
  char name[256];
  size_t totalGlobalMem;
  int warpSize;
  int major;
  int minor;
};
struct mcMemPoolProps {
  mcMemAllocationType allocType;
  struct {
    mcMemLocationType type;
    int id;
  } location;
};

const char* mcGetErrorName(mcError_t);
const char* mcGetErrorString(mcError_t);
mcError_t mcGetLastError();
mcError_t mcPeekAtLastError();
mcError_t mcGetDevice(int*);
mcError_t mcSetDevice(int);
mcError_t mcGetDeviceCount(int*);
mcError_t mcDeviceGetAttribute(int*, mcDeviceAttribute_t, int);
mcError_t mcGetDeviceProperties(mcDeviceProp_t*, int);
mcError_t mcDeviceGetPCIBusId(char*, int, int);
mcError_t mcDeviceSynchronize();
mcError_t mcDeviceCanAccessPeer(int*, int, int);
mcError_t mcDeviceEnablePeerAccess(int, unsigned);
mcError_t mcMalloc(void**, size_t);
mcError_t mcMallocHost(void**, size_t, unsigned);
mcError_t mcMallocManaged(void**, size_t, unsigned);
mcError_t mcFree(void*);
mcError_t mcFreeHost(void*);
mcError_t mcMallocFromPoolAsync(void**, size_t, mcMemPool_t, mcStream_t);
mcError_t mcFreeAsync(void*, mcStream_t);
mcError_t mcMemPoolCreate(mcMemPool_t*, const mcMemPoolProps*);
mcError_t mcMemPoolSetAttribute(mcMemPool_t, mcMemPoolAttr, void*);
mcError_t mcMemcpyAsync(void*, const void*, size_t, mcMemcpyKind, mcStream_t);
mcError_t mcMemcpyPeerAsync(void*, int, const void*, int, size_t, mcStream_t);
mcError_t mcMemsetAsync(void*, int, size_t, mcStream_t);
mcError_t mcMemGetInfo(size_t*, size_t*);
mcError_t mcStreamCreateWithFlags(mcStream_t*, unsigned);
mcError_t mcStreamDestroy(mcStream_t);
mcError_t mcStreamGetDevice(mcStream_t, int*);
mcError_t mcStreamSynchronize(mcStream_t);
mcError_t mcStreamWaitEvent(mcStream_t, mcEvent_t, unsigned);
mcError_t mcStreamIsCapturing(mcStream_t, mcStreamCaptureStatus*);
mcError_t mcStreamBeginCapture(mcStream_t, mcStreamCaptureMode);
mcError_t mcThreadExchangeStreamCaptureMode(mcStreamCaptureMode*);
mcError_t mcStreamEndCapture(mcStream_t, mcGraph_t*);
mcError_t mcGraphInstantiate(mcGraphExec_t*, mcGraph_t, void*, char*, size_t);
mcError_t mcGraphDestroy(mcGraph_t);
mcError_t mcGraphExecDestroy(mcGraphExec_t);
mcError_t mcGraphLaunch(mcGraphExec_t, mcStream_t);
mcError_t mcEventCreateWithFlags(mcEvent_t*, unsigned);
mcError_t mcEventDestroy(mcEvent_t);
mcError_t mcEventRecord(mcEvent_t, mcStream_t);
mcError_t mcEventQuery(mcEvent_t);
mcError_t mcEventElapsedTime(float*, mcEvent_t, mcEvent_t);

}  // extern "C"
// NOLINTEND
