// Launches of the plain matrix product.
#pragma once

#include <cstdint>

#include "device/views.hpp"
#include "host/runtime.hpp"

namespace tenon::gpu {

/// [*batch, m, k] x [*batch, k, n]; strides in elements, rows then columns. Operands of `batch`: a,
/// b, output.
struct Product {
  const void* a = nullptr;
  const void* b = nullptr;
  void* out = nullptr;
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::int64_t a_strides[2] = {};
  std::int64_t b_strides[2] = {};
  std::int64_t out_strides[2] = {};
  Axes<3> batch;
};
void launch_matmul_tiles(Element element, const Product& product, Stream stream);

}  // namespace tenon::gpu
