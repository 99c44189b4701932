// What host code hands to kernels by value: tensors as a first address and merged axes.
#pragma once

#include <cstdint>

namespace tenon::gpu {

/// Element types that device code tells apart. Integers of one size are one type where signs do not
/// matter.
enum class Element : std::uint8_t { kFloat16, kBFloat16, kFloat32, kU8, kI8, kI16, kI32, kI64 };

inline constexpr int kMaxAxes = 16;

/// Axes that several operands share, the innermost last; strides in elements. Neighbouring axes
/// that every operand walks as one are one axis, and axes of size 1 are gone.
template <int kOperands>
struct Axes {
  std::int32_t rank = 0;
  std::int64_t count = 1;  ///< elements
  std::int64_t sizes[kMaxAxes];
  std::int64_t strides[kOperands][kMaxAxes];
};

}  // namespace tenon::gpu
