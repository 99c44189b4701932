// cuBLASLt, opened at first use.
#include "cublaslt.hpp"

#include <array>
#include <dlfcn.h>
#include <mutex>

#include "host/check.hpp"
#include "tenon/plugin.hpp"

namespace tenon::cuda {
namespace {

std::string& configured_path() {
  static auto* const kPath = new std::string();  // read until the process ends
  return *kPath;
}

template <class Function>
void find(void* library, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr && missing.empty())
    missing = std::string("the library has no function ") + name;
}

CublasLt open_library() {
  CublasLt lt;
  const std::string file = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  const std::array<std::string, 2> usual{file, "/usr/local/cuda/lib64/" + file};
  void* library = nullptr;
  std::string why;
  if (!configured_path().empty()) {
    library = dlopen(configured_path().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) why = dlerror();
  } else {
    for (const std::string& name : usual) {
      library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr) break;
      if (why.empty()) why = dlerror();
    }
  }
  if (library == nullptr) {
    lt.missing = why;
    return lt;
  }
  find(library, "cublasLtCreate", lt.create, lt.missing);
  find(library, "cublasLtMatmul", lt.matmul, lt.missing);
  find(library, "cublasLtMatmulDescCreate", lt.desc_create, lt.missing);
  find(library, "cublasLtMatmulDescDestroy", lt.desc_destroy, lt.missing);
  find(library, "cublasLtMatmulDescSetAttribute", lt.desc_set, lt.missing);
  find(library, "cublasLtMatrixLayoutCreate", lt.layout_create, lt.missing);
  find(library, "cublasLtMatrixLayoutDestroy", lt.layout_destroy, lt.missing);
  find(library, "cublasLtMatrixLayoutSetAttribute", lt.layout_set, lt.missing);
  find(library, "cublasLtMatmulPreferenceCreate", lt.preference_create, lt.missing);
  find(library, "cublasLtMatmulPreferenceDestroy", lt.preference_destroy, lt.missing);
  find(library, "cublasLtMatmulPreferenceSetAttribute", lt.preference_set, lt.missing);
  find(library, "cublasLtMatmulAlgoGetHeuristic", lt.heuristic, lt.missing);
  find(library, "cublasLtGetStatusString", lt.status_string, lt.missing);
  return lt;
}

}  // namespace

void set_cublaslt_path(std::string path) { configured_path() = std::move(path); }

const CublasLt& cublaslt() {
  static const CublasLt* const kLibrary = new CublasLt(open_library());
  return *kLibrary;
}

void check_cublaslt(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Failure(status == CUBLAS_STATUS_ALLOC_FAILED ? TENON_OUT_OF_MEMORY : TENON_DEVICE,
                std::string(what) + ": cuBLASLt says " + cublaslt().status_string(status));
}

void check_cublaslt(cublasStatus_t status,
                    const char* what,
                    int device_index,
                    cudaStream_t stream) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  // The library has a runtime of its own, so the last error of ours knows nothing of it. The stream
  // does; one that captures must not be asked.
  if (!gpu::captures(device_index, stream)) {
    const cudaError_t earlier = cudaStreamQuery(stream);
    if (earlier == cudaErrorNotReady) {
      gpu::forget(earlier);
    } else {
      gpu::check(earlier, what, device_index);
    }
  }
  check_cublaslt(status, what);
}

cublasLtHandle_t cublaslt_handle(int device_index) {
  constexpr std::size_t kMostDevices = 64;
  static std::mutex mutex;
  static std::array<cublasLtHandle_t, kMostDevices> handles{};
  const std::lock_guard lock(mutex);
  cublasLtHandle_t& handle = handles[static_cast<std::size_t>(device_index) % kMostDevices];
  if (handle == nullptr) {
    const gpu::Current current(device_index);
    check_cublaslt(cublaslt().create(&handle), "starting cuBLASLt");
  }
  return handle;
}

}  // namespace tenon::cuda
