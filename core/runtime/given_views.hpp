// Whether the tensors of a call describe memory at all, before anything reads their sizes.
#pragma once

#include <cstdint>
#include <limits>

#include "tenon/core/plan.hpp"

namespace tenon {

/// Whether a view's sizes and strides go together, its elements and the bytes that they span can be
/// counted in 64 bits, and it has memory where it has elements (unless `meta`). Strides of a view
/// without elements mean nothing.
[[nodiscard]] inline bool well_formed(const TensorView& view, bool meta) noexcept {
  const std::size_t rank = view.shape.size();
  if (view.strides.size() != rank || rank > kMaxRank) return false;
  std::int64_t signs = 0;
  std::int64_t count = 1;
  std::int64_t last = 0;  // elements between the lowest and the highest
  bool empty = false;
  bool overflows = false;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t size = view.shape[i];
    std::int64_t reach = 0;
    signs |= size;
    empty = empty || size == 0;
    overflows |= __builtin_mul_overflow(count, size, &count);
    overflows |= __builtin_mul_overflow(size - (size > 0 ? 1 : 0), view.strides[i], &reach);
    overflows |= reach == std::numeric_limits<std::int64_t>::min();
    overflows |= __builtin_add_overflow(
        last,
        reach < 0 ? 0 - static_cast<std::uint64_t>(reach) : static_cast<std::uint64_t>(reach),
        &last);
  }
  if (signs < 0) return false;
  if (empty) return true;
  std::int64_t bytes = 0;
  overflows |= __builtin_add_overflow(last, 1, &last);
  overflows |=
      __builtin_mul_overflow(last, static_cast<std::int64_t>(size_bytes_of(view.dtype)), &bytes);
  return !overflows && (meta || view.data != nullptr);
}

/// @errors SignatureMismatch naming the first tensor that is not well formed, and what is wrong
///         with it. Allocates only then.
Result<void> check_given(const OpDecl& decl, const CallArgs& args);

}  // namespace tenon
