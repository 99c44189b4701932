// The CPU plugin: owner of device kind `cpu`, and its kernel types.
#include "device/device_kind.hpp"
#include "tenon/plugin.hpp"

namespace tenon::cpu {

// One function per file of kernels/.
KernelRows add_kernels();
KernelRows arithmetic_vector_kernels();
KernelRows attention_kernels();
KernelRows cast_kernels();
KernelRows copy_kernels();
KernelRows copy_runs_kernels();
KernelRows gelu_kernels();
KernelRows gelu_vector_kernels();
KernelRows layer_norm_kernels();
KernelRows layer_norm_rows_kernels();
KernelRows matmul_kernels();
KernelRows matmul_tiles_kernels();
KernelRows mul_kernels();
KernelRows rms_norm_kernels();
KernelRows rms_norm_rows_kernels();
KernelRows softmax_kernels();
KernelRows softmax_rows_kernels();
KernelRows sum_kernels();
KernelRows sum_vector_kernels();

}  // namespace tenon::cpu

TENON_PLUGIN(tenon::plugin("cpu", "0.1.0")
                 .vendor("Tenon")
                 .devices<tenon::cpu::CpuDevices>()
                 .rows(tenon::cpu::add_kernels)
                 .rows(tenon::cpu::arithmetic_vector_kernels)
                 .rows(tenon::cpu::attention_kernels)
                 .rows(tenon::cpu::cast_kernels)
                 .rows(tenon::cpu::copy_kernels)
                 .rows(tenon::cpu::copy_runs_kernels)
                 .rows(tenon::cpu::gelu_kernels)
                 .rows(tenon::cpu::gelu_vector_kernels)
                 .rows(tenon::cpu::layer_norm_kernels)
                 .rows(tenon::cpu::layer_norm_rows_kernels)
                 .rows(tenon::cpu::matmul_kernels)
                 .rows(tenon::cpu::matmul_tiles_kernels)
                 .rows(tenon::cpu::mul_kernels)
                 .rows(tenon::cpu::rms_norm_kernels)
                 .rows(tenon::cpu::rms_norm_rows_kernels)
                 .rows(tenon::cpu::softmax_kernels)
                 .rows(tenon::cpu::softmax_rows_kernels)
                 .rows(tenon::cpu::sum_kernels)
                 .rows(tenon::cpu::sum_vector_kernels));
