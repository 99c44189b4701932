// Sums: along dense rows, across adjacent columns, and over any strides. Where there are few sums
// of many terms, each is made in parts, whose sums lie in the workspace until a second kernel adds
// them.
#include <algorithm>
#include <type_traits>

#include "device/element.cuh"
#include "device/lanes.cuh"
#include "device/offsets.cuh"
#include "device/visit.cuh"
#include "kernels/sum.hpp"
#include "kernels/sum_loops.cuh"

namespace tenon::gpu {
namespace {

constexpr std::int64_t kMostParts = 1024;

/// Parts of each sum along rows: enough to fill the device, each with 8 Ki terms at least.
std::int64_t row_parts(std::int64_t kept, std::int64_t n, std::uint32_t units) {
  if (kept >= static_cast<std::int64_t>(units) || kept == 0) return 1;
  const std::int64_t wanted = (4 * static_cast<std::int64_t>(units) + kept - 1) / kept;
  return std::clamp<std::int64_t>(std::min(wanted, n / 8192), 1, kMostParts);
}

/// Columns that a block of the column kernel takes: kLanes vectors of `width` elements.
constexpr int kColumnLanes = 4;
std::int64_t column_parts(std::int64_t kept, std::int64_t n, int width, std::uint32_t units) {
  const std::int64_t blocks = (kept + kColumnLanes * width - 1) / (kColumnLanes * width);
  if (blocks * 2 >= static_cast<std::int64_t>(units) || kept == 0) return 1;
  const std::int64_t wanted = (2 * static_cast<std::int64_t>(units) + blocks - 1) / blocks;
  return std::clamp<std::int64_t>(std::min(wanted, n / 512), 1, kMostParts);
}

template <class T, int kWidth>
struct alignas(sizeof(T) * kWidth) Columns {
  T items[kWidth];
};

/// kColumnLanes lanes of kWidth adjacent columns each; the other threads of the block are as many
/// rows. blockIdx.y is the part, blockIdx.z the index of an outer kept axis.
template <class T, int kWidth>
__global__ void __launch_bounds__(kSumThreads) sum_columns(const T* x,
                                                           T* out,
                                                           Accumulator<T>* partial,
                                                           std::int64_t columns,
                                                           std::int64_t outer_stride,
                                                           std::int64_t out_outer_stride,
                                                           std::int64_t out_stride,
                                                           std::int64_t n,
                                                           std::int64_t n_stride,
                                                           std::int64_t part_terms) {
  constexpr int kRows = kSumThreads / kColumnLanes;
  constexpr int kGroups = kSumThreads / kGroup;
  constexpr int kUnroll = 8;
  __shared__ Accumulator<T> scratch[kGroups][kColumnLanes * kWidth];
  const int lane = static_cast<int>(threadIdx.x) % kColumnLanes;
  const int first_row = static_cast<int>(threadIdx.x) / kColumnLanes;
  const std::int64_t block_column = static_cast<std::int64_t>(blockIdx.x) * (kColumnLanes * kWidth);
  const std::int64_t column = block_column + lane * kWidth;
  Accumulator<T> sums[kWidth];
#pragma unroll
  for (int i = 0; i < kWidth; ++i) sums[i] = 0;
  if (column < columns) {
    const T* from = x + blockIdx.z * outer_stride + column;
    const std::int64_t begin = blockIdx.y * part_terms;
    const std::int64_t end = begin + part_terms < n ? begin + part_terms : n;
    using Read = Columns<T, kWidth>;
    over_terms<kUnroll, Read>(
        begin + first_row,
        end,
        kRows,
        [&](std::int64_t at) { return *reinterpret_cast<const Read*>(from + at * n_stride); },
        [&](const Read& read) {
#pragma unroll
          for (int i = 0; i < kWidth; ++i) sums[i] += term_of(read.items[i]);
        });
  }
  // Threads of a group that share a lane lie kColumnLanes apart.
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
#pragma unroll
    for (int mask = kGroup / 2; mask >= kColumnLanes; mask /= 2) sums[i] += exchange(sums[i], mask);
  }
  const int in_group = static_cast<int>(threadIdx.x) % kGroup;
  if (in_group < kColumnLanes) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) scratch[threadIdx.x / kGroup][lane * kWidth + i] = sums[i];
  }
  __syncthreads();
  const std::int64_t mine = block_column + threadIdx.x;
  if (threadIdx.x >= kColumnLanes * kWidth || mine >= columns) return;
  Accumulator<T> sum = 0;
