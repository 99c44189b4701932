// What the norms over rows of adjacent elements take, checked once for all of them.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/arguments.hpp"

namespace tenon::cpu {

/// Rows as the vector code of a norm reads them: dense or inner-contiguous; strides in elements.
template <class T>
struct NormRows {
  const T* x = nullptr;
  const T* weight = nullptr;  ///< or null
  const T* bias = nullptr;    ///< or null
  T* output = nullptr;
  std::int64_t x_stride = 0;
  std::int64_t output_stride = 0;
  std::int64_t row_count = 0;
  std::int64_t n = 0;
  double eps = 0;
};

/// The tensors of one launch: x and output are [m, n], weight and bias [n].
struct NormViews {
  View x;
  std::optional<View> weight;
  std::optional<View> bias;
  View output;

  void require_adjacent_rows() const {
    require_rank(output, 2, "output");
    require_like(x, output, "x");
    require_adjacent(x, "x");
    require_adjacent(output, "output");
    if (weight) require_adjacent_row(*weight, output, "weight");
    if (bias) require_adjacent_row(*bias, output, "bias");
  }

  /// Of views that passed require_adjacent_rows; T is their dtype.
  template <class T>
  [[nodiscard]] NormRows<T> rows(double eps) const {
    return {.x = x.first_as<const T>(),
            .weight = weight ? weight->first_as<const T>() : nullptr,
            .bias = bias ? bias->first_as<const T>() : nullptr,
            .output = output.first_as<T>(),
            .x_stride = x.strides[0],
            .output_stride = output.strides[0],
            .row_count = output.shape[0],
            .n = output.shape[1],
            .eps = eps};
  }
};

}  // namespace tenon::cpu
