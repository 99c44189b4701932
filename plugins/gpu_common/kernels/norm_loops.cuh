// The kernels of RMS norm and layer norm, without their launches.
//
// One rounding at the end. What layer norm leaves of x - mean, and of the sum with the bias, may be
// small beside either: its mean and scale are double, and so is all of it for float32. 16-bit
// results are float, but for those that the bias all but cancels. An RMS norm sums in float, and in
// double where its squares are out of float's range.
#pragma once

#include <type_traits>

#include "kernels/rows.hpp"
#include "kernels/rows_loops.cuh"

namespace tenon::gpu {

/// What a norm sums in.
template <bool kCentered>
using Real = std::conditional_t<kCentered, double, float>;

/// (x - mean) * scale * weight + bias for vectors of a 16-bit type. In float, of which four bits
/// more than the result has must be left after the bias; where they are not, the vector is done
/// again in double. One branch for a vector: one for each element cost a quarter of the whole
/// kernel's time.
template <class T>
class NarrowCentered {
 public:
  __device__ NarrowCentered(double mean, double scale)
      : mean_(mean),
        scale_(scale),
        mean_high_(static_cast<float>(mean)),
        mean_low_(static_cast<float>(mean - static_cast<double>(mean_high_))),
        narrow_scale_(static_cast<float>(scale)) {}
  __device__ Floats<T> of(const Floats<T>& x,
                          const Floats<T>& weight,
                          const Floats<T>& bias) const {
    constexpr float kEnoughIsLeft = 1.0f / 512;
    Floats<T> out;
    // Beyond these neither x - mean nor the scale has its place in float.
    bool enough = narrow_scale_ > 0x1p-100F && narrow_scale_ < 0x1p100F;
#pragma unroll
    for (int i = 0; i < kPerVector<T>; ++i) {
      // Exact where x is near the mean: then mean_low_ is what is left.
      const float left = (x.items[i] - mean_high_) - mean_low_;
      out.items[i] = left * narrow_scale_ * weight.items[i] + bias.items[i];
      enough = enough && fabsf(out.items[i]) >= kEnoughIsLeft * fabsf(bias.items[i]);
    }
    if (enough) return out;
#pragma unroll
    for (int i = 0; i < kPerVector<T>; ++i) {
      out.items[i] = static_cast<float>((static_cast<double>(x.items[i]) - mean_) * scale_ *
                                            static_cast<double>(weight.items[i]) +
                                        static_cast<double>(bias.items[i]));
    }
    return out;
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

/// values * scale, by weights() where there are any.
template <class T, class Weights>
__device__ inline Floats<T> scaled(Floats<T> values, float scale, bool weighted, Weights weights) {
#pragma unroll
  for (int i = 0; i < kPerVector<T>; ++i) values.items[i] *= scale;
  if (weighted) {
    const Floats<T> factors = weights();
#pragma unroll
    for (int i = 0; i < kPerVector<T>; ++i) values.items[i] *= factors.items[i];
  }
  return values;
}

/// Whether sums of squares in float can be out of its range: those of a half cannot.
template <class T>
inline constexpr bool kSquaresLeaveFloat = !std::is_same_v<T, Half>;

/// Whether a mean of squares, with eps, lost what counts to float's range: it is infinite or NaN,
/// or so small that squares may have vanished.
__device__ inline bool left_range(float mean_square) {
  constexpr float kLeast = 1e-30F;
  constexpr float kMost = 3.402823466e38F;
  return !(mean_square >= kLeast && mean_square <= kMost);
}

#if TENON_GPU_IS_NVIDIA
#define TENON_GPU_COLD __noinline__
#else
#define TENON_GPU_COLD inline
#endif

/// An RMS norm of one row in double, from memory once more; row -1 is the thread's own. Every
/// thread of the row takes part, and of the block where a row has more than 32. `out` may be `x`. A
/// call of its own, which works its places out again: the kernels have no register to spare for it.
template <class T>
__device__ TENON_GPU_COLD void rms_norm_in_double(const T* x,
                                                  const T* weight,
                                                  T* out,
                                                  std::int64_t row,
                                                  std::int64_t row_count,
                                                  int n,
                                                  float eps,
                                                  void* scratch) {
  if (row < 0) row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const T* from = x + row * n;
  T* to = out + row * n;
  const int end = row < row_count ? n : 0;
  const int step = static_cast<int>(blockDim.x);
  double squares = 0;
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < end; i += step) {
    const auto value = static_cast<double>(as_float(from[i]));
    squares += value * value;
  }
  squares = reduce_row(squares, Add{}, 0.0, static_cast<double*>(scratch));
  const double scale = reciprocal_root(squares * quick_reciprocal(n) + static_cast<double>(eps));
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < end; i += step) {
    double value = static_cast<double>(as_float(from[i])) * scale;
    if (weight != nullptr) value *= static_cast<double>(as_float(weight[i]));
    to[i] = nearest<T>(static_cast<float>(value));
  }
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
  // Room for sums in double of a row that is alone in its block.
  alignas(sizeof(double)) __shared__ R scratch[4 * kGroup];
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
    const R mean_square = squares / static_cast<R>(n) + static_cast<R>(eps);
    if constexpr (!kCentered && kSquaresLeaveFloat<T>) {
      if (left_range(mean_square)) {
        return rms_norm_in_double(
            x, weight, out, -1, row_count, row_vectors * kPerVector<T>, eps, scratch);
      }
    }
    scale = reciprocal_root(mean_square);
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
        values = NarrowCentered<T>(mean, scale).of(values, factors, terms);
      }
    } else {
      values = scaled(values, scale, weight != nullptr, weights);
    }
    store_vector(out + row * n + at * kPerVector<T>, to_vector<T>(values));
  });
}

