// What a flow passes in the place of a tensor that a kernel type does not take as it is: the same
// bytes under another dtype, a cast, a padded copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tenon/core/registry.hpp"

namespace tenon {

/// How a kernel type gets one argument.
struct StandIn {
  DType dtype = DType::kFloat32;  ///< the kernel's; another one of the same bytes needs no copy
  bool casts = false;             ///< its elements are converted
  bool pads = false;              ///< its innermost size is padded
  [[nodiscard]] bool copies() const { return casts || pads; }
};

/// Whether a tensor of one dtype is read as the other without touching a byte: bool and uint8.
[[nodiscard]] bool same_bytes(DType a, DType b) noexcept;

/// What padding depends on of an argument.
struct ArgSize {
  std::int64_t innermost = 0;  ///< 0 at rank 0; of a list the greatest common divisor
  std::int64_t count = 0;      ///< elements; of a list the most that one tensor of it has
};
[[nodiscard]] ArgSize size_of(std::span<const TensorView> tensors);

[[nodiscard]] StandIn stand_in_for(const KernelType& type, DType dtype, const ArgSize& size);
/// Whether offsets in a padded copy of an argument exceed 31 bits.
[[nodiscard]] bool wide_once_padded(const KernelType& type, const ArgSize& size);
/// `size` rounded up to a multiple. Nothing where that exceeds int64.
[[nodiscard]] std::optional<std::int64_t> padded_size(std::int64_t size, std::int64_t multiple);

/// Bytes kept for one element of padding, whatever its dtype.
inline constexpr std::size_t kPadBytes = 16;
/// Writes one element of padding. An infinity that a dtype lacks is its largest or least value.
void store_pad(DType dtype, double value, std::byte* element);

}  // namespace tenon
