// Strided test tensors in memory whose gaps and guards are poisoned and can be checked afterwards.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <utility>
#include <vector>

#include "support/floats.hpp"
#include "tenon/plugin.h"

namespace tenon::test {

using Dims = std::vector<std::int64_t>;

/// How the elements of a tensor lie in memory.
enum class Arrangement : std::uint8_t {
  kDense,
  kTransposed,
  kStepped,
  kReversed,
  kOffset,
  kExpanded
};
inline constexpr std::array kReadable{Arrangement::kDense,
                                      Arrangement::kTransposed,
                                      Arrangement::kStepped,
                                      Arrangement::kReversed,
                                      Arrangement::kOffset,
                                      Arrangement::kExpanded};
/// Without `expanded`: an output that overlaps itself is refused by the host.
inline constexpr std::array kWritable{Arrangement::kDense,
                                      Arrangement::kTransposed,
                                      Arrangement::kStepped,
                                      Arrangement::kReversed,
                                      Arrangement::kOffset};

inline Dims dense_strides(const Dims& shape) {
  Dims strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

inline Dims strides_for(const Dims& shape, Arrangement arrangement) {
  Dims strides = dense_strides(shape);
  switch (arrangement) {
    case Arrangement::kDense:
    case Arrangement::kOffset:
      break;
    case Arrangement::kTransposed: {
      std::int64_t step = 1;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        strides[axis] = step;
        step *= shape[axis];
      }
      break;
    }
    case Arrangement::kStepped:
      for (std::int64_t& stride : strides) stride *= 2;
      break;
    case Arrangement::kReversed:
      for (std::int64_t& stride : strides) stride = -stride;
      break;
    case Arrangement::kExpanded:
      // Every other axis, from the outermost on.
      for (std::size_t axis = 0; axis < strides.size(); axis += 2) strides[axis] = 0;
      break;
  }
  // The stride of an axis of size 1 means nothing; a kernel that uses it must fail here.
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) strides[axis] = INT64_MAX / 4;
  }
  return strides;
}

/// Every index of a shape, in row-major order.
inline std::vector<Dims> indices_of(const Dims& shape) {
  std::vector<Dims> indices;
  for (const std::int64_t extent : shape) {
    if (extent == 0) return indices;
  }
  Dims index(shape.size(), 0);
  while (true) {
    indices.push_back(index);
    std::size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return indices;
  }
}

/// A tensor with memory of its own. Gaps and guards hold poison: all bits set, which is NaN in
/// every floating format, or 0xCD.
template <class T>
class Strided {
 public:
  static constexpr std::uint8_t kNanPoison = 0xff;
  static constexpr std::uint8_t kOutputPoison = 0xcd;

  Strided(const Dims& shape, Arrangement arrangement, std::uint8_t poison = kNanPoison)
      : Strided(shape,
                strides_for(shape, arrangement),
                arrangement == Arrangement::kOffset ? 3 : 0,
                poison) {}

  Strided(Dims shape, Dims strides, std::int64_t offset_elements, std::uint8_t poison)
      : shape_(std::move(shape)), strides_(std::move(strides)), poison_(poison) {
    std::int64_t lowest = 0;
    std::int64_t highest = -1;
    for (const Dims& index : indices_of(shape_)) {
      lowest = std::min(lowest, offset_of(index));
      highest = std::max(highest, offset_of(index));
    }
    first_ = kGuardElements + offset_elements - lowest;
    memory_.assign(static_cast<std::size_t>(first_ + highest + 1 + kGuardElements) * sizeof(T),
                   poison_);
    tensor_.data = memory_.data();
    tensor_.byte_offset = static_cast<std::uint64_t>(first_) * sizeof(T);
    tensor_.device_type = 1;
    tensor_.rank = static_cast<std::int32_t>(shape_.size());
    if constexpr (std::is_arithmetic_v<T> || kIsSmall<T>) tensor_.dtype = dtype_of<T>();
    tensor_.shape = shape_.data();
    tensor_.strides = strides_.data();
  }
  Strided(const Strided&) = delete;
  Strided& operator=(const Strided&) = delete;

  [[nodiscard]] const Dims& shape() const { return shape_; }
  [[nodiscard]] const Dims& strides() const { return strides_; }
  [[nodiscard]] const tenon_tensor* tensor() const { return &tensor_; }
  void set_dtype(tenon_dtype dtype) { tensor_.dtype = dtype; }

  [[nodiscard]] T at(const Dims& index) const {
    T value;
    std::memcpy(&value, address_of(index), sizeof(T));
    return value;
  }
  void set(const Dims& index, T value) {
    std::memcpy(memory_.data() + position_of(index), &value, sizeof(T));
    written_ = memory_;
  }
  template <class Make>
  void fill(Make make) {
    for (const Dims& index : indices_of(shape_)) {
      const T value = make();
      std::memcpy(memory_.data() + position_of(index), &value, sizeof(T));
    }
    written_ = memory_;
  }
  /// Puts poison where the elements are, so that what a launch leaves unwritten shows.
  void poison_elements() {
    for (const Dims& index : indices_of(shape_)) {
      std::memset(memory_.data() + position_of(index), poison_, sizeof(T));
    }
  }
  /// The values in row-major order of the indices.
  void fill_with(std::initializer_list<T> values) {
    const T* next = values.begin();
    fill([&] { return *next++; });
  }

  /// True if no byte has changed since the values were set.
  [[nodiscard]] bool is_unchanged() const { return memory_ == written_; }
  /// True if every byte that is no element of this tensor still holds its poison.
  [[nodiscard]] bool surroundings_are_whole() const {
    std::vector<std::uint8_t> rest = memory_;
    for (const Dims& index : indices_of(shape_))
      std::memset(rest.data() + position_of(index), poison_, sizeof(T));
    return rest == std::vector<std::uint8_t>(rest.size(), poison_);
  }

 private:
  static constexpr std::int64_t kGuardElements = 70;

  [[nodiscard]] std::int64_t offset_of(const Dims& index) const {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * strides_[axis];
    return offset;
  }
  [[nodiscard]] std::size_t position_of(const Dims& index) const {
    return static_cast<std::size_t>(first_ + offset_of(index)) * sizeof(T);
  }
  [[nodiscard]] const std::uint8_t* address_of(const Dims& index) const {
    return memory_.data() + position_of(index);
  }

  Dims shape_;
  Dims strides_;
  std::uint8_t poison_;
  std::int64_t first_ = 0;
  std::vector<std::uint8_t> memory_;
  std::vector<std::uint8_t> written_;
  tenon_tensor tensor_{};
};

}  // namespace tenon::test
