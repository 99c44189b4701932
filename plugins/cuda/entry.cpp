// The CUDA plugin: owner of device kind `cuda`, and its kernel types.
#include <string>

#include "cublaslt.hpp"
#include "host/device_kind.hpp"
#include "types/all.hpp"

namespace tenon::cuda {

KernelRows cublaslt_kernels();

namespace {

void read_options(Host host) {
  set_cublaslt_path(std::string(host.option<std::string_view>("cublaslt")));
}

}  // namespace
}  // namespace tenon::cuda

TENON_PLUGIN(tenon::plugin("cuda", "0.1.0")
                 .vendor("Tenon")
                 .option("cublaslt", "")
                 .archs(TENON_GPU_ARCHS)
                 .depends("/proc/driver/nvidia/version")
                 .on_init(tenon::cuda::read_options)
                 .devices<tenon::gpu::GpuDevices>()
                 .rows(tenon::gpu::arithmetic_kernels)
                 .rows(tenon::gpu::unary_kernels)
                 .rows(tenon::gpu::cast_kernels)
                 .rows(tenon::gpu::row_kernels)
                 .rows(tenon::gpu::sum_kernels)
                 .rows(tenon::gpu::matmul_kernels)
                 .rows(tenon::cuda::cublaslt_kernels));
