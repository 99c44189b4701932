// How much memory a new tensor takes.
#pragma once

#include <cstddef>

#include "tenon/core/error.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::detail {

/// Bytes of a dense tensor.
/// @errors OutOfMemory where they cannot be counted.
[[nodiscard]] Result<std::size_t> dense_bytes(DType dtype, const Dims& shape);

}  // namespace tenon::detail
