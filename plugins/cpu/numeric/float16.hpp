// The two 16-bit float formats as bits, with exact widening and single-rounding narrowing.
#pragma once

#include <bit>
#include <cstdint>

namespace tenon::cpu {

/// Rounds a double to a 16-bit binary float, to nearest with ties to even, in one step. Going
/// through float32 would round twice, and is wrong where the first rounding lands on a tie of the
/// second.
template <int kExponentBits, int kMantissaBits>
[[nodiscard]] constexpr std::uint16_t narrow_to_bits(double value) {
  static_assert(1 + kExponentBits + kMantissaBits == 16);
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr int kMinExponent = 1 - kBias;
  constexpr std::uint64_t kDoubleInfinity = 0x7ff0'0000'0000'0000;
  constexpr std::uint64_t kImplicitOne = std::uint64_t{1} << 52;
  constexpr auto kInfinity =
      static_cast<std::uint16_t>(((1 << kExponentBits) - 1) << kMantissaBits);

  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 48) & 0x8000U);
  const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
  if (magnitude > kDoubleInfinity) {
    constexpr auto kQuiet = static_cast<std::uint16_t>(1U << (kMantissaBits - 1));
    return static_cast<std::uint16_t>(sign | kInfinity | kQuiet);
  }

  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  if (exponent > kBias) return static_cast<std::uint16_t>(sign | kInfinity);

  // A normal result keeps its exponent above the mantissa, so a carry of the rounding walks into
  // it, up to infinity. A subnormal one is the whole significand, shifted to the fixed smallest
  // exponent.
  std::uint64_t significand = 0;
  int shift = 52 - kMantissaBits;
  if (exponent >= kMinExponent) {
    significand =
        (static_cast<std::uint64_t>(exponent + kBias) << 52) | (magnitude & (kImplicitOne - 1));
  } else {
    significand = kImplicitOne | (magnitude & (kImplicitOne - 1));
    shift += kMinExponent - exponent;
    if (shift > 54) return sign;  // below a quarter of the smallest subnormal
  }
  std::uint64_t rounded = significand >> shift;
  const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
  return static_cast<std::uint16_t>(sign | rounded);
}

/// Widens a 16-bit binary float to double, exactly.
template <int kExponentBits, int kMantissaBits>
[[nodiscard]] constexpr double widen_from_bits(std::uint16_t bits) {
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr std::uint64_t kMantissaMask = (std::uint64_t{1} << kMantissaBits) - 1;
  constexpr std::uint64_t kExponentMask = (std::uint64_t{1} << kExponentBits) - 1;

  const std::uint64_t sign = static_cast<std::uint64_t>(bits & 0x8000U) << 48;
  const std::uint64_t exponent = (bits >> kMantissaBits) & kExponentMask;
  std::uint64_t mantissa = bits & kMantissaMask;
  if (exponent == kExponentMask) {
    return std::bit_cast<double>(sign | 0x7ff0'0000'0000'0000 | (mantissa << (52 - kMantissaBits)));
  }
  int unbiased = static_cast<int>(exponent) - kBias;
  if (exponent == 0) {
    if (mantissa == 0) return std::bit_cast<double>(sign);
    // A subnormal is normal as a double: shift its leading one up to the implicit place.
    unbiased = 1 - kBias;
    while ((mantissa >> kMantissaBits) == 0) {
      mantissa <<= 1;
      --unbiased;
    }
    mantissa &= kMantissaMask;
  }
  const std::uint64_t biased = static_cast<std::uint64_t>(unbiased) + 1023;
  return std::bit_cast<double>(sign | (biased << 52) | (mantissa << (52 - kMantissaBits)));
}

/// IEEE 754 binary16.
struct Float16 {
  std::uint16_t bits = 0;
  [[nodiscard]] static constexpr Float16 from(double value) {
    return {narrow_to_bits<5, 10>(value)};
  }
  [[nodiscard]] constexpr double to_double() const { return widen_from_bits<5, 10>(bits); }
};

/// bfloat16: the upper half of a binary32.
struct BFloat16 {
  std::uint16_t bits = 0;
  [[nodiscard]] static constexpr BFloat16 from(double value) {
    return {narrow_to_bits<8, 7>(value)};
  }
  [[nodiscard]] constexpr double to_double() const { return widen_from_bits<8, 7>(bits); }
};

static_assert(sizeof(Float16) == 2 && sizeof(BFloat16) == 2);

}  // namespace tenon::cpu
