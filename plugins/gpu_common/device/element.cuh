// Element types of device code: their values as float, and 16 bytes of them at a time. Written for
// every platform, so nothing here needs a vendor's half-precision headers.
#pragma once

#include <cstdint>

#include "host/runtime.hpp"

namespace tenon::gpu {

struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};

__device__ inline float as_float(float value) { return value; }
__device__ inline float as_float(BFloat16 value) {
  return __uint_as_float(static_cast<std::uint32_t>(value.bits) << 16);
}
__device__ inline float as_float(Half value) {
#if TENON_GPU_PTX
  float out = 0;
  asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(value.bits));
  return out;
#else
  return static_cast<float>(__builtin_bit_cast(_Float16, value.bits));
#endif
}

/// The nearest T, ties to even.
template <class T>
__device__ T nearest(float value);
template <>
__device__ inline float nearest<float>(float value) {
  return value;
}
template <>
__device__ inline Half nearest<Half>(float value) {
#if TENON_GPU_PTX
  Half out{};
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out.bits) : "f"(value));
  return out;
#else
  return Half{__builtin_bit_cast(std::uint16_t, static_cast<_Float16>(value))};
#endif
}
template <>
__device__ inline BFloat16 nearest<BFloat16>(float value) {
#if TENON_GPU_PTX >= 800
  BFloat16 out{};
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out.bits) : "f"(value));
  return out;
#else
  const std::uint32_t bits = __float_as_uint(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return BFloat16{0x7fffU};
  return BFloat16{static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
#endif
}

/// Two neighbours at a time, which the hardware converts in one instruction where it can.
template <class T>
__device__ inline void nearest_pair(float first, float second, T* out) {
  out[0] = nearest<T>(first);
  out[1] = nearest<T>(second);
}
#if TENON_GPU_PTX >= 800
template <>
__device__ inline void nearest_pair<Half>(float first, float second, Half* out) {
  std::uint32_t both = 0;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  out[0].bits = static_cast<std::uint16_t>(both);
  out[1].bits = static_cast<std::uint16_t>(both >> 16);
}
template <>
__device__ inline void nearest_pair<BFloat16>(float first, float second, BFloat16* out) {
  std::uint32_t both = 0;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  out[0].bits = static_cast<std::uint16_t>(both);
  out[1].bits = static_cast<std::uint16_t>(both >> 16);
}
#endif

/// Bytes of one vector access.
inline constexpr int kVectorBytes = 16;
template <class T>
inline constexpr int kPerVector = kVectorBytes / static_cast<int>(sizeof(T));

/// 16 bytes of elements, loaded and stored whole.
template <class T>
struct alignas(kVectorBytes) Vector {
  T items[kPerVector<T>];
};

/// A vector as floats.
template <class T>
struct Floats {
  float items[kPerVector<T>];
};
template <class T>
__device__ inline Floats<T> to_floats(const Vector<T>& vector) {
  Floats<T> out;
#pragma unroll
  for (int i = 0; i < kPerVector<T>; ++i) out.items[i] = as_float(vector.items[i]);
  return out;
}
template <class T>
__device__ inline Vector<T> to_vector(const Floats<T>& floats) {
  Vector<T> out;
#pragma unroll
  for (int i = 0; i < kPerVector<T>; i += 2)
    nearest_pair<T>(floats.items[i], floats.items[i + 1], out.items + i);
  return out;
}

/// A load that goes past the registers as one access of 16 bytes. The compiler must see one.
template <class T>
__device__ inline Vector<T> load_vector(const T* from) {
  Vector<T> out;
  *reinterpret_cast<uint4*>(&out) = *reinterpret_cast<const uint4*>(from);
  return out;
}
template <class T>
__device__ inline void store_vector(T* to, const Vector<T>& vector) {
  *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(&vector);
}

}  // namespace tenon::gpu
