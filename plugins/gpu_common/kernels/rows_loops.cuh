// How row kernels divide rows among threads.
#pragma once

#include <cstdint>

#include "device/element.cuh"
#include "device/lanes.cuh"
#include "device/visit.cuh"
#include "kernels/rows.hpp"

namespace tenon::gpu {

/// A dense row in registers: kVectors vectors of each of blockDim.x threads, as they were loaded.
/// kWholeThreads: 0, or blockDim.x where every thread has all its vectors.
template <class T, int kVectors, int kWholeThreads = 0>
struct RowPart {
  Vector<T> vectors[kVectors];

  /// The place in the row of the thread's vector u.
  __device__ static int place(int u) {
    const int threads = kWholeThreads > 0 ? kWholeThreads : static_cast<int>(blockDim.x);
    return static_cast<int>(threadIdx.x) + u * threads;
  }
  __device__ static bool has(int at, int row_vectors) {
    return kWholeThreads > 0 || at < row_vectors;
  }

  __device__ void load(const T* row, int row_vectors) {
#pragma unroll
    for (int u = 0; u < kVectors; ++u) {
      const int at = place(u);
      if (has(at, row_vectors)) vectors[u] = load_vector(row + at * kPerVector<T>);
    }
  }
  /// Calls visit(its number among the thread's, its number in the row, its values) for every vector
  /// that the thread holds.
  template <class Visit>
  __device__ void each_numbered(int row_vectors, Visit visit) const {
#pragma unroll
    for (int u = 0; u < kVectors; ++u) {
      const int at = place(u);
      if (has(at, row_vectors)) visit(u, at, to_floats<T>(vectors[u]));
    }
  }
  template <class Visit>
  __device__ void each(int row_vectors, Visit visit) const {
    each_numbered(row_vectors, [&](int, int at, const Floats<T>& values) { visit(at, values); });
  }
};

/// The shape of a launch over dense rows.
struct RowShape {
  int threads;  ///< of a row
  int rows;     ///< of a block
  int vectors;  ///< of a thread: 1, 2, 4 or 8
};
inline RowShape row_shape(std::int64_t row_vectors,
                          std::int64_t row_count,
                          std::uint32_t unit_count,
                          std::int64_t vectors_of_many = 4) {
  // Few rows: many threads, so that each row is over soon, yet two vectors for each, because every
  // warp more makes the barriers later. Many rows: as many as the kernel says, mostly four, so that
  // fewer threads wait for each other.
  const std::int64_t per_thread =
      row_count <= 2 * static_cast<std::int64_t>(unit_count) ? 2 : vectors_of_many;
  std::int64_t threads = kGroup;
  while (threads < kMostRowThreads && threads * per_thread < row_vectors) threads *= 2;
  int vectors = 1;
  while (vectors < kMostRowVectors && threads * vectors < row_vectors) vectors *= 2;
  const int rows = threads == kGroup ? 4 : 1;
  return {static_cast<int>(threads), rows, vectors};
}

/// Launches kernel<vectors>(...) over all rows.
template <class T, class Start>
void over_dense_rows(const DenseRows& rows, Start start, std::int64_t vectors_of_many = 4) {
  const std::int64_t row_vectors = rows.n / kPerVector<T>;
  const RowShape shape = row_shape(row_vectors, rows.row_count, rows.unit_count, vectors_of_many);
  const dim3 block(static_cast<unsigned>(shape.threads), static_cast<unsigned>(shape.rows));
  const dim3 grid(static_cast<unsigned>((rows.row_count + shape.rows - 1) / shape.rows));
  start(grid, block, shape.vectors, static_cast<int>(row_vectors));
}

/// Threads of a block that works on one strided row.
inline constexpr int kStridedRowThreads = 512;
inline unsigned strided_row_threads(std::int64_t n) {
  unsigned threads = kGroup;
  while (threads < kStridedRowThreads && threads < n) threads *= 2;
  return threads;
}
/// Blocks over strided rows; each takes several where there are very many.
inline unsigned strided_row_blocks(std::int64_t rows) {
  constexpr std::int64_t kMost = 1 << 20;
  return static_cast<unsigned>(rows < kMost ? rows : kMost);
}

}  // namespace tenon::gpu
