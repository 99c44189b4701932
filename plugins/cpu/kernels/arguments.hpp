// How kernels read and check the tensors of a launch.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/view.hpp"
#include "tenon/plugin.hpp"

namespace tenon::cpu {

[[nodiscard]] inline View view_of(const Launch& launch, std::size_t argument) {
  const tenon_tensor* tensor = launch[argument].raw();
  if (tensor == nullptr) {
    throw Failure(TENON_INVALID_ARGUMENT,
                  "argument " + std::to_string(argument) + " is absent, and is not optional");
  }
  return View(*tensor);
}

[[nodiscard]] inline std::optional<View> optional_view_of(const Launch& launch,
                                                          std::size_t argument) {
  const tenon_tensor* tensor = launch[argument].raw();
  return tensor == nullptr ? std::nullopt : std::optional(View(*tensor));
}

inline void require_rank(const View& view, std::size_t rank, std::string_view name) {
  if (view.rank == rank) return;
  throw Failure(TENON_INVALID_ARGUMENT,
                std::string(name) + " has rank " + std::to_string(view.rank) + ", expected " +
                    std::to_string(rank));
}

inline void require_dtype(const View& view, ElementType expected, std::string_view name) {
  const ElementType found = view.dtype;
  if (found == expected) return;
  throw Failure(TENON_INVALID_ARGUMENT,
                std::string(name) + " is " + std::string(found.name()) + ", expected " +
                    std::string(expected.name()));
}

/// The leading axes of `view` have the sizes `expected`.
inline void require_prefix(const View& view,
                           std::span<const std::int64_t> expected,
                           std::string_view name) {
  for (std::size_t axis = 0; axis < expected.size(); ++axis) {
    const std::int64_t found = axis < view.rank ? view.shape[axis] : -1;
    if (found == expected[axis]) continue;
    throw Failure(TENON_INVALID_ARGUMENT,
                  std::string(name) + " has " + (found < 0 ? "no axis " : "another size in axis ") +
                      std::to_string(axis) + ", expected size " + std::to_string(expected[axis]));
  }
}

inline void require_shape(const View& view,
                          std::span<const std::int64_t> expected,
                          std::string_view name) {
  require_rank(view, expected.size(), name);
  require_prefix(view, expected, name);
}

/// An operand of an elementwise kernel: the output's dtype and shape.
inline void require_like(const View& view, const View& output, std::string_view name) {
  require_dtype(view, output.dtype, name);
  require_shape(view, output.sizes(), name);
}

/// A vector along the last axis of a [m, n] output.
inline void require_row(const View& view, const View& output, std::string_view name) {
  require_dtype(view, output.dtype, name);
  require_shape(view, output.sizes_from(1), name);
}

/// The elements along an axis follow each other without gaps.
inline void require_adjacent(const View& view, std::size_t axis, std::string_view name) {
  if (view.shape[axis] <= 1 || view.strides[axis] == 1) return;
  throw Failure(TENON_INVALID_ARGUMENT,
                std::string(name) + " has an innermost stride of " +
                    std::to_string(view.strides[axis]) + ", this kernel declares 1");
}

/// The same of the innermost axis of a view that has one.
inline void require_adjacent(const View& view, std::string_view name) {
  require_adjacent(view, view.rank - 1, name);
}

inline void require_adjacent_row(const View& view, const View& output, std::string_view name) {
  require_row(view, output, name);
  require_adjacent(view, name);
}

/// a, b and output are [*batch, m, k], [*batch, k, n] and [*batch, m, n], of one dtype.
inline void require_matrices(const View& a, const View& b, const View& output) {
  require_dtype(a, output.dtype, "a");
  require_dtype(b, output.dtype, "b");
  if (output.rank < 2) throw Failure(TENON_INVALID_ARGUMENT, "output has fewer than two axes");
  const std::size_t batch_rank = output.rank - 2;
  if (a.rank != output.rank || b.rank != output.rank) {
    throw Failure(TENON_INVALID_ARGUMENT, "a, b and output differ in rank");
  }
  for (std::size_t axis = 0; axis < batch_rank; ++axis) {
    if (a.shape[axis] != output.shape[axis] || b.shape[axis] != output.shape[axis]) {
      throw Failure(TENON_INVALID_ARGUMENT, "a, b and output differ in their batch axes");
    }
  }
  if (a.shape[batch_rank] != output.shape[batch_rank] ||
      b.shape[batch_rank + 1] != output.shape[batch_rank + 1] ||
      a.shape[batch_rank + 1] != b.shape[batch_rank]) {
    throw Failure(TENON_INVALID_ARGUMENT, "a, b and output are not [m, k], [k, n] and [m, n]");
  }
}

}  // namespace tenon::cpu
