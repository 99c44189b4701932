// Reductions over groups of 32 lanes, and over rows of threads made of such groups. A group of 32
// is a warp of NVIDIA's and of AMD's narrow waves, and a half of a wide wave, so the code is right
// for warp sizes 32 and 64.
#pragma once

#include "host/runtime.hpp"

namespace tenon::gpu {

inline constexpr int kGroup = 32;

template <class T>
__device__ inline T exchange(T value, [[maybe_unused]] int lane_mask) {
#if TENON_GPU_PTX
  return __shfl_xor_sync(0xffffffffU, value, lane_mask, kGroup);
#elif defined(__HIP_DEVICE_COMPILE__) || defined(TENON_GPU_MACA)
  return __shfl_xor(value, lane_mask, kGroup);
#else
  return value;  // the host's pass only parses this
#endif
}

struct Add {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
/// The larger; of a number and a NaN the number.
struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// Every lane of a group gets the whole group's result. All 32 lanes take part.
template <class T, class Operation>
__device__ inline T reduce_group(T value, Operation operation) {
#pragma unroll
  for (int mask = kGroup / 2; mask > 0; mask /= 2) value = operation(value, exchange(value, mask));
  return value;
}

/// Threads of a block that work on one row: blockDim.x of them, a multiple of 32 and at most 1024;
/// threadIdx.y is the row within the block.
/// Every thread of the row gets the row's result. `scratch` has 32 entries for each row of the
/// block. Every thread of the block takes part.
/// kFresh: nobody has used this scratch before, which saves a barrier.
template <bool kFresh = false, class T, class Operation>
__device__ inline T reduce_row(T value, Operation operation, T neutral, T* scratch) {
  value = reduce_group(value, operation);
  const int groups = static_cast<int>(blockDim.x) / kGroup;
  if (groups == 1) return value;
  T* mine = scratch + threadIdx.y * kGroup;
  const int lane = static_cast<int>(threadIdx.x) % kGroup;
  if constexpr (!kFresh) __syncthreads();  // an earlier use of scratch is over
  if (lane == 0) mine[threadIdx.x / kGroup] = value;
  __syncthreads();
  return reduce_group(lane < groups ? mine[lane] : neutral, operation);
}

}  // namespace tenon::gpu
