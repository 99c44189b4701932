// Strided views of a launch's tensors, and the loops over them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <tenon/plugin.h>

namespace tenon::cpu {

/// Offsets and sizes of one tensor, in elements, up to the highest rank. Strides may be negative or
/// 0; those of axes of size 1, which mean nothing, are 0 here.
struct View {
  std::byte* first = nullptr;
  tenon_dtype dtype{};
  std::size_t rank = 0;
  // Only the first `rank` are set: zeroing the rest costs more than a small kernel.
  std::array<std::int64_t, TENON_MAX_RANK> shape;
  std::array<std::int64_t, TENON_MAX_RANK> strides;

  /// The tensor's rank is at most TENON_MAX_RANK (the host's rule).
  explicit View(const tenon_tensor& tensor)
      : dtype(tensor.dtype), rank(static_cast<std::size_t>(tensor.rank)) {
    // A null pointer (no elements) takes no offset.
    if (tensor.data != nullptr) first = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      shape[axis] = tensor.shape[axis];
      strides[axis] = tensor.shape[axis] == 1 ? 0 : tensor.strides[axis];
    }
  }

  [[nodiscard]] std::span<const std::int64_t> sizes() const { return {shape.data(), rank}; }
  [[nodiscard]] std::span<const std::int64_t> steps() const { return {strides.data(), rank}; }
  /// Sizes or strides of the axes from `axis` on.
  [[nodiscard]] std::span<const std::int64_t> sizes_from(std::size_t axis) const {
    return sizes().subspan(axis);
  }
  [[nodiscard]] std::span<const std::int64_t> steps_from(std::size_t axis) const {
    return steps().subspan(axis);
  }

  /// The first element, for kernels that walk adjacent elements; aligned to T.
  template <class T>
  [[nodiscard]] T* first_as() const {
    return reinterpret_cast<T*>(first);
  }

  /// Element at an offset in elements. Through memcpy: a pointer may be aligned to less than T.
  template <class T>
  [[nodiscard]] T load(std::int64_t offset) const {
    T value;
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): null only without elements to load
    std::memcpy(&value, first + offset * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return value;
  }
  template <class T>
  void store(std::int64_t offset, T value) const {
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): null only without elements to store
    std::memcpy(first + offset * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
  }
};

/// Calls visit(offsets) for every index of `shape` in row-major order, where offsets[k] is the
/// element offset of that index under strides[k]. Rank 0 has one index; a size of 0 has none.
template <std::size_t kOperands, class Visit>
void for_each_index(std::span<const std::int64_t> shape,
                    const std::array<std::span<const std::int64_t>, kOperands>& strides,
                    Visit visit) {
  for (const std::int64_t extent : shape) {
    if (extent <= 0) return;
  }
  std::array<std::int64_t, kOperands> offsets{};
  std::array<std::int64_t, TENON_MAX_RANK> index;
  std::fill_n(index.begin(), shape.size(), 0);
  while (true) {
    visit(offsets);
    std::size_t axis = shape.size();
    for (; axis > 0; --axis) {
      const std::size_t at = axis - 1;
      if (++index[at] < shape[at]) {
        for (std::size_t k = 0; k < kOperands; ++k) offsets[k] += strides[k][at];
        break;
      }
      // Back to the start of this axis, and on to the next outer one.
      for (std::size_t k = 0; k < kOperands; ++k) offsets[k] -= strides[k][at] * (shape[at] - 1);
      index[at] = 0;
    }
    if (axis == 0) return;
  }
}

}  // namespace tenon::cpu
