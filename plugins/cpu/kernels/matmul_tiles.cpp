// MatMulFwdOp in vector code: tiles of 4 by 16 sums in double over operands packed as double.
#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/row_sums.hpp"
#include "kernels/vector_kernel.hpp"
#include "tenon/contracts/matmul.h"

namespace tenon::cpu {
namespace {

constexpr std::int64_t kTileRows = 4;
constexpr std::int64_t kTileColumns = 16;
/// Rows of a that are packed at a time. A panel of b is packed once for each such block.
constexpr std::int64_t kBlockRows = 64;

/// Eight doubles; a level with narrower registers takes several for one.
// NOLINTNEXTLINE(modernize-use-using): takes the attribute
typedef double Lanes __attribute__((vector_size(64)));

/// One matrix product; strides in elements.
template <class T>
struct Product {
  const T* a = nullptr;
  const T* b = nullptr;
  T* output = nullptr;
  std::array<std::int64_t, 2> a_strides{};
  std::array<std::int64_t, 2> b_strides{};
  std::array<std::int64_t, 2> output_strides{};
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t n = 0;
  double* packed_a = nullptr;  ///< kBlockRows * k
  double* packed_b = nullptr;  ///< kTileColumns * k
};

/// Up to kBlockRows rows as tiles of [k][kTileRows]; zeros where a tile has no row.
template <class T>
[[gnu::always_inline]] inline void pack_a(const Product<T>& p,
                                          std::int64_t first_row,
                                          std::int64_t rows) {
  double* to = p.packed_a;
  for (std::int64_t tile = 0; tile < rows; tile += kTileRows) {
    for (std::int64_t l = 0; l < p.k; ++l) {
      for (std::int64_t r = 0; r < kTileRows; ++r) {
        const bool inside = tile + r < rows;
        const T* from =
            p.a + (first_row + tile + (inside ? r : 0)) * p.a_strides[0] + l * p.a_strides[1];
        *to++ = inside ? as_double(*from) : 0;
      }
    }
  }
}

/// Up to kTileColumns columns as [k][kTileColumns]; zeros beyond.
template <class T>
[[gnu::always_inline]] inline void pack_b(const Product<T>& p,
                                          std::int64_t first_column,
                                          std::int64_t columns) {
  for (std::int64_t l = 0; l < p.k; ++l) {
    const T* from = p.b + l * p.b_strides[0] + first_column * p.b_strides[1];
    double* to = p.packed_b + l * kTileColumns;
    if (columns == kTileColumns && p.b_strides[1] == 1) {
      for (std::int64_t j = 0; j < kTileColumns; ++j) to[j] = as_double(from[j]);
    } else {
      for (std::int64_t j = 0; j < kTileColumns; ++j)
        to[j] = j < columns ? as_double(from[j * p.b_strides[1]]) : 0;
    }
  }
}

/// Sums of one tile over all of k, in the order of k.
[[gnu::always_inline]] inline void multiply_tile(const double* a,
                                                 const double* b,
                                                 std::int64_t k,
                                                 double* sums) {
  Lanes s00{}, s01{}, s10{}, s11{}, s20{}, s21{}, s30{}, s31{};
  for (std::int64_t l = 0; l < k; ++l) {
    const auto* columns = reinterpret_cast<const Lanes*>(b + l * kTileColumns);
    const Lanes b0 = columns[0];
    const Lanes b1 = columns[1];
    const double* rows = a + l * kTileRows;
    s00 += rows[0] * b0;
    s01 += rows[0] * b1;
    s10 += rows[1] * b0;
    s11 += rows[1] * b1;
    s20 += rows[2] * b0;
    s21 += rows[2] * b1;
    s30 += rows[3] * b0;
    s31 += rows[3] * b1;
  }
  auto* to = reinterpret_cast<Lanes*>(sums);
  to[0] = s00;
  to[1] = s01;
  to[2] = s10;
  to[3] = s11;
  to[4] = s20;
  to[5] = s21;
  to[6] = s30;
  to[7] = s31;
}

template <class T>
[[gnu::always_inline]] inline void multiply(const Product<T>& p) {
  for (std::int64_t block = 0; block < p.m; block += kBlockRows) {
    const std::int64_t rows = std::min(kBlockRows, p.m - block);
    pack_a(p, block, rows);
    for (std::int64_t column = 0; column < p.n; column += kTileColumns) {
      const std::int64_t columns = std::min(kTileColumns, p.n - column);
      pack_b(p, column, columns);
      for (std::int64_t tile = 0; tile < rows; tile += kTileRows) {
        alignas(64) double sums[kTileRows * kTileColumns];
        multiply_tile(p.packed_a + tile * p.k, p.packed_b, p.k, sums);
        for (std::int64_t r = 0; r < std::min(kTileRows, rows - tile); ++r) {
          T* to =
              p.output + (block + tile + r) * p.output_strides[0] + column * p.output_strides[1];
          for (std::int64_t j = 0; j < columns; ++j) {
            to[j * p.output_strides[1]] = narrow_branch_free<T>(sums[r * kTileColumns + j]);
          }
        }
      }
    }
  }
}
TENON_CPU_VARIANTS(multiply, Product)

class MatMulTiles : public VectorKernel<contracts::matmul_fwd::Call> {
 public:
  static constexpr auto op = "MatMulFwdOp", interface = "matmul_fwd", key = "tiles";
  static constexpr std::array dtypes = kNarrowFloats;
  static constexpr std::uint32_t layouts = kAllLayouts;
  static constexpr bool sequential_sums = true;

  using VectorKernel::VectorKernel;

  static std::uint64_t workspace_bytes(const Call& call) {
    return static_cast<std::uint64_t>(call.k) * (kBlockRows + kTileColumns) * sizeof(double);
  }

  void launch(const Launch& launch) const {
    const View a = view_of(launch, 0);
    const View b = view_of(launch, 1);
    const View output = view_of(launch, 2);
    require_matrices(a, b, output);
    const std::size_t batch_rank = output.rank - 2;
    const std::int64_t k = a.shape[batch_rank + 1];
    const auto needed =
        static_cast<std::uint64_t>(k) * (kBlockRows + kTileColumns) * sizeof(double);
    if (launch.workspace_bytes() < needed) {
      throw Failure(TENON_INVALID_ARGUMENT, "the workspace is smaller than this kernel asked for");
    }
    visit_narrow_float(output.dtype, [&]<class T>(std::type_identity<T>) {
      Product<T> p;
      p.m = output.shape[batch_rank];
      p.k = k;
      p.n = output.shape[batch_rank + 1];
      p.a_strides = {a.strides[batch_rank], a.strides[batch_rank + 1]};
      p.b_strides = {b.strides[batch_rank], b.strides[batch_rank + 1]};
      p.output_strides = {output.strides[batch_rank], output.strides[batch_rank + 1]};
      p.packed_a = launch.workspace<double>();
      p.packed_b = p.packed_a + kBlockRows * k;
      for_each_index<3>(output.sizes().first(batch_rank),
                        {a.steps(), b.steps(), output.steps()},
                        [&](const auto& at) {
                          p.a = a.first_as<const T>() + at[0];
                          p.b = b.first_as<const T>() + at[1];
                          p.output = output.first_as<T>() + at[2];
                          TENON_CPU_RUN(multiply, T, p);
                        });
    });
  }
};

}  // namespace

KernelRows matmul_tiles_kernels() { return kernel_rows<MatMulTiles>(); }

}  // namespace tenon::cpu
