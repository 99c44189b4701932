// Loops over strided operands as runs along one axis, after axes that lie on one line have been
// joined.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/view.hpp"
#include "tenon/plugin.hpp"

namespace tenon::cpu {

/// Axes that several operands share, without those of size 1, neighbours joined where every
/// operand's outer stride is the inner one times the inner size. The last axis is the run; a loop
/// always has one.
template <std::size_t kOperands>
struct RunLoop {
  std::size_t rank = 0;
  // Only the first `rank` axes are set.
  std::array<std::int64_t, TENON_MAX_RANK> shape;
  std::array<std::array<std::int64_t, TENON_MAX_RANK>, kOperands> strides;

  RunLoop(std::span<const std::int64_t> sizes,
          const std::array<std::span<const std::int64_t>, kOperands>& steps) {
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      if (sizes[axis] == 1) continue;
      if (rank == 0 || !joins(sizes[axis], steps, axis)) {
        shape[rank] = 1;
        ++rank;
      }
      shape[rank - 1] *= sizes[axis];
      for (std::size_t k = 0; k < kOperands; ++k) strides[k][rank - 1] = steps[k][axis];
    }
    if (rank == 0) {
      shape[0] = 1;
      for (std::size_t k = 0; k < kOperands; ++k) strides[k][0] = 0;
      rank = 1;
    }
  }

  [[nodiscard]] std::int64_t run_elements() const { return shape[rank - 1]; }
  [[nodiscard]] std::int64_t run_stride(std::size_t operand) const {
    return strides[operand][rank - 1];
  }

  /// Calls visit(offsets) for the start of each run; no run where there are no elements.
  template <class Visit>
  void for_each_run(Visit visit) const {
    if (run_elements() == 0) return;
    std::array<std::span<const std::int64_t>, kOperands> outer;
    for (std::size_t k = 0; k < kOperands; ++k) outer[k] = {strides[k].data(), rank - 1};
    for_each_index<kOperands>(std::span(shape).first(rank - 1), outer, visit);
  }

 private:
  [[nodiscard]] bool joins(std::int64_t size,
                           const std::array<std::span<const std::int64_t>, kOperands>& steps,
                           std::size_t axis) const {
    for (std::size_t k = 0; k < kOperands; ++k) {
      if (strides[k][rank - 1] != steps[k][axis] * size) return false;
    }
    return true;
  }
};

/// The element count where the first kOperands arguments are present, dense, and alike in dtype and
/// shape: then they are one run, and there is no need to look at axes. Negative where they are not.
template <std::size_t kOperands>
[[nodiscard]] std::int64_t elements_if_one_run(const Launch& launch) {
  const tenon_launch& raw = launch.raw();
  if (raw.n_args < kOperands) return -1;
  const tenon_tensor* const first = raw.tensors[raw.arg_first[0]];
  if (first == nullptr) return -1;
  for (std::size_t k = 0; k < kOperands; ++k) {
    const tenon_tensor* const operand = raw.tensors[raw.arg_first[k]];
    if (operand == nullptr || raw.call->args[k].layout != TENON_LAYOUT_DENSE ||
        operand->rank != first->rank || ElementType(operand->dtype) != ElementType(first->dtype))
      return -1;
  }
  std::int64_t count = 1;
  for (std::int32_t axis = 0; axis < first->rank; ++axis) {
    const std::int64_t size = first->shape[axis];
    for (std::size_t k = 1; k < kOperands; ++k) {
      if (raw.tensors[raw.arg_first[k]]->shape[axis] != size) return -1;
    }
    count *= size;
  }
  return count;
}

}  // namespace tenon::cpu
