// The two 8-bit float formats of tensors as bits, with exact widening and single-rounding
// narrowing. Source: OCP 8-bit Floating Point Specification 1.0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tenon::cpu {

/// A format of 8 bits. Without infinities its exponent of ones is ordinary but for the last
/// pattern, which is NaN.
template <int kExponentBits, int kMantissaBits, bool kHasInfinity>
struct Float8 {
  static_assert(1 + kExponentBits + kMantissaBits == 8);
  std::uint8_t bits = 0;

  /// To nearest, ties to even. Out of range: infinity, or NaN where there is none.
  [[nodiscard]] static Float8 from(double value) {
    const auto sign = static_cast<std::uint8_t>(std::signbit(value) ? 0x80 : 0);
    const double magnitude = std::abs(value);
    if (std::isnan(value)) return {static_cast<std::uint8_t>(sign | kNaN)};
    // Beyond the last binade nothing rounds back into range.
    if (magnitude >= std::ldexp(1.0, kMaxExponent + 1))
      return {static_cast<std::uint8_t>(sign | kOverflow)};
    const int exponent =
        magnitude == 0 ? kMinExponent : std::max(std::ilogb(magnitude), kMinExponent);
    // A whole number of units in the last place; powers of two scale exactly.
    const double units = std::nearbyint(std::ldexp(magnitude, kMantissaBits - exponent));
    // The exponent stands above the mantissa, so that a carry of the rounding walks into it.
    const int whole = static_cast<int>(units) + ((exponent - kMinExponent) << kMantissaBits);
    return {static_cast<std::uint8_t>(sign | (whole > kLargest ? kOverflow : whole))};
  }

  [[nodiscard]] double to_double() const {
    const int magnitude = bits & 0x7f;
    const double sign = (bits & 0x80) != 0 ? -1.0 : 1.0;
    if (kHasInfinity && magnitude == kOverflow)
      return sign * std::numeric_limits<double>::infinity();
    if (magnitude > kLargest) return std::numeric_limits<double>::quiet_NaN();
    const int exponent = magnitude >> kMantissaBits;
    const int mantissa = magnitude & ((1 << kMantissaBits) - 1);
    const int units = exponent == 0 ? mantissa : mantissa + (1 << kMantissaBits);
    return sign * std::ldexp(units, std::max(exponent, 1) - 1 + kMinExponent - kMantissaBits);
  }

 private:
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kMinExponent = 1 - kBias;
  static constexpr int kMaxExponent = kHasInfinity ? kBias : kBias + 1;
  static constexpr int kNaN = 0x7f;
  static constexpr int kLargest =
      kHasInfinity ? (((1 << kExponentBits) - 1) << kMantissaBits) - 1 : 0x7e;
  static constexpr int kOverflow = kLargest + 1;  // infinity, or NaN
};

using Float8E4M3FN = Float8<4, 3, false>;
using Float8E5M2 = Float8<5, 2, true>;

static_assert(sizeof(Float8E4M3FN) == 1 && sizeof(Float8E5M2) == 1);

}  // namespace tenon::cpu
