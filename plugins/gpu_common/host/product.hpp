// The matrix product of a launch as kernels take it.
#pragma once

#include "host/arguments.hpp"
#include "kernels/matmul.hpp"

namespace tenon::gpu {

/// Arguments 0, 1 and 2 are [*batch, m, k], [*batch, k, n] and [*batch, m, n].
[[nodiscard]] inline Product product_of(const Launch& launch) {
  const ArgView a = launch[0];
  const ArgView b = launch[1];
  const ArgView out = launch[2];
  const std::size_t batch = out.rank() - 2;
  // Strides of axes of size 1 mean nothing.
  const auto stride = [](const TensorRef& tensor, std::size_t axis) {
    return tensor.size(axis) == 1 ? 0 : tensor.stride(axis);
  };
  Product product;
  product.a = a.data();
  product.b = b.data();
  product.out = out.data();
  product.m = out.size(batch);
  product.n = out.size(batch + 1);
  product.k = a.size(batch + 1);
  for (std::size_t i = 0; i < 2; ++i) {
    product.a_strides[i] = stride(a, batch + i);
    product.b_strides[i] = stride(b, batch + i);
    product.out_strides[i] = stride(out, batch + i);
  }
  product.batch = merged_axes<3>({a, b, out}, 0, batch);
  return product;
}

}  // namespace tenon::gpu
