// Element types of the tests with conversions of their own, so that no oracle shares code with a
// kernel.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tenon/plugin.h"

namespace tenon::test {

/// A 16-bit float: kExponent bits of exponent, the rest mantissa.
template <int kExponent>
struct Small {
  std::uint16_t bits = 0;
  static constexpr int kMantissa = 15 - kExponent;
  static constexpr int kBias = (1 << (kExponent - 1)) - 1;
  static constexpr std::uint16_t kInfinity = ((1 << kExponent) - 1) << kMantissa;
  friend bool operator==(Small, Small) = default;
};
using Half = Small<5>;
using BHalf = Small<8>;

template <class T>
inline constexpr bool kIsSmall = std::is_same_v<T, Half> || std::is_same_v<T, BHalf>;

/// Value of a pattern, by the definition of the format. The infinity pattern has the value that
/// would follow the largest finite one when `infinity_as_number`, which is what rounding compares
/// with.
template <int kExponent>
long double decode(Small<kExponent> value, bool infinity_as_number = false) {
  using S = Small<kExponent>;
  const int exponent = (value.bits >> S::kMantissa) & ((1 << kExponent) - 1);
  const int mantissa = value.bits & ((1 << S::kMantissa) - 1);
  const long double sign = (value.bits & 0x8000) != 0 ? -1.0L : 1.0L;
  if (exponent == (1 << kExponent) - 1 && !infinity_as_number) {
    return mantissa != 0 ? std::numeric_limits<long double>::quiet_NaN()
                         : sign * std::numeric_limits<long double>::infinity();
  }
  if (exponent == 0)
    return sign * std::ldexp(static_cast<long double>(mantissa), 1 - S::kBias - S::kMantissa);
  return sign * std::ldexp(static_cast<long double>(mantissa + (1 << S::kMantissa)),
                           exponent - S::kBias - S::kMantissa);
}

template <class T>
long double value_of(T value) {
  if constexpr (kIsSmall<T>) {
    return decode(value);
  } else {
    return static_cast<long double>(value);
  }
}

/// The nearest T, ties to even, by searching the patterns of a 16-bit format.
template <class T>
T nearest(long double value) {
  if constexpr (!kIsSmall<T>) {
    return static_cast<T>(value);
  } else {
    const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
    if (std::isnan(value)) return T{static_cast<std::uint16_t>(T::kInfinity | 1)};
    const long double magnitude = std::fabs(value);
    std::uint16_t low = 0;
    std::uint16_t high = T::kInfinity;
    if (magnitude >= decode(T{high}, true)) return T{static_cast<std::uint16_t>(sign | high)};
    while (high - low > 1) {  // decode(low) <= magnitude < decode(high)
      const auto middle = static_cast<std::uint16_t>((low + high) / 2);
      (decode(T{middle}) <= magnitude ? low : high) = middle;
    }
    const long double below = magnitude - decode(T{low});
    const long double above = decode(T{high}, true) - magnitude;
    const bool up = above < below || (above == below && (low & 1) != 0);
    return T{static_cast<std::uint16_t>(sign | (up ? high : low))};
  }
}

template <class T>
bool is_nan(T value) {
  return std::isnan(value_of(value));
}

/// A pattern as a number that grows with the value: neighbours differ by 1.
template <class T>
std::int64_t order_of(T value) {
  if constexpr (kIsSmall<T>) {
    const std::int64_t magnitude = value.bits & 0x7fff;
    return (value.bits & 0x8000) != 0 ? -magnitude : magnitude;
  } else if constexpr (std::is_same_v<T, float>) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::int64_t magnitude = bits & 0x7fff'ffffU;
    return (bits >> 31) != 0 ? -magnitude : magnitude;
  } else {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto magnitude = static_cast<std::int64_t>(bits & ~(std::uint64_t{1} << 63));
    return (bits >> 63) != 0 ? -magnitude : magnitude;
  }
}

/// Units in the last place between two values; 0 for two NaNs, a huge number for one.
template <class T>
std::int64_t ulps_between(T a, T b) {
  if (is_nan(a) && is_nan(b)) return 0;
  if (is_nan(a) || is_nan(b)) return std::numeric_limits<std::int64_t>::max();
  return std::abs(order_of(a) - order_of(b));
}

template <class T>
constexpr tenon_dtype dtype_of() {
  if constexpr (std::is_same_v<T, Half>) return {TENON_DTYPE_FLOAT, 16, 1};
  if constexpr (std::is_same_v<T, BHalf>) return {TENON_DTYPE_BFLOAT, 16, 1};
  if constexpr (std::is_same_v<T, float>) return {TENON_DTYPE_FLOAT, 32, 1};
  if constexpr (std::is_same_v<T, double>) return {TENON_DTYPE_FLOAT, 64, 1};
  if constexpr (std::is_integral_v<T>) {
    return {std::is_signed_v<T> ? TENON_DTYPE_INT : TENON_DTYPE_UINT, sizeof(T) * 8, 1};
  }
}

}  // namespace tenon::test
