// MatMulFwdOp: the plain product, for any strides.
#include "tenon/contracts/matmul.h"

#include "host/product.hpp"

namespace tenon::gpu {
namespace {

struct MatMulTiles : GpuKernel<contracts::matmul_fwd::Call> {
  static constexpr auto op = "MatMulFwdOp", interface = "matmul_fwd", key = "general";
  static constexpr bool general = true;
  static constexpr auto dtypes = kFloats;
  static constexpr std::uint32_t layouts = kAllLayouts;
  static constexpr ElementType accumulate = kFloat32;
  static constexpr bool sequential_sums = true;

  static void launch(const Launch& launch) {
    const Product product = product_of(launch);
    if (product.batch.count == 0 || product.m == 0 || product.n == 0) return;
    on_device(launch, "launching matmul", [&] {
      launch_matmul_tiles(element_of(launch[2].dtype()), product, stream_of(launch));
    });
  }
};

}  // namespace

KernelRows matmul_kernels() { return kernel_rows<MatMulTiles>(); }

}  // namespace tenon::gpu
