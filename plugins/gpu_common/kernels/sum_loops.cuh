// The kernel of sums along rows, without its launch.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/element.cuh"
#include "device/lanes.cuh"

namespace tenon::gpu {

/// What sums of T are made in: float, or 64 bits that wrap around.
template <class T>
using Accumulator = std::conditional_t<std::is_integral_v<T>, unsigned long long, float>;

template <class T>
__device__ inline Accumulator<T> term_of(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<unsigned long long>(static_cast<long long>(value));
  } else {
    return as_float(value);
  }
}
template <class T>
__device__ inline T result_of(Accumulator<T> sum) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(sum);
  } else {
    return nearest<T>(sum);
  }
}

inline constexpr int kSumThreads = 512;
/// Calls add(load(at)) for at, at + step, ... below last, kUnroll loads at a time.
template <int kUnroll, class Item, class Load, class AddItem>
__device__ inline void over_terms(
    std::int64_t at, std::int64_t last, std::int64_t step, Load load, AddItem add) {
  for (; at + (kUnroll - 1) * step < last; at += kUnroll * step) {
    Item items[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) items[u] = load(at + u * step);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) add(items[u]);
  }
  for (; at < last; at += step) add(load(at));
}

/// blockDim.x threads along a part of a row, threadIdx.y the row in the block, blockIdx.y the part.
/// `partial` null: the sum is whole.
/// kWhole: rows of whole vectors, which begin at one; else the first part also takes the up to two
/// ends of the row that are none, n the elements of a row.
template <class T, bool kWhole>
__global__ void __launch_bounds__(kSumThreads) sum_rows(const T* x,
                                                        T* out,
                                                        Accumulator<T>* partial,
                                                        std::int64_t row_count,
                                                        std::int64_t row_stride,
                                                        std::int64_t out_stride,
                                                        std::int64_t row_vectors,
                                                        std::int64_t part_vectors,
                                                        std::int64_t n) {
  constexpr int kPer = kPerVector<T>;
  constexpr int kUnroll = 4;
  __shared__ Accumulator<T> scratch[4 * kGroup];
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  Accumulator<T> lanes[kPer];
#pragma unroll
  for (int i = 0; i < kPer; ++i) lanes[i] = 0;
  if (row < row_count) {
    const T* from = x + row * row_stride;
    if constexpr (!kWhole) {
      // Fewer elements than threads on either side.
      const auto beyond = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) % kVectorBytes);
      std::int64_t head = beyond == 0 ? 0 : (kVectorBytes - beyond) / static_cast<int>(sizeof(T));
      if (head > n) head = n;
      row_vectors = (n - head) / kPer;
      const std::int64_t tail = head + row_vectors * kPer + threadIdx.x;
      if (blockIdx.y == 0 && threadIdx.x < head) lanes[0] += term_of(from[threadIdx.x]);
      if (blockIdx.y == 0 && tail < n) lanes[0] += term_of(from[tail]);
      from += head;
    }
    const std::int64_t first = blockIdx.y * part_vectors;
    const std::int64_t last =
        first + part_vectors < row_vectors ? first + part_vectors : row_vectors;
    over_terms<kUnroll, Vector<T>>(
        first + threadIdx.x,
        last,
        blockDim.x,
        [&](std::int64_t at) { return load_vector(from + at * kPer); },
        [&](const Vector<T>& vector) {
#pragma unroll
          for (int i = 0; i < kPer; ++i) lanes[i] += term_of(vector.items[i]);
        });
  }
  Accumulator<T> sum = 0;
#pragma unroll
  for (int i = 0; i < kPer; ++i) sum += lanes[i];
  sum = reduce_row<true>(sum, Add{}, Accumulator<T>{0}, scratch);
  if (threadIdx.x != 0 || row >= row_count) return;
  if (partial != nullptr) {
    partial[blockIdx.y * row_count + row] = sum;
  } else {
    out[row * out_stride] = result_of<T>(sum);
  }
}

}  // namespace tenon::gpu
