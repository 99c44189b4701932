// Launches of the kernels that work on whole rows: norms and softmax.
#pragma once

#include <cstdint>

#include "device/views.hpp"
#include "host/runtime.hpp"

namespace tenon::gpu {

/// Rows that lie dense, each held in registers from its one read to its write.
inline constexpr int kMostRowThreads = 1024;
inline constexpr int kMostRowVectors = 8;
/// The longest row that fits, in bytes.
inline constexpr std::int64_t kMostRowBytes = kMostRowThreads * kMostRowVectors * 16;

struct DenseRows {
  const void* x = nullptr;
  const void* weight = nullptr;  ///< or null
  const void* bias = nullptr;    ///< or null
  void* out = nullptr;
  std::int64_t row_count = 0;
  std::int64_t n = 0;  ///< elements of a row, a multiple of 16 bytes
  float eps = 0;
  std::uint32_t unit_count = 1;  ///< of the device
};
void launch_rms_norm_on_chip(Element element, const DenseRows& rows, Stream stream);
void launch_layer_norm_on_chip(Element element, const DenseRows& rows, Stream stream);
void launch_softmax_on_chip(Element element, const DenseRows& rows, Stream stream);

/// Dense rows of any length, each by several blocks where there are few.
[[nodiscard]] std::uint64_t softmax_split_workspace_bytes(std::int64_t row_count,
                                                          std::int64_t row_bytes,
                                                          std::uint32_t unit_count);
void launch_softmax_split(Element element, const DenseRows& rows, void* workspace, Stream stream);

/// Rows of any strides and any length: row (i, j) begins at i * outer_stride + j * inner_stride.
struct StridedRows {
  const void* x = nullptr;
  const void* weight = nullptr;  ///< or null
  const void* bias = nullptr;    ///< or null
  void* out = nullptr;
  std::int64_t outer = 0;
  std::int64_t inner = 1;
  std::int64_t n = 0;
  std::int64_t x_strides[3] = {};    ///< outer, element, inner
  std::int64_t out_strides[3] = {};  ///< outer, element, inner
  std::int64_t weight_stride = 0;
  std::int64_t bias_stride = 0;
  float eps = 0;
};
void launch_rms_norm_strided(Element element, const StridedRows& rows, Stream stream);
void launch_layer_norm_strided(Element element, const StridedRows& rows, Stream stream);
void launch_softmax_strided(Element element, const StridedRows& rows, Stream stream);

}  // namespace tenon::gpu
