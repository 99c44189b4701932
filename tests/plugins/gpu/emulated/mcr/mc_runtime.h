// A double of a GPU's language for the host's compiler, under MACA's names because those need no
// vendor's header: what plugins/gpu_common/device/ calls, with the lanes of wave.hpp.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "../../maca_declarations/mcr/mc_runtime.h"
#include "emulated/wave.hpp"

// NOLINTBEGIN: spells names that are not ours.
#define __device__
#define __global__
#define __shared__ static  // one block runs at a time
#define __launch_bounds__(...)
// Of the block that a test runs, set by it.
inline thread_local tenon::emulated::Index blockIdx;
inline thread_local tenon::emulated::Index gridDim{1, 1};
struct dim3 {
  explicit dim3(unsigned x_size, unsigned y_size = 1, unsigned z_size = 1)
      : x(x_size), y(y_size), z(z_size) {}
  unsigned x, y, z;
};
#define threadIdx (tenon::emulated::thread_index())
#define blockDim (tenon::emulated::block_size())

#if defined(__clang__) && __clang_major__ < 15  // it has no _Float16 here
#include "numeric/float16.hpp"
struct tenon_float16 {
  std::uint16_t bits;
  explicit tenon_float16(float value) : bits(tenon::cpu::narrow_to_bits<5, 10>(value)) {}
  explicit operator float() const {
    return static_cast<float>(tenon::cpu::widen_from_bits<5, 10>(bits));
  }
};
#define _Float16 tenon_float16
#endif

struct uint4 {
  std::uint32_t x, y, z, w;
};
inline float __uint_as_float(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
inline std::uint32_t __float_as_uint(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline int __clzll(long long value) {
  return value == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(value));
}
template <class T>
T __shfl_xor(T value, int lane_mask, int width) {
  return tenon::emulated::shuffle_xor(value, lane_mask, width);
}
inline float rsqrtf(float value) { return 1.0F / std::sqrt(value); }
inline double rsqrt(double value) { return 1.0 / std::sqrt(value); }
inline void __syncthreads() { tenon::emulated::barrier(); }
// NOLINTEND
