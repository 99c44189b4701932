// The elements of a view of host memory, one after another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/core/tensor.hpp"

namespace tenon::cli {

/// Calls `visit(std::byte* element, std::int64_t index)` in row-major order of the view's indices,
/// whatever its strides.
template <class Visit>
void for_each_element(const TensorView& view, Visit&& visit) {
  const std::int64_t count = view.count();
  if (count == 0) return;
  const std::size_t rank = view.shape.size();
  const auto element_size = static_cast<std::ptrdiff_t>(size_bytes_of(view.dtype));
  Dims at = view.shape;
  for (std::size_t axis = 0; axis < rank; ++axis) at[axis] = 0;
  std::byte* element = view.first();
  for (std::int64_t index = 0; index < count; ++index) {
    visit(element, index);
    for (std::size_t axis = rank; axis-- > 0;) {
      element += view.strides[axis] * element_size;
      if (++at[axis] < view.shape[axis]) break;
      element -= view.strides[axis] * element_size * view.shape[axis];
      at[axis] = 0;
    }
  }
}

/// The indices of the element that is number `index` in row-major order.
[[nodiscard]] inline Dims indices_of(std::int64_t index, const Dims& shape) {
  Dims at = shape;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    at[axis] = shape[axis] == 0 ? 0 : index % shape[axis];
    index = shape[axis] == 0 ? 0 : index / shape[axis];
  }
  return at;
}

}  // namespace tenon::cli
