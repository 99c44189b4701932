/* Stands for libmcruntime in tests: a runtime that has no device. Every function answers as such a
   runtime would, so that a plugin that is linked to it loads and says why it has no device. With it
   come the entries that hipcc, which poses as MetaX's compiler here, calls for kernels. */
#include <stddef.h>

enum { kNoDevice = 100 };

const char* mcGetErrorName(int status) { return status == 0 ? "mcSuccess" : "mcErrorNoDevice"; }
const char* mcGetErrorString(int status) {
  return status == 0 ? "no error" : "no device (this is a stand-in for MetaX's runtime library)";
}
int mcGetDeviceCount(int* count) {
  *count = 0;
  return kNoDevice;
}

#define NO_DEVICE(name) \
  int name(void) { return kNoDevice; }
/* clang-format off */
NO_DEVICE(mcGetLastError)
NO_DEVICE(mcPeekAtLastError)
NO_DEVICE(mcGetDevice)
NO_DEVICE(mcSetDevice)
NO_DEVICE(mcDeviceGetAttribute)
NO_DEVICE(mcGetDeviceProperties)
NO_DEVICE(mcDeviceGetPCIBusId)
NO_DEVICE(mcDeviceSynchronize)
NO_DEVICE(mcDeviceCanAccessPeer)
NO_DEVICE(mcDeviceEnablePeerAccess)
NO_DEVICE(mcMalloc)
NO_DEVICE(mcMallocHost)
NO_DEVICE(mcMallocManaged)
NO_DEVICE(mcFree)
NO_DEVICE(mcFreeHost)
NO_DEVICE(mcMallocFromPoolAsync)
NO_DEVICE(mcFreeAsync)
NO_DEVICE(mcMemPoolCreate)
NO_DEVICE(mcMemPoolSetAttribute)
NO_DEVICE(mcMemcpyAsync)
NO_DEVICE(mcMemcpyPeerAsync)
NO_DEVICE(mcMemsetAsync)
NO_DEVICE(mcMemGetInfo)
NO_DEVICE(mcStreamCreateWithFlags)
NO_DEVICE(mcStreamDestroy)
NO_DEVICE(mcStreamGetDevice)
NO_DEVICE(mcStreamSynchronize)
NO_DEVICE(mcStreamWaitEvent)
NO_DEVICE(mcStreamIsCapturing)
NO_DEVICE(mcStreamBeginCapture)
NO_DEVICE(mcThreadExchangeStreamCaptureMode)
NO_DEVICE(mcStreamEndCapture)
NO_DEVICE(mcGraphInstantiate)
NO_DEVICE(mcGraphDestroy)
NO_DEVICE(mcGraphExecDestroy)
NO_DEVICE(mcGraphLaunch)
NO_DEVICE(mcEventCreateWithFlags)
NO_DEVICE(mcEventDestroy)
NO_DEVICE(mcEventRecord)
NO_DEVICE(mcEventQuery)
NO_DEVICE(mcEventElapsedTime)

/* What the code around a kernel calls when it is loaded and launched. */
NO_DEVICE(hipLaunchKernel)
NO_DEVICE(__hipPushCallConfiguration)
NO_DEVICE(__hipPopCallConfiguration)
/* clang-format on */
void** __hipRegisterFatBinary(const void* image) {
  static void* handle = NULL;
  (void)image;
  return &handle;
}
void __hipRegisterFunction(void) {}
void __hipRegisterVar(void) {}
void __hipUnregisterFatBinary(void) {}
