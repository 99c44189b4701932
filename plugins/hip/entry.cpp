// The HIP plugin: owner of device kind `hip` (AMD), `hip-nvidia` (HIP over CUDA) or `maca` (MetaX),
// and its kernel types. The vendor's text says what was never run on hardware.
#include "host/device_kind.hpp"
#include "types/all.hpp"

TENON_PLUGIN(tenon::plugin(TENON_GPU_KIND, "0.1.0")
                 .vendor(TENON_GPU_VENDOR)
                 .archs(TENON_GPU_ARCHS)
                 .depends(TENON_GPU_DEPENDS)
                 .devices<tenon::gpu::GpuDevices>()
                 .rows(tenon::gpu::arithmetic_kernels)
                 .rows(tenon::gpu::unary_kernels)
                 .rows(tenon::gpu::cast_kernels)
                 .rows(tenon::gpu::row_kernels)
                 .rows(tenon::gpu::sum_kernels)
                 .rows(tenon::gpu::matmul_kernels));
