// RMS norm and layer norm, one rounding at the end. What layer norm leaves of x - mean, and of the
// sum with the bias, may be small beside either: its mean and scale are double, and so is all of it
// for float32. 16-bit results are float, but for those that the bias all but cancels.
#include <type_traits>

#include "kernels/rows.hpp"
#include "kernels/rows_loops.cuh"

namespace tenon::gpu {
namespace {

/// What a norm sums in.
template <bool kCentered>
using Real = std::conditional_t<kCentered, double, float>;

/// (x - mean) * scale * weight + bias for an element of a 16-bit type. In float, of which four bits
/// more than the result has must be left after the bias; where they are not, in double.
class NarrowCentered {
 public:
  __device__ NarrowCentered(double mean, double scale)
      : mean_(mean),
        scale_(scale),
        mean_high_(static_cast<float>(mean)),
        mean_low_(static_cast<float>(mean - static_cast<double>(mean_high_))),
        narrow_scale_(static_cast<float>(scale)) {}
  __device__ float of(float x, float weight, float bias) const {
    // Exact where x is near the mean: then mean_low_ is what is left.
    const float product = ((x - mean_high_) - mean_low_) * narrow_scale_ * weight;
    const float sum = product + bias;
    constexpr float kEnoughIsLeft = 1.0f / 512;
    if (fabsf(sum) >= kEnoughIsLeft * fabsf(bias)) return sum;
    return static_cast<float>((static_cast<double>(x) - mean_) * scale_ *
                                  static_cast<double>(weight) +
                              static_cast<double>(bias));
  }