#pragma unroll
  for (int group = 0; group < kGroups; ++group) sum += scratch[group][threadIdx.x];
  if (partial != nullptr) {
    partial[blockIdx.y * (gridDim.z * columns) + blockIdx.z * columns + mine] = sum;
  } else {
    out[blockIdx.z * out_outer_stride + mine * out_stride] = result_of<T>(sum);
  }
}

/// One block for each sum, or for several in turn.
template <class T>
__global__ void __launch_bounds__(kSumThreads)
    sum_strided(const T* x, T* out, Axes<2> kept, Axes<1> summed) {
  __shared__ Accumulator<T> scratch[kGroup];
  for (std::int64_t number = blockIdx.x; number < kept.count; number += gridDim.x) {
    std::int64_t at[2];
    offsets_of<std::int64_t>(kept, number, at);
    Accumulator<T> sum = 0;
    for (std::int64_t term = threadIdx.x; term < summed.count; term += blockDim.x) {
      std::int64_t offset[1];
      offsets_of<std::int64_t>(summed, term, offset);
      sum += term_of(x[at[0] + offset[0]]);
    }
    sum = reduce_row(sum, Add{}, Accumulator<T>{0}, scratch);
    if (threadIdx.x == 0) out[at[1]] = result_of<T>(sum);
  }
}

/// Adds the parts: one group of 32 lanes for each sum.
template <class T>
__global__ void __launch_bounds__(kSumThreads)
    add_parts(const Accumulator<T>* partial, T* out, Axes<2> kept, std::int64_t parts) {
  const std::int64_t number =
      static_cast<std::int64_t>(blockIdx.x) * (kSumThreads / kGroup) + threadIdx.x / kGroup;
  const std::int64_t safe = number < kept.count ? number : 0;
  Accumulator<T> sum = 0;
  for (std::int64_t part = threadIdx.x % kGroup; part < parts; part += kGroup)
    sum += partial[part * kept.count + safe];
  sum = reduce_group(sum, Add{});
  if (threadIdx.x % kGroup != 0 || number >= kept.count) return;
  std::int64_t at[2];
  offsets_of<std::int64_t>(kept, number, at);
  out[at[1]] = result_of<T>(sum);
}

template <class T>
void start_add_parts(const Sums& sums, std::int64_t parts, Stream stream) {
  constexpr int kPerBlock = kSumThreads / kGroup;
  const auto blocks = static_cast<unsigned>((sums.kept.count + kPerBlock - 1) / kPerBlock);
  add_parts<T>
      <<<blocks, kSumThreads, 0, stream>>>(static_cast<const Accumulator<T>*>(sums.workspace),
                                           static_cast<T*>(sums.out),
                                           sums.kept,
                                           parts);
}

template <class T>
void start_rows(const Sums& sums, Stream stream) {
  const std::int64_t rows = sums.kept.count;
  const std::int64_t vectors = sums.summed.count / kPerVector<T>;
  const std::int64_t parts = row_parts(rows, sums.summed.count, sums.unit_count);
  const std::int64_t part_vectors = (vectors + parts - 1) / parts;
  unsigned threads = kGroup;
  while (threads < kSumThreads && threads * 4 < part_vectors) threads *= 2;
  const unsigned rows_of_block = threads == kGroup ? 4 : 1;
  const dim3 grid(static_cast<unsigned>((rows + rows_of_block - 1) / rows_of_block),
                  static_cast<unsigned>(parts));
  const bool has_row_axis = sums.kept.rank > 0;
  const auto start = [&](auto kernel) {
    kernel<<<grid, dim3(threads, rows_of_block), 0, stream>>>(
        static_cast<const T*>(sums.x),
        static_cast<T*>(sums.out),
        parts > 1 ? static_cast<Accumulator<T>*>(sums.workspace) : nullptr,
        rows,
        has_row_axis ? sums.kept.strides[0][0] : 0,
        has_row_axis ? sums.kept.strides[1][0] : 0,
        vectors,
        part_vectors,
        sums.summed.count);
  };
  if (sums.summed.count % kPerVector<T> == 0) {
    start(sum_rows<T, true>);
  } else {
    start(sum_rows<T, false>);
  }
  if (parts > 1) start_add_parts<T>(sums, parts, stream);
}

