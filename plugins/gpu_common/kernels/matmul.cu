// The plain matrix product: tiles of 64 by 64 in float, any strides, sums in the order of k.
#include "device/element.cuh"
#include "device/offsets.cuh"
#include "kernels/matmul.hpp"

namespace tenon::gpu {
namespace {

constexpr int kTile = 64;
constexpr int kDepth = 16;
constexpr int kThreads = 256;  // 16 by 16, each with 4 by 4 sums
constexpr int kSide = 4;

/// Loads kTile lines of kDepth elements as [depth][line]. Neighbouring threads take neighbours in
/// memory, along whichever axis has them. Beyond the matrix there are zeros.
template <class T>
__device__ inline void load_tile(float (&tile)[kDepth][kTile + kSide],
                                 const T* from,
                                 std::int64_t line_stride,
                                 std::int64_t depth_stride,
                                 std::int64_t first_line,
                                 std::int64_t lines,
                                 std::int64_t first_depth,
                                 std::int64_t depth) {
  const bool along_depth = depth_stride == 1;
#pragma unroll
  for (int u = 0; u < kTile * kDepth / kThreads; ++u) {
    const int number = static_cast<int>(threadIdx.x) + u * kThreads;
    const int line = along_depth ? number / kDepth : number % kTile;
    const int at = along_depth ? number % kDepth : number / kTile;
    const bool inside = first_line + line < lines && first_depth + at < depth;
    tile[at][line] =
        inside
            ? as_float(from[(first_line + line) * line_stride + (first_depth + at) * depth_stride])
            : 0.0F;
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) matmul_tiles(Product p) {
  __shared__ float a_tile[kDepth][kTile + kSide];
  __shared__ float b_tile[kDepth][kTile + kSide];
  const int row = static_cast<int>(threadIdx.x) / (kTile / kSide) * kSide;
  const int column = static_cast<int>(threadIdx.x) % (kTile / kSide) * kSide;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const std::int64_t row_tiles = (p.m + kTile - 1) / kTile;
  // One tile of rows of one product at a time.
  for (std::int64_t number = blockIdx.y; number < row_tiles * p.batch.count; number += gridDim.y) {
    const std::int64_t batch = number / row_tiles;
    const std::int64_t first_row = (number - batch * row_tiles) * kTile;
    std::int64_t start[3];
    offsets_of<std::int64_t>(p.batch, batch, start);
    const T* a = static_cast<const T*>(p.a) + start[0];
    const T* b = static_cast<const T*>(p.b) + start[1];
    T* out = static_cast<T*>(p.out) + start[2];
    float sums[kSide][kSide] = {};
    for (std::int64_t depth = 0; depth < p.k; depth += kDepth) {
      load_tile(a_tile, a, p.a_strides[0], p.a_strides[1], first_row, p.m, depth, p.k);
      load_tile(b_tile, b, p.b_strides[1], p.b_strides[0], first_column, p.n, depth, p.k);
      __syncthreads();
#pragma unroll
      for (int l = 0; l < kDepth; ++l) {
        float left[kSide];
        float right[kSide];
#pragma unroll
        for (int i = 0; i < kSide; ++i) left[i] = a_tile[l][row + i];
#pragma unroll
        for (int j = 0; j < kSide; ++j) right[j] = b_tile[l][column + j];
#pragma unroll
        for (int i = 0; i < kSide; ++i) {
#pragma unroll
          for (int j = 0; j < kSide; ++j) sums[i][j] = fmaf(left[i], right[j], sums[i][j]);
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < kSide; ++i) {
#pragma unroll
      for (int j = 0; j < kSide; ++j) {
        const std::int64_t at_row = first_row + row + i;
        const std::int64_t at_column = first_column + column + j;
        if (at_row < p.m && at_column < p.n) {
          out[at_row * p.out_strides[0] + at_column * p.out_strides[1]] = nearest<T>(sums[i][j]);
        }
      }
    }
  }
}

template <class T>
void start(const Product& p, Stream stream) {
  constexpr std::int64_t kMost = 65535;  // of a grid's y
  const auto tiles = [](std::int64_t lines) { return (lines + kTile - 1) / kTile; };
  const std::int64_t row_tiles = tiles(p.m) * p.batch.count;
  const dim3 grid(static_cast<unsigned>(tiles(p.n)),
                  static_cast<unsigned>(row_tiles < kMost ? row_tiles : kMost));
  matmul_tiles<T><<<grid, kThreads, 0, stream>>>(p);
}

}  // namespace

void launch_matmul_tiles(Element element, const Product& product, Stream stream) {
  switch (element) {
    case Element::kFloat16:
      return start<Half>(product, stream);
    case Element::kBFloat16:
      return start<BFloat16>(product, stream);
    default:
      return start<float>(product, stream);
  }
}

}  // namespace tenon::gpu
