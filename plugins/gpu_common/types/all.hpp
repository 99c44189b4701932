// The kernel types that every GPU plugin has; one function per file of types/.
#pragma once

#include "tenon/plugin.hpp"

namespace tenon::gpu {

KernelRows arithmetic_kernels();
KernelRows cast_kernels();
KernelRows matmul_kernels();
KernelRows row_kernels();
KernelRows sum_kernels();
KernelRows unary_kernels();

}  // namespace tenon::gpu