 private:
  double mean_;
  double scale_;
  float mean_high_;
  float mean_low_;
  float narrow_scale_;
};

__device__ inline float reciprocal_root(float value) { return rsqrtf(value); }
__device__ inline double reciprocal_root(double value) { return rsqrt(value); }
/// To 43 bits, by one step of Newton's method on the float root, where that has a range for it.
__device__ inline double quick_reciprocal_root(double value) {
  if (!(value > 1e-30 && value < 1e30)) return rsqrt(value);
  const auto root = static_cast<double>(rsqrtf(static_cast<float>(value)));
  return root * (1.5 - 0.5 * value * root * root);
}
/// 1 / count to 46 bits, likewise.
__device__ inline double quick_reciprocal(int count) {
  const auto inverse = static_cast<double>(1.0f / static_cast<float>(count));
  return inverse * (2.0 - static_cast<double>(count) * inverse);
}

// Many rows of few vectors are bound by how many blocks are on a unit at a time: 8 of 256 threads,
// if a thread holds no more than 32 registers (measured on an H200: 2048 rows of 4096 bfloat16
// in 10.8 us instead of 11.8). Then weights do not come early.
inline constexpr int kManyRowThreads = 256;
inline constexpr int kManyRowVectors = 2;

template <class T, bool kCentered, int kVectors, int kMost = kMostRowThreads>
__global__ void __launch_bounds__(kMost, kMost == kManyRowThreads ? 8 : 1)
    norm_on_chip(const T* x,
                 const T* weight,
                 const T* bias,
                 T* out,
                 std::int64_t row_count,
                 int row_vectors,
                 float eps) {
  using R = Real<kCentered>;
  __shared__ R scratch[4 * kGroup];
  __shared__ R mean_scratch[kCentered ? 4 * kGroup : 1];
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  // Rows behind the last one: their threads take part in the reductions, and hold nothing.
  const int mine = row < row_count ? row_vectors : 0;
  const std::int64_t n = static_cast<std::int64_t>(row_vectors) * kPerVector<T>;
  RowPart<T, kVectors> part;
  part.load(x + row * n, mine);
  // Few vectors: their weights fit into registers, and come while the row is summed.
  constexpr bool kEarly = kVectors <= 2 && kMost != kManyRowThreads;
  RowPart<T, kEarly ? kVectors : 1> early;
  if (kEarly && weight != nullptr) early.load(weight, mine);

  R mean = 0;
  R scale = 0;
  if constexpr (kCentered && !std::is_same_v<T, float>) {
    // In one pass: squares of 16-bit numbers are exact in double, and no mean of them is so far
    // above their spread that the difference of the two sums would lack bits.
    R sum = 0;
    R squares = 0;
    part.each(mine, [&](int, const Floats<T>& values) {
#pragma unroll
      for (int i = 0; i < kPerVector<T>; ++i) {
        const auto value = static_cast<R>(values.items[i]);
        sum += value;
        squares = fma(value, value, squares);
      }
    });
    const R inverse = quick_reciprocal(static_cast<int>(n));
    mean = reduce_row<true>(sum, Add{}, R{0}, mean_scratch) * inverse;
    const R spread = reduce_row<true>(squares, Add{}, R{0}, scratch) * inverse - mean * mean;
    scale = quick_reciprocal_root((spread < 0 ? 0 : spread) + static_cast<R>(eps));
  } else {
    if constexpr (kCentered) {
      R sum = 0;
      part.each(mine, [&](int, const Floats<T>& values) {
#pragma unroll
        for (int i = 0; i < kPerVector<T>; ++i) sum += static_cast<R>(values.items[i]);
      });
      mean = reduce_row<true>(sum, Add{}, R{0}, mean_scratch) / static_cast<R>(n);
    }
    R squares = 0;
    part.each(mine, [&](int, const Floats<T>& values) {
#pragma unroll
      for (int i = 0; i < kPerVector<T>; ++i) {
        const R value = static_cast<R>(values.items[i]) - mean;
        squares += value * value;
      }
    });
    squares = reduce_row<true>(squares, Add{}, R{0}, scratch);
    scale = reciprocal_root(squares / static_cast<R>(n) + static_cast<R>(eps));
  }

  part.each_numbered(mine, [&](int number, int at, Floats<T> values) {
    const auto weights = [&] {
      return to_floats<T>(kEarly ? early.vectors[kEarly ? number : 0]
                                 : load_vector(weight + at * kPerVector<T>));
    };
    if constexpr (kCentered) {
      Floats<T> factors;
      Floats<T> terms;
#pragma unroll
      for (int i = 0; i < kPerVector<T>; ++i) {
        factors.items[i] = 1;
        terms.items[i] = -0.0f;  // adds nothing, not even to the sign of 0
      }
      if (weight != nullptr) factors = weights();
      if (bias != nullptr) terms = to_floats<T>(load_vector(bias + at * kPerVector<T>));
      if constexpr (std::is_same_v<T, float>) {
#pragma unroll
        for (int i = 0; i < kPerVector<T>; ++i) {
          values.items[i] = static_cast<float>((static_cast<R>(values.items[i]) - mean) * scale *
                                                   static_cast<R>(factors.items[i]) +
                                               static_cast<R>(terms.items[i]));
        }
      } else {
        const NarrowCentered result(mean, scale);
#pragma unroll
        for (int i = 0; i < kPerVector<T>; ++i)
          values.items[i] = result.of(values.items[i], factors.items[i], terms.items[i]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kPerVector<T>; ++i) values.items[i] *= scale;
      if (weight != nullptr) {
        const Floats<T> factors = weights();
#pragma unroll
        for (int i = 0; i < kPerVector<T>; ++i) values.items[i] *= factors.items[i];
      }
    }
    store_vector(out + row * n + at * kPerVector<T>, to_vector<T>(values));
  });
}

/// Long rows: each thread sums many terms, so those of float32 in double.
template <class T, bool kCentered>
__global__ void __launch_bounds__(kStridedRowThreads) norm_strided(StridedRows rows) {
  using R = std::conditional_t<kCentered || std::is_same_v<T, float>, double, float>;
  __shared__ R scratch[kGroup];
  const auto* weight = static_cast<const T*>(rows.weight);
  const auto* bias = static_cast<const T*>(rows.bias);
  for (std::int64_t row = blockIdx.x; row < rows.outer; row += gridDim.x) {
    const T* x = static_cast<const T*>(rows.x) + row * rows.x_strides[0];
    T* out = static_cast<T*>(rows.out) + row * rows.out_strides[0];
    const auto value_at = [&](std::int64_t i) {
      return static_cast<R>(as_float(x[i * rows.x_strides[1]]));
    };
    R mean = 0;
    if constexpr (kCentered) {
      R sum = 0;
      for (std::int64_t i = threadIdx.x; i < rows.n; i += blockDim.x) sum += value_at(i);
      mean = reduce_row(sum, Add{}, R{0}, scratch) / static_cast<R>(rows.n);
    }
    R squares = 0;
    for (std::int64_t i = threadIdx.x; i < rows.n; i += blockDim.x) {
      const R value = value_at(i) - mean;
      squares += value * value;
    }
    squares = reduce_row(squares, Add{}, R{0}, scratch);
    const R scale = reciprocal_root(squares / static_cast<R>(rows.n) + static_cast<R>(rows.eps));
    for (std::int64_t i = threadIdx.x; i < rows.n; i += blockDim.x) {
      R value = (value_at(i) - mean) * scale;
      if (weight != nullptr) value *= static_cast<R>(as_float(weight[i * rows.weight_stride]));
      if constexpr (kCentered) {
        if (bias != nullptr) value += static_cast<R>(as_float(bias[i * rows.bias_stride]));
      }
      out[i * rows.out_strides[1]] = nearest<T>(static_cast<float>(value));
    }
  }
}

template <bool kCentered>
void on_chip(Element element, const DenseRows& rows, Stream stream) {
  visit_row_element(element, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t of_row = rows.n / kPerVector<T>;
    const bool dense_units = !kCentered && rows.row_count > 2 * std::int64_t{rows.unit_count} &&
                             of_row > kManyRowThreads &&
                             of_row <= kManyRowThreads * kManyRowVectors;
    const auto launch = [&](dim3 grid, dim3 block, int vectors, int row_vectors) {
      const auto start = [&](auto kernel) {
        kernel<<<grid, block, 0, stream>>>(static_cast<const T*>(rows.x),
                                           static_cast<const T*>(rows.weight),
                                           static_cast<const T*>(rows.bias),
                                           static_cast<T*>(rows.out),
                                           rows.row_count,
                                           row_vectors,
                                           rows.eps);
      };
      if constexpr (!kCentered) {
        if (dense_units) return start(norm_on_chip<T, kCentered, kManyRowVectors, kManyRowThreads>);
      }
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
    };
    over_dense_rows<T>(rows, launch, dense_units ? kManyRowVectors : 4);
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
