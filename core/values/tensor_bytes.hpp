// How much memory a new tensor takes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/core/error.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::detail {

/// Whether the bytes of a dense tensor can be counted in 63 bits, as every address and stride must.
[[nodiscard]] inline bool can_be_addressed(DType dtype, const Dims& shape) noexcept {
  const auto count = element_count(shape);
  std::int64_t bytes = 0;
  return count &&
         !__builtin_mul_overflow(*count, static_cast<std::int64_t>(size_bytes_of(dtype)), &bytes);
}

/// Bytes of a dense tensor.
/// @errors OutOfMemory where they cannot be counted.
[[nodiscard]] Result<std::size_t> dense_bytes(DType dtype, const Dims& shape);

}  // namespace tenon::detail
