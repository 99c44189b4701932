// RMS norm and layer norm. Statistics in float over 32-lane groups; for float32 the mean in double,
// because what is left of x - mean may be small.
#include <type_traits>

#include "kernels/rows.hpp"
#include "kernels/rows_loops.cuh"

namespace tenon::gpu {
namespace {

/// What the mean is summed in.
template <class T>
using MeanSum = std::conditional_t<std::is_same_v<T, float>, double, float>;

template <class T>
__device__ inline float difference(float value, MeanSum<T> mean) {
  return static_cast<float>(static_cast<MeanSum<T>>(value) - mean);
}

template <class T, bool kCentered, int kVectors>
__global__ void __launch_bounds__(kMostRowThreads)
    norm_on_chip(const T* x,
                 const T* weight,
                 const T* bias,
                 T* out,
                 std::int64_t row_count,
                 int row_vectors,
                 float eps) {
  __shared__ float scratch[4 * kGroup];
  __shared__ MeanSum<T> mean_scratch[kCentered ? 4 * kGroup : 1];
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  // Rows behind the last one: their threads take part in the reductions, and hold nothing.
  const int mine = row < row_count ? row_vectors : 0;
  const std::int64_t n = static_cast<std::int64_t>(row_vectors) * kPerVector<T>;
  RowPart<T, kVectors> part;
  part.load(x + row * n, mine);

  MeanSum<T> mean = 0;
  if constexpr (kCentered) {
    MeanSum<T> sum = 0;
    part.each(mine, [&](int, const Floats<T>& values) {
#pragma unroll
      for (int i = 0; i < kPerVector<T>; ++i) sum += static_cast<MeanSum<T>>(values.items[i]);
    });
    mean = reduce_row(sum, Add{}, MeanSum<T>{0}, mean_scratch) / static_cast<MeanSum<T>>(n);
  }
  float squares = 0;
  part.each(mine, [&](int, const Floats<T>& values) {
#pragma unroll
    for (int i = 0; i < kPerVector<T>; ++i) {
      const float value = kCentered ? difference<T>(values.items[i], mean) : values.items[i];
      squares = fmaf(value, value, squares);
    }
  });
  squares = reduce_row(squares, Add{}, 0.0F, scratch);
  const float scale = 1.0F / sqrtf(squares / static_cast<float>(n) + eps);

  part.each(mine, [&](int at, Floats<T> values) {
#pragma unroll
    for (int i = 0; i < kPerVector<T>; ++i) {
      const float value = kCentered ? difference<T>(values.items[i], mean) : values.items[i];
      values.items[i] = value * scale;
    }
    if (weight != nullptr) {
      const Floats<T> factors = to_floats<T>(load_vector(weight + at * kPerVector<T>));
#pragma unroll
      for (int i = 0; i < kPerVector<T>; ++i) values.items[i] *= factors.items[i];
    }
    if constexpr (kCentered) {
      if (bias != nullptr) {
        const Floats<T> terms = to_floats<T>(load_vector(bias + at * kPerVector<T>));
#pragma unroll
        for (int i = 0; i < kPerVector<T>; ++i) values.items[i] += terms.items[i];
      }
    }
    store_vector(out + row * n + at * kPerVector<T>, to_vector<T>(values));
  });
}

template <class T, bool kCentered>
__global__ void __launch_bounds__(kStridedRowThreads) norm_strided(StridedRows rows) {
  __shared__ float scratch[kGroup];
  __shared__ MeanSum<T> mean_scratch[kCentered ? kGroup : 1];
  const auto* weight = static_cast<const T*>(rows.weight);
  const auto* bias = static_cast<const T*>(rows.bias);
  for (std::int64_t row = blockIdx.x; row < rows.outer; row += gridDim.x) {
    const T* x = static_cast<const T*>(rows.x) + row * rows.x_strides[0];
    T* out = static_cast<T*>(rows.out) + row * rows.out_strides[0];
    const auto value_at = [&](std::int64_t i) { return as_float(x[i * rows.x_strides[1]]); };
    MeanSum<T> mean = 0;
    if constexpr (kCentered) {
      MeanSum<T> sum = 0;
      for (std::int64_t i = threadIdx.x; i < rows.n; i += blockDim.x)
        sum += static_cast<MeanSum<T>>(value_at(i));
      mean =
          reduce_row(sum, Add{}, MeanSum<T>{0}, mean_scratch) / static_cast<MeanSum<T>>(rows.n);
    }
    // Of a long row each thread sums many terms.
    MeanSum<T> terms = 0;
    for (std::int64_t i = threadIdx.x; i < rows.n; i += blockDim.x) {
      const float value = kCentered ? difference<T>(value_at(i), mean) : value_at(i);
      terms += static_cast<MeanSum<T>>(value) * static_cast<MeanSum<T>>(value);
    }
    const float squares =
        reduce_row(static_cast<float>(terms / static_cast<MeanSum<T>>(rows.n)), Add{}, 0.0F, scratch);
    const float scale = 1.0F / sqrtf(squares + rows.eps);
    for (std::int64_t i = threadIdx.x; i < rows.n; i += blockDim.x) {
      float value = kCentered ? difference<T>(value_at(i), mean) : value_at(i);
      value *= scale;
      if (weight != nullptr) value *= as_float(weight[i * rows.weight_stride]);
      if constexpr (kCentered) {
        if (bias != nullptr) value += as_float(bias[i * rows.bias_stride]);
      }
      out[i * rows.out_strides[1]] = nearest<T>(value);
    }
  }
}

template <bool kCentered>
void on_chip(Element element, const DenseRows& rows, Stream stream) {
  visit_row_element(element, [&](auto zero) {
    using T = decltype(zero);
    over_dense_rows<T>(rows, [&](dim3 grid, dim3 block, int vectors, int row_vectors) {
      const auto start = [&](auto kernel) {
        kernel<<<grid, block, 0, stream>>>(static_cast<const T*>(rows.x),
                                           static_cast<const T*>(rows.weight),
                                           static_cast<const T*>(rows.bias),
                                           static_cast<T*>(rows.out),
                                           rows.row_count,
                                           row_vectors,
                                           rows.eps);
      };
      switch (vectors) {
        case 1:
          return start(norm_on_chip<T, kCentered, 1>);
        case 2:
          return start(norm_on_chip<T, kCentered, 2>);
        case 4:
          return start(norm_on_chip<T, kCentered, 4>);
        default:
          return start(norm_on_chip<T, kCentered, 8>);
      }
    });
  });
}

template <bool kCentered>
void strided(Element element, const StridedRows& rows, Stream stream) {
  visit_row_element(element, [&](auto zero) {
    norm_strided<decltype(zero), kCentered>
        <<<strided_row_blocks(rows.outer), strided_row_threads(rows.n), 0, stream>>>(rows);
  });
}

}  // namespace

void launch_rms_norm_on_chip(Element element, const DenseRows& rows, Stream stream) {
  on_chip<false>(element, rows, stream);
}
void launch_layer_norm_on_chip(Element element, const DenseRows& rows, Stream stream) {
  on_chip<true>(element, rows, stream);
}
void launch_rms_norm_strided(Element element, const StridedRows& rows, Stream stream) {
  strided<false>(element, rows, stream);
}
void launch_layer_norm_strided(Element element, const StridedRows& rows, Stream stream) {
  strided<true>(element, rows, stream);
}

}  // namespace tenon::gpu
