// From an element's number to its offsets in each operand.
#pragma once

#include "device/views.hpp"
#include "host/runtime.hpp"

namespace tenon::gpu {

/// Index: std::int32_t where every number and offset fits (quicker divisions), else std::int64_t.
template <class Index, int kOperands>
__device__ inline void offsets_of(const Axes<kOperands>& axes,
                                  Index number,
                                  Index (&offsets)[kOperands]) {
#pragma unroll
  for (int k = 0; k < kOperands; ++k) offsets[k] = 0;
  for (int axis = axes.rank - 1; axis > 0; --axis) {
    const Index size = static_cast<Index>(axes.sizes[axis]);
    const Index next = number / size;
    const Index at = number - next * size;
#pragma unroll
    for (int k = 0; k < kOperands; ++k)
      offsets[k] += at * static_cast<Index>(axes.strides[k][axis]);
    number = next;
  }
  if (axes.rank > 0) {
#pragma unroll
    for (int k = 0; k < kOperands; ++k)
      offsets[k] += number * static_cast<Index>(axes.strides[k][0]);
  }
}

}  // namespace tenon::gpu
