// One element as another dtype. Real to integer truncates and saturates, NaN gives 0; between
// integers the low bits are kept; everything else is rounded once, to nearest, ties to even.
// The CPU's CastFwdOp has the same rules.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/element.cuh"

namespace tenon::gpu {

/// A bool is a byte: any but 0 is true.
struct Bool {
  std::uint8_t bits;
};
/// The 8-bit formats of the OCP 8-bit Floating Point Specification 1.0, whatever the hardware has
/// for them: out of range gives infinity, or NaN where there is none.
struct E4M3 {
  std::uint8_t bits;
};
struct E5M2 {
  std::uint8_t bits;
};

// ---- Wide: int, long long, float or double, exactly ------------------------------------------

__device__ inline int widened(Bool value) { return value.bits != 0 ? 1 : 0; }
__device__ inline int widened(std::uint8_t value) { return value; }
__device__ inline int widened(std::int8_t value) { return value; }
__device__ inline int widened(std::int16_t value) { return value; }
__device__ inline int widened(std::int32_t value) { return value; }
__device__ inline long long widened(std::int64_t value) { return value; }
__device__ inline float widened(Half value) { return as_float(value); }
__device__ inline float widened(BFloat16 value) { return as_float(value); }
__device__ inline float widened(float value) { return value; }
__device__ inline double widened(double value) { return value; }
__device__ inline float widened(E5M2 value) {
  // A half without its last byte.
  return as_float(Half{static_cast<std::uint16_t>(value.bits << 8)});
}
__device__ inline float widened(E4M3 value) {
  const std::uint32_t magnitude = value.bits & 0x7fU;
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x80U) << 24;
  if (magnitude == 0x7fU) return __uint_as_float(0x7fc00000U);
  if (magnitude < 8) {  // subnormal: units of 2^-9
    return __uint_as_float(__float_as_uint(static_cast<float>(magnitude) * 0x1p-9F) | sign);
  }
  return __uint_as_float(((magnitude << 20) + ((127U - 7U) << 23)) | sign);
}

// ---- Rounding to odd: a float that rounds to any shorter format as the value itself does ------

__device__ inline float to_odd(float value) { return value; }
__device__ inline float to_odd(double value) {
  const auto near = static_cast<float>(value);
  const auto back = static_cast<double>(near);
  if (back == value || value != value) return near;
  std::uint32_t bits = __float_as_uint(near);
  if (fabs(back) > fabs(value)) bits -= 1;  // towards zero; from infinity to the largest
  return __uint_as_float(bits | 1U);
}
__device__ inline float to_odd(long long value) {
  const bool negative = value < 0;
  const auto bits = static_cast<unsigned long long>(value);
  unsigned long long magnitude = negative ? 0ULL - bits : bits;
  float scale = 1.0F;
  const int surplus = 64 - __clzll(static_cast<long long>(magnitude)) - 24;
  if (surplus > 0) {
    const unsigned long long lost = magnitude & ((1ULL << surplus) - 1);
    magnitude = (magnitude >> surplus) | (lost != 0 ? 1ULL : 0ULL);
    scale = __uint_as_float(static_cast<std::uint32_t>(127 + surplus) << 23);
  }
  const float whole = static_cast<float>(magnitude) * scale;
  return negative ? -whole : whole;
}
__device__ inline float to_odd(int value) { return to_odd(static_cast<long long>(value)); }

// ---- Narrow -----------------------------------------------------------------------------------

/// kLargest: the bits of the largest number; the next pattern is infinity, or NaN.
template <int kMantissaBits, int kBias, int kLargest>
__device__ inline std::uint8_t float8_bits(float value) {
  constexpr std::uint32_t kOverflow = kLargest + 1;
  constexpr int kShift = 23 - kMantissaBits;
  const std::uint32_t bits = __float_as_uint(value);
  const std::uint32_t sign = (bits >> 24) & 0x80U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  std::uint32_t whole = 0;
  if (magnitude > 0x7f800000U) {
    whole = 0x7fU;
  } else if (magnitude < static_cast<std::uint32_t>(127 + 1 - kBias) << 23) {
    // Subnormal: beside this number the format's unit is the last bit, so the addition rounds to
    // it.
    constexpr std::uint32_t kUnitBits = static_cast<std::uint32_t>(127 + 1 - kBias + kShift) << 23;
    whole = __float_as_uint(__uint_as_float(magnitude) + __uint_as_float(kUnitBits)) - kUnitBits;
  } else {
    // A carry of the rounding walks into the exponent.
    const std::uint32_t even = (magnitude >> kShift) & 1U;
    whole = ((magnitude + (1U << (kShift - 1)) - 1 + even) >> kShift) -
            (static_cast<std::uint32_t>(127 - kBias) << kMantissaBits);
    if (whole > static_cast<std::uint32_t>(kLargest)) whole = kOverflow;
  }
  return static_cast<std::uint8_t>(sign | whole);
}
template <>
__device__ inline E4M3 nearest<E4M3>(float value) {
  return E4M3{float8_bits<3, 7, 0x7e>(value)};
}
template <>
__device__ inline E5M2 nearest<E5M2>(float value) {
  return E5M2{float8_bits<2, 15, 0x7b>(value)};
}

#if TENON_GPU_PTX >= 890
#define TENON_GPU_HAS_FLOAT8_PAIRS 1
#else
#define TENON_GPU_HAS_FLOAT8_PAIRS 0
#endif

/// The largest number of the 8-bit types, up to which the card's own conversion is nearest()'s:
/// beyond it the card saturates.
template <class T>
inline constexpr float kLargestOf = 0;
template <>
inline constexpr float kLargestOf<E4M3> = 448;
template <>
inline constexpr float kLargestOf<E5M2> = 57344;

#if TENON_GPU_HAS_FLOAT8_PAIRS
/// Two floats of at most kLargestOf<T>, the first in the lower byte. PTX ISA, "cvt".
template <class T>
__device__ inline std::uint16_t float8_pair(float first, float second) {
  std::uint16_t pair = 0;
  if constexpr (std::is_same_v<T, E4M3>) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(second), "f"(first));
  }
  return pair;
}
#endif

template <class T, class Real>
__device__ inline T saturated(Real value) {
  constexpr int kDigits = 8 * static_cast<int>(sizeof(T)) - (std::is_signed_v<T> ? 1 : 0);
  constexpr T kHigh = static_cast<T>((std::uint64_t{1} << kDigits) - 1);
  constexpr T kLow = std::is_signed_v<T> ? static_cast<T>(-kHigh - 1) : T{0};
  // 2^digits, which no T is. Both bounds are exact: what lies between truncates into T.
  constexpr Real kEnd = Real{2} * static_cast<Real>(std::uint64_t{1} << (kDigits - 1));
  if (value != value) return 0;
  if (value <= static_cast<Real>(kLow)) return kLow;
  if (value >= kEnd) return kHigh;
  return static_cast<T>(value);
}

/// Wide: what widened() gives.
template <class T, class Wide>
__device__ inline T narrowed(Wide value) {
  if constexpr (std::is_same_v<T, Bool>) {
    return Bool{static_cast<std::uint8_t>(value != 0 ? 1 : 0)};
  } else if constexpr (std::is_integral_v<T> && std::is_integral_v<Wide>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_integral_v<T>) {
    return saturated<T>(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    return nearest<T>(to_odd(value));
  }
}

}  // namespace tenon::gpu
