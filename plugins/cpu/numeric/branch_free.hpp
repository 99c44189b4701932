// Conversions of the 16-bit formats without branches, so that a compiler turns loops over them into
// vector code. Every function here inlines always: a kernel is compiled once per architecture level
// from one source.
#pragma once

#include <bit>
#include <cstdint>

#include "numeric/float16.hpp"

namespace tenon::cpu {

/// Widens exactly, as widen_from_bits does.
[[gnu::always_inline]] inline float widen_branch_free(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

[[gnu::always_inline]] inline float widen_branch_free(Float16 value) {
  // The exponent field moved to its place is too small by the difference of the biases, 112, also
  // where it is 0; a product of powers of two repairs both. Infinity and NaN need all bits set
  // instead.
  constexpr float kRebias = 0x1p112F;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(value.bits & 0x7fffU) << 13;
  const auto scaled = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * kRebias);
  const std::uint32_t special = magnitude >= 0x0f80'0000U ? 0x7f80'0000U : 0U;
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
  return std::bit_cast<float>(sign | scaled | special);
}

[[gnu::always_inline]] inline float widen_branch_free(float value) { return value; }

/// Rounds a double to float32 so that a later rounding to a narrower format is right: towards zero,
/// with the last bit set where anything was lost ("to odd"). A plain second rounding would see
/// false ties.
[[gnu::always_inline]] inline std::uint32_t round_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const std::uint32_t away = __builtin_fabs(back) > __builtin_fabs(value) ? 1U : 0U;
  const std::uint32_t lost = back != value ? 1U : 0U;
  return (bits - away) | lost;
}

/// Rounds once, to nearest with ties to even, as narrow_to_bits does.
template <class T>
[[gnu::always_inline]] inline T narrow_branch_free(double value);

template <>
[[gnu::always_inline]] inline float narrow_branch_free<float>(double value) {
  return static_cast<float>(value);
}

template <>
[[gnu::always_inline]] inline BFloat16 narrow_branch_free<BFloat16>(double value) {
  const std::uint32_t bits = round_to_odd(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40U;
  const bool nan = (bits & 0x7fff'ffffU) > 0x7f80'0000U;
  return {static_cast<std::uint16_t>(nan ? quiet : rounded)};
}

template <>
[[gnu::always_inline]] inline Float16 narrow_branch_free<Float16>(double value) {
  constexpr std::uint32_t kSmallestNormal = 0x3880'0000U;  // 2^-14
  constexpr std::uint32_t kTooLarge = 0x4780'0000U;        // 2^16
  constexpr std::uint32_t kBiases = 112U << 23;
  const std::uint32_t bits = round_to_odd(value);
  const std::uint32_t magnitude = bits & 0x7fff'ffffU;
  const std::uint32_t normal = (magnitude - kBiases + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  // Adding one half makes the unit of the sum's last place that of a subnormal; the addition
  // rounds.
  const auto aligned = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F);
  const std::uint32_t subnormal = aligned - std::bit_cast<std::uint32_t>(0.5F);
  const std::uint32_t special = magnitude > 0x7f80'0000U ? 0x7e00U : 0x7c00U;
  const std::uint32_t finite = magnitude < kSmallestNormal ? subnormal : normal;
  const std::uint32_t result = magnitude >= kTooLarge ? special : finite;
  return {static_cast<std::uint16_t>(((bits >> 16) & 0x8000U) | result)};
}

}  // namespace tenon::cpu