// Some waves of blocks, each of which begins with nothing under way: blocks that stay, and load
// their next row while they work on one, are 8 % ahead (H200, 2048 rows of 4096 bfloat16). The
// blocks of many waves mix of themselves, and are ahead then.
inline constexpr int kStayingBlocks = 6;      // on a unit, of 40 registers a thread
inline constexpr int kFewestStayingRows = 8;  // more than this many for each unit
inline constexpr int kMostStayingRows = 32;   // for each unit
static_assert(kMostStayingRows / kStayingBlocks < 32, "each row of a block has a bit");

/// Rows of kManyRowThreads * kManyRowVectors vectors. What is counted is int: registers are scarce.
template <class T>
__global__ void __launch_bounds__(kManyRowThreads, kStayingBlocks)
    rms_norm_staying(const T* x, const T* weight, T* out, int row_count, float eps) {
  using Part = RowPart<T, kManyRowVectors, kManyRowThreads>;
  constexpr int kRowVectors = kManyRowThreads * kManyRowVectors;
  constexpr int kN = kRowVectors * kPerVector<T>;
  alignas(sizeof(double)) __shared__ float scratch[2][kGroup];
  const int stride = static_cast<int>(gridDim.x);
  int turn = 0;
  unsigned again = 0;  // rows that are left for the end, where nothing else takes registers
  int row = static_cast<int>(blockIdx.x);
  Part part;
  Part next;
  part.load(x + static_cast<std::int64_t>(row) * kN, kRowVectors);
  for (; row < row_count; row += stride) {
    if (row + stride < row_count)
      next.load(x + static_cast<std::int64_t>(row + stride) * kN, kRowVectors);
    float squares = 0;
    part.each(kRowVectors, [&](int, const Floats<T>& values) {
#pragma unroll
      for (int i = 0; i < kPerVector<T>; ++i) squares += values.items[i] * values.items[i];
    });
    // Two scratches in turn: between two uses of one lies the barrier of the other.
    squares = reduce_row<true>(squares, Add{}, 0.0f, scratch[turn]);
    turn ^= 1;
    const float mean_square = squares / static_cast<float>(kN) + eps;
    T* row_out = out + static_cast<std::int64_t>(row) * kN;
    const bool later = kSquaresLeaveFloat<T> && left_range(mean_square);
    again = (again << 1) | (later ? 1U : 0U);
    if (!later) {
      const float scale = reciprocal_root(mean_square);
      part.each(kRowVectors, [&](int at, const Floats<T>& values) {
        const auto weights = [&] { return to_floats<T>(load_vector(weight + at * kPerVector<T>)); };
        store_vector(row_out + at * kPerVector<T>,
                     to_vector<T>(scaled(values, scale, weight != nullptr, weights)));
      });
    }
    part = next;
  }
  // From the last row back to the first. A block has few rows, so each has its bit.
  for (; kSquaresLeaveFloat<T> && again != 0; again >>= 1) {
    row -= stride;
    if ((again & 1U) != 0) rms_norm_in_double(x, weight, out, row, row_count, kN, eps, scratch);
  }
}

/// Long rows: each thread sums many terms, so those of float32 in double; those of bfloat16 as
/// well, whose squares may leave float's range.
template <class T, bool kCentered>
__global__ void __launch_bounds__(kStridedRowThreads) norm_strided(StridedRows rows) {
  using R = std::conditional_t<kCentered || kSquaresLeaveFloat<T>, double, float>;
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

}  // namespace tenon::gpu