/// Widest access to columns, in elements.
template <class T>
inline constexpr int kWidest = kPerVector<T> < 8 ? kPerVector<T> : 8;

template <class T, int kWidth>
void start_columns(const Sums& sums, Stream stream) {
  const Axes<2>& kept = sums.kept;
  const int inner = kept.rank - 1;
  const std::int64_t columns = kept.sizes[inner];
  const std::int64_t outer = kept.rank == 2 ? kept.sizes[0] : 1;
  const std::int64_t n = sums.summed.count;
  const std::int64_t parts = column_parts(kept.count, n, kWidth, sums.unit_count);
  const std::int64_t per_block = kColumnLanes * kWidth;
  const dim3 grid(static_cast<unsigned>((columns + per_block - 1) / per_block),
                  static_cast<unsigned>(parts),
                  static_cast<unsigned>(outer));
  sum_columns<T, kWidth><<<grid, kSumThreads, 0, stream>>>(
      static_cast<const T*>(sums.x),
      static_cast<T*>(sums.out),
      parts > 1 ? static_cast<Accumulator<T>*>(sums.workspace) : nullptr,
      columns,
      kept.rank == 2 ? kept.strides[0][0] : 0,
      kept.rank == 2 ? kept.strides[1][0] : 0,
      kept.strides[1][inner],
      n,
      sums.summed.rank > 0 ? sums.summed.strides[0][0] : 0,
      (n + parts - 1) / parts);
  if (parts > 1) start_add_parts<T>(sums, parts, stream);
}

template <class T>
bool columns_are_whole(const Sums& sums, int width) {
  const Axes<2>& kept = sums.kept;
  const auto whole = [width](std::int64_t elements) { return elements % width == 0; };
  return whole(kept.sizes[kept.rank - 1]) && (kept.rank < 2 || whole(kept.strides[0][0])) &&
         (sums.summed.rank == 0 || whole(sums.summed.strides[0][0])) &&
         reinterpret_cast<std::uintptr_t>(sums.x) % (sizeof(T) * static_cast<unsigned>(width)) == 0;
}

constexpr std::int64_t kMostOuter = 65535;  // of a grid's z

}  // namespace

std::uint64_t sum_workspace_bytes(std::int64_t kept_count,
                                  std::int64_t n,
                                  std::uint32_t unit_count) {
  const std::int64_t parts =
      std::max(row_parts(kept_count, n, unit_count), column_parts(kept_count, n, 8, unit_count));
  return parts > 1 ? static_cast<std::uint64_t>(parts * kept_count) * sizeof(unsigned long long)
                   : 0;
}

void launch_sum_rows(Element element, const Sums& sums, Stream stream) {
  visit_element<Integers::kSigned>(element,
                                   [&](auto zero) { start_rows<decltype(zero)>(sums, stream); });
}

void launch_sum_strided(Element element, const Sums& sums, Stream stream) {
  const Axes<2>& kept = sums.kept;
  const bool by_columns = kept.rank >= 1 && kept.rank <= 2 && kept.strides[0][kept.rank - 1] == 1 &&
                          sums.summed.rank <= 1 && (kept.rank == 1 || kept.sizes[0] <= kMostOuter);
  visit_element<Integers::kSigned>(element, [&](auto zero) {
    using T = decltype(zero);
    if (by_columns && columns_are_whole<T>(sums, kWidest<T>)) {
      return start_columns<T, kWidest<T>>(sums, stream);
    }
    if (by_columns) return start_columns<T, 1>(sums, stream);
    unsigned threads = kGroup;
    while (threads < kSumThreads && threads < sums.summed.count) threads *= 2;
    constexpr std::int64_t kMostBlocks = 1 << 20;
    sum_strided<T>
        <<<static_cast<unsigned>(std::min(kept.count, kMostBlocks)), threads, 0, stream>>>(
            static_cast<const T*>(sums.x), static_cast<T*>(sums.out), kept, sums.summed);
  });
}

}  // namespace tenon::gpu
