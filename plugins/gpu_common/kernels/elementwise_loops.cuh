// The two loops of elementwise kernels: over vectors of adjacent elements, and over any strides.
#pragma once

#include <cstdint>

#include "device/element.cuh"
#include "device/offsets.cuh"

namespace tenon::gpu {

inline constexpr int kElementwiseThreads = 256;
/// Vectors of each operand that a thread loads before it uses the first. Of two operands two: with
/// four of each an H200 is a tenth slower.
inline constexpr int kUnaryVectors = 4;
inline constexpr int kBinaryVectors = 2;

/// Each block takes so many vectors for each of its threads. The elements behind the last whole
/// vector are the last block's.
template <class T, class Operation>
__global__ void __launch_bounds__(kElementwiseThreads)
    binary_vector(Operation operation, const T* a, const T* b, T* out, std::int64_t count) {
  constexpr int kPer = kPerVector<T>;
  const std::int64_t vectors = count / kPer;
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * (kElementwiseThreads * kBinaryVectors) + threadIdx.x;
  Vector<T> left[kBinaryVectors];
  Vector<T> right[kBinaryVectors];
#pragma unroll
  for (int u = 0; u < kBinaryVectors; ++u) {
    const std::int64_t at = first + u * kElementwiseThreads;
    if (at < vectors) {
      left[u] = load_vector(a + at * kPer);
      right[u] = load_vector(b + at * kPer);
    }
  }
#pragma unroll
  for (int u = 0; u < kBinaryVectors; ++u) {
    const std::int64_t at = first + u * kElementwiseThreads;
    if (at < vectors) store_vector(out + at * kPer, operation.vector(left[u], right[u]));
  }
  if (blockIdx.x == gridDim.x - 1) {
    const std::int64_t at = vectors * kPer + threadIdx.x;
    if (at < count) out[at] = operation.one(a[at], b[at]);
  }
}

template <class T, class Operation>
__global__ void __launch_bounds__(kElementwiseThreads)
    unary_vector(Operation operation, const T* x, T* out, std::int64_t count) {
  constexpr int kPer = kPerVector<T>;
  const std::int64_t vectors = count / kPer;
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * (kElementwiseThreads * kUnaryVectors) + threadIdx.x;
  Vector<T> in[kUnaryVectors];
#pragma unroll
  for (int u = 0; u < kUnaryVectors; ++u) {
    const std::int64_t at = first + u * kElementwiseThreads;
    if (at < vectors) in[u] = load_vector(x + at * kPer);
  }
#pragma unroll
  for (int u = 0; u < kUnaryVectors; ++u) {
    const std::int64_t at = first + u * kElementwiseThreads;
    if (at < vectors) store_vector(out + at * kPer, operation.vector(in[u]));
  }
  if (blockIdx.x == gridDim.x - 1) {
    const std::int64_t at = vectors * kPer + threadIdx.x;
    if (at < count) out[at] = operation.one(x[at]);
  }
}

template <class T, class Index, class Operation>
__global__ void __launch_bounds__(kElementwiseThreads)
    binary_strided(Operation operation, const T* a, const T* b, T* out, Axes<3> axes) {
  const auto step = static_cast<std::int64_t>(gridDim.x) * kElementwiseThreads;
  for (std::int64_t number =
           static_cast<std::int64_t>(blockIdx.x) * kElementwiseThreads + threadIdx.x;
       number < axes.count;
       number += step) {
    Index at[3];
    offsets_of<Index>(axes, static_cast<Index>(number), at);
    out[at[2]] = operation.one(a[at[0]], b[at[1]]);
  }
}

template <class T, class Index, class Operation>
__global__ void __launch_bounds__(kElementwiseThreads)
    unary_strided(Operation operation, const T* x, T* out, Axes<2> axes) {
  const auto step = static_cast<std::int64_t>(gridDim.x) * kElementwiseThreads;
  for (std::int64_t number =
           static_cast<std::int64_t>(blockIdx.x) * kElementwiseThreads + threadIdx.x;
       number < axes.count;
       number += step) {
    Index at[2];
    offsets_of<Index>(axes, static_cast<Index>(number), at);
    out[at[1]] = operation.one(x[at[0]]);
  }
}

/// Blocks of the vector loops.
template <class T, int kVectors>
unsigned vector_blocks(std::int64_t count) {
  constexpr std::int64_t kPerBlock =
      static_cast<std::int64_t>(kElementwiseThreads) * kVectors * kPerVector<T>;
  return static_cast<unsigned>(count / kPerBlock + 1);
}

/// Blocks of the strided loops: enough to fill any device, few enough that each takes several.
inline unsigned strided_blocks(std::int64_t count) {
  constexpr std::int64_t kMost = 1 << 16;
  const std::int64_t wanted = (count + kElementwiseThreads - 1) / kElementwiseThreads;
  return static_cast<unsigned>(wanted < kMost ? wanted : kMost);
}

}  // namespace tenon::gpu
