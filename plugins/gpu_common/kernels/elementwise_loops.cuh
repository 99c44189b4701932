// The two loops of elementwise kernels, over vectors of adjacent elements and over any strides, and
// the kernels that are made of them.
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

/// Elements that lie adjacent, kPer of them in one access. Each block takes kVectors accesses for
/// each of its threads: load(u, first element) for all of a thread's, then store(u, first element).
/// The elements behind the last whole access are the last block's: one(element).
template <int kPer, int kVectors, class Load, class Store, class One>
__device__ inline void over_vectors(std::int64_t count, Load load, Store store, One one) {
  const std::int64_t vectors = count / kPer;
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * (kElementwiseThreads * kVectors) + threadIdx.x;
#pragma unroll
  for (int u = 0; u < kVectors; ++u) {
    const std::int64_t at = first + u * kElementwiseThreads;
    if (at < vectors) load(u, at * kPer);
  }
#pragma unroll
  for (int u = 0; u < kVectors; ++u) {
    const std::int64_t at = first + u * kElementwiseThreads;
    if (at < vectors) store(u, at * kPer);
  }
  if (blockIdx.x == gridDim.x - 1) {
    const std::int64_t at = vectors * kPer + threadIdx.x;
    if (at < count) one(at);
  }
}

/// Elements of any strides: visit(offsets in each operand) for every one of the thread's.
template <class Index, int kOperands, class Visit>
__device__ inline void over_strided(const Axes<kOperands>& axes, Visit visit) {
  const auto step = static_cast<std::int64_t>(gridDim.x) * kElementwiseThreads;
  for (std::int64_t number =
           static_cast<std::int64_t>(blockIdx.x) * kElementwiseThreads + threadIdx.x;
       number < axes.count;
       number += step) {
    Index at[kOperands];
    offsets_of<Index>(axes, static_cast<Index>(number), at);
    visit(at);
  }
}

template <class T, class Operation>
__global__ void __launch_bounds__(kElementwiseThreads)
    binary_vector(Operation operation, const T* a, const T* b, T* out, std::int64_t count) {
  Vector<T> left[kBinaryVectors];
  Vector<T> right[kBinaryVectors];
  over_vectors<kPerVector<T>, kBinaryVectors>(
      count,
      [&](int u, std::int64_t at) {
        left[u] = load_vector(a + at);
        right[u] = load_vector(b + at);
      },
      [&](int u, std::int64_t at) { store_vector(out + at, operation.vector(left[u], right[u])); },
      [&](std::int64_t at) { out[at] = operation.one(a[at], b[at]); });
}

template <class T, class Operation>
__global__ void __launch_bounds__(kElementwiseThreads)
    unary_vector(Operation operation, const T* x, T* out, std::int64_t count) {
  Vector<T> in[kUnaryVectors];
  over_vectors<kPerVector<T>, kUnaryVectors>(
      count,
      [&](int u, std::int64_t at) { in[u] = load_vector(x + at); },
      [&](int u, std::int64_t at) { store_vector(out + at, operation.vector(in[u])); },
      [&](std::int64_t at) { out[at] = operation.one(x[at]); });
}

template <class T, class Index, class Operation>
__global__ void __launch_bounds__(kElementwiseThreads)
    binary_strided(Operation operation, const T* a, const T* b, T* out, Axes<3> axes) {
  over_strided<Index>(axes,
                      [&](const Index(&at)[3]) { out[at[2]] = operation.one(a[at[0]], b[at[1]]); });
}

template <class T, class Index, class Operation>
__global__ void __launch_bounds__(kElementwiseThreads)
    unary_strided(Operation operation, const T* x, T* out, Axes<2> axes) {
  over_strided<Index>(axes, [&](const Index(&at)[2]) { out[at[1]] = operation.one(x[at[0]]); });
}

/// Blocks of over_vectors().
template <int kPer, int kVectors>
unsigned vector_blocks(std::int64_t count) {
  constexpr std::int64_t kPerBlock =
      static_cast<std::int64_t>(kElementwiseThreads) * kVectors * kPer;
  return static_cast<unsigned>(count / kPerBlock + 1);
}

/// Blocks of the strided loops: enough to fill any device, few enough that each takes several.
inline unsigned strided_blocks(std::int64_t count) {
  constexpr std::int64_t kMost = 1 << 16;
  const std::int64_t wanted = (count + kElementwiseThreads - 1) / kElementwiseThreads;
  return static_cast<unsigned>(wanted < kMost ? wanted : kMost);
}

}  // namespace tenon::gpu
