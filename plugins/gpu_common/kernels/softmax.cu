// Softmax: rows in registers where they fit; online (one read for maximum and sum) where not, by
// several blocks for each row where rows are long and few.
#include <algorithm>

#include "kernels/rows.hpp"
#include "kernels/rows_loops.cuh"

namespace tenon::gpu {
namespace {

__device__ inline float minus_infinity() { return -__int_as_float(0x7f800000); }

/// exp(value - largest). For 16-bit results with the digits that those need. For float32 what the
/// subtraction loses is put back: an error of the exponent is an error of the result's digits.
template <class T>
__device__ inline float power(float value, float largest) {
  const float d = value - largest;
  if constexpr (sizeof(T) == 2) {
    return __expf(d);
  } else {
    const float seen = d - value;
    const float lost = (value - (d - seen)) - (largest + seen);
    const float head = expf(d);
    // Where d is not finite (or its power vanishes) nothing can be put back.
    return d > -110.0F && d <= 0.0F ? fmaf(head, lost, head) : head;
  }
}

/// A NaN, a +inf or nothing but -inf gives NaN in some power, and through the sum in the whole row.
template <class T, int kVectors>
__global__ void __launch_bounds__(kMostRowThreads)
    softmax_on_chip(const T* x, T* out, std::int64_t row_count, int row_vectors) {
  __shared__ float scratch[4 * kGroup];
  __shared__ float sum_scratch[4 * kGroup];
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const int mine = row < row_count ? row_vectors : 0;
  const std::int64_t n = static_cast<std::int64_t>(row_vectors) * kPerVector<T>;
  RowPart<T, kVectors> part;
  part.load(x + row * n, mine);

  float largest = minus_infinity();
  part.each(mine, [&](int, const Floats<T>& values) {
#pragma unroll
    for (int i = 0; i < kPerVector<T>; ++i) largest = fmaxf(largest, values.items[i]);
  });
  largest = reduce_row<true>(largest, Larger{}, minus_infinity(), scratch);
  float sum = 0;
  part.each(mine, [&](int, const Floats<T>& values) {
#pragma unroll
    for (int i = 0; i < kPerVector<T>; ++i) sum += power<T>(values.items[i], largest);
  });
  sum = reduce_row<true>(sum, Add{}, 0.0F, sum_scratch);
  const float share = 1.0F / sum;
  part.each(mine, [&](int at, Floats<T> values) {
#pragma unroll
    for (int i = 0; i < kPerVector<T>; ++i)
      values.items[i] = power<T>(values.items[i], largest) * share;
    store_vector(out + row * n + at * kPerVector<T>, to_vector<T>(values));
  });
}

/// A maximum and the sum of the powers under it.
struct Online {
  float largest;
  float sum;
  __device__ Online() : largest(minus_infinity()), sum(0) {}
};

template <class T>
__device__ inline void add(Online& state, float value) {
  if (value > state.largest) {
    // From -inf nothing was summed: 0 * 0.
    state.sum = state.sum * power<T>(state.largest, value) + power<T>(value, value);
    state.largest = value;
  } else if (value != minus_infinity()) {  // -inf adds nothing, also before the first number
    state.sum += power<T>(value, state.largest);
  }
}

template <class T>
struct Merge {
  __device__ Online operator()(const Online& a, const Online& b) const {
    Online out;
    out.largest = fmaxf(a.largest, b.largest);
    if (out.largest == minus_infinity()) {
      out.sum = a.sum + b.sum;
    } else {
      out.sum = a.sum * power<T>(a.largest, out.largest) + b.sum * power<T>(b.largest, out.largest);
    }
    return out;
  }
};

template <class T>
__device__ inline Online merge_row(Online state, float* largest_of, float* sum_of) {
  const Merge<T> merge;
  const auto merge_group = [&](Online mine) {
#pragma unroll
    for (int mask = kGroup / 2; mask > 0; mask /= 2) {
      Online other;
      other.largest = exchange(mine.largest, mask);
      other.sum = exchange(mine.sum, mask);
      mine = merge(mine, other);
    }
    return mine;
  };
  state = merge_group(state);
  const int groups = static_cast<int>(blockDim.x) / kGroup;
  if (groups == 1) return state;
  const int lane = static_cast<int>(threadIdx.x) % kGroup;
  __syncthreads();
  if (lane == 0) {
    largest_of[threadIdx.x / kGroup] = state.largest;
    sum_of[threadIdx.x / kGroup] = state.sum;
  }
  __syncthreads();
  Online other;
  if (lane < groups) {
    other.largest = largest_of[lane];
    other.sum = sum_of[lane];
  }
  return merge_group(other);
}

template <class T>
__global__ void __launch_bounds__(kStridedRowThreads) softmax_strided(StridedRows rows) {
  __shared__ float largest_of[kGroup];
  __shared__ float sum_of[kGroup];
  const std::int64_t row_count = rows.outer * rows.inner;
  for (std::int64_t row = blockIdx.x; row < row_count; row += gridDim.x) {
    const std::int64_t i0 = row / rows.inner;
    const std::int64_t j = row - i0 * rows.inner;
    const T* x = static_cast<const T*>(rows.x) + i0 * rows.x_strides[0] + j * rows.x_strides[2];
    T* out = static_cast<T*>(rows.out) + i0 * rows.out_strides[0] + j * rows.out_strides[2];
    Online state;
    for (std::int64_t i = threadIdx.x; i < rows.n; i += blockDim.x)
      add<T>(state, as_float(x[i * rows.x_strides[1]]));
    state = merge_row<T>(state, largest_of, sum_of);
    const float share = 1.0F / state.sum;
    for (std::int64_t i = threadIdx.x; i < rows.n; i += blockDim.x) {
      const float value = as_float(x[i * rows.x_strides[1]]);
      out[i * rows.out_strides[1]] = nearest<T>(power<T>(value, state.largest) * share);
    }
  }
}

constexpr int kSplitThreads = 256;

/// One part (blockIdx.y) of a dense row (blockIdx.x): its maximum and sum go to the workspace.
template <class T>
__global__ void __launch_bounds__(kSplitThreads)
    softmax_parts(const T* x, Online* states, std::int64_t row_vectors, std::int64_t part_vectors) {
  __shared__ float largest_of[kGroup];
  __shared__ float sum_of[kGroup];
  const T* row = x + blockIdx.x * row_vectors * kPerVector<T>;
  const std::int64_t first = blockIdx.y * part_vectors;
  const std::int64_t last = first + part_vectors < row_vectors ? first + part_vectors : row_vectors;
  Online state;
  for (std::int64_t at = first + threadIdx.x; at < last; at += blockDim.x) {
    const Floats<T> values = to_floats<T>(load_vector(row + at * kPerVector<T>));
#pragma unroll
    for (int i = 0; i < kPerVector<T>; ++i) add<T>(state, values.items[i]);
  }
  state = merge_row<T>(state, largest_of, sum_of);
  if (threadIdx.x == 0) states[blockIdx.x * gridDim.y + blockIdx.y] = state;
}

template <class T>
__global__ void __launch_bounds__(kSplitThreads) softmax_finish(
    const T* x, const Online* states, T* out, std::int64_t row_vectors, std::int64_t part_vectors) {
  __shared__ float largest_of[kGroup];
  __shared__ float sum_of[kGroup];
  const std::int64_t start = blockIdx.x * row_vectors * kPerVector<T>;
  const std::int64_t first = blockIdx.y * part_vectors;
  const std::int64_t last = first + part_vectors < row_vectors ? first + part_vectors : row_vectors;
  // Every block of the row merges all of its parts, in the same order.
  const Merge<T> merge;
  Online state;
  for (unsigned part = threadIdx.x; part < gridDim.y; part += blockDim.x)
    state = merge(state, states[blockIdx.x * gridDim.y + part]);
  state = merge_row<T>(state, largest_of, sum_of);
  const float share = 1.0F / state.sum;
  for (std::int64_t at = first + threadIdx.x; at < last; at += blockDim.x) {
    Floats<T> values = to_floats<T>(load_vector(x + start + at * kPerVector<T>));
#pragma unroll
    for (int i = 0; i < kPerVector<T>; ++i)
      values.items[i] = power<T>(values.items[i], state.largest) * share;
    store_vector(out + start + at * kPerVector<T>, to_vector<T>(values));
  }
}

/// Parts of each row: enough to fill the device, each with one vector for each thread at least.
std::int64_t softmax_parts_of(std::int64_t row_count,
                              std::int64_t row_vectors,
                              std::uint32_t unit_count) {
  constexpr std::int64_t kMostParts = 1024;
  if (row_count == 0) return 1;
  const std::int64_t wanted =
      (2 * static_cast<std::int64_t>(unit_count) + row_count - 1) / row_count;
  return std::clamp<std::int64_t>(std::min(wanted, row_vectors / kSplitThreads), 1, kMostParts);
}

}  // namespace

std::uint64_t softmax_split_workspace_bytes(std::int64_t row_count,
                                            std::int64_t row_bytes,
                                            std::uint32_t unit_count) {
  const std::int64_t parts = softmax_parts_of(row_count, row_bytes / kVectorBytes, unit_count);
  return static_cast<std::uint64_t>(parts * row_count) * sizeof(Online);
}

void launch_softmax_split(Element element, const DenseRows& rows, void* workspace, Stream stream) {
  visit_float(element, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t row_vectors = rows.n / kPerVector<T>;
    const std::int64_t parts = softmax_parts_of(rows.row_count, row_vectors, rows.unit_count);
    const std::int64_t part_vectors = (row_vectors + parts - 1) / parts;
    const dim3 grid(static_cast<unsigned>(rows.row_count), static_cast<unsigned>(parts));
    const auto* x = static_cast<const T*>(rows.x);
    auto* states = static_cast<Online*>(workspace);
    softmax_parts<T><<<grid, kSplitThreads, 0, stream>>>(x, states, row_vectors, part_vectors);
    softmax_finish<T><<<grid, kSplitThreads, 0, stream>>>(
        x, states, static_cast<T*>(rows.out), row_vectors, part_vectors);
  });
}

void launch_softmax_on_chip(Element element, const DenseRows& rows, Stream stream) {
  visit_float(element, [&](auto zero) {
    using T = decltype(zero);
    over_dense_rows<T>(rows, [&](dim3 grid, dim3 block, int vectors, int row_vectors) {
      const auto start = [&](auto kernel) {
        kernel<<<grid, block, 0, stream>>>(
            static_cast<const T*>(rows.x), static_cast<T*>(rows.out), rows.row_count, row_vectors);
      };
      switch (vectors) {
        case 1:
          return start(softmax_on_chip<T, 1>);
        case 2:
          return start(softmax_on_chip<T, 2>);
        case 4:
          return start(softmax_on_chip<T, 4>);
        default:
          return start(softmax_on_chip<T, 8>);
      }
    });
  });
}

void launch_softmax_strided(Element element, const StridedRows& rows, Stream stream) {
  visit_float(element, [&](auto zero) {
    softmax_strided<decltype(zero)>
        <<<strided_row_blocks(rows.outer * rows.inner), strided_row_threads(rows.n), 0, stream>>>(
            rows);
  });
}

}  // namespace tenon::gpu
