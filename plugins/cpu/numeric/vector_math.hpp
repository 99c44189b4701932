// Exponential and normal-distribution functions without branches, so that a compiler turns loops
// over them into vector code. In double, to about 2^-40: far more than a float32 result shows.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace tenon::cpu {

/// exp(x) for x <= 700; below -700 it is exp(-700), 1e-304, which every type up to float32 rounds
/// to zero. NaN stays NaN.
[[gnu::always_inline]] inline double exp_branch_free(double x) {
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  constexpr double kLn2High = 0x1.62e42fee00000p-1;  // trailing zeros: a product with k is exact
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kShift = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
  const double clamped = x < -700 ? -700 : x;
  const double shifted = clamped * kLog2E + kShift;
  const double k = shifted - kShift;
  const double r = (clamped - k * kLn2High) - k * kLn2Low;
  // The Taylor series: |r| <= 0.347, and r^12 / 12! is below 2^-47.
  double p = 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1;
  p = p * r + 1;
  const std::uint64_t exponent =
      (std::bit_cast<std::uint64_t>(shifted) << 52) + (std::uint64_t{1023} << 52);
  return p * std::bit_cast<double>(exponent);
}

/// Half of erfc(z), for any z. For z >= 0 by erfc(z) = t exp(-z^2 + P(t)), t = 2 / (2 + z), where P
/// is a polynomial fitted to log erfcx(z) - log t at Chebyshev nodes over z in [0, 27]: off by
/// 5e-13 at most.
[[gnu::always_inline]] inline double half_erfc_branch_free(double z) {
  constexpr double kLeast = 2.0 / 29;  // t at z = 27
  const double magnitude = __builtin_fabs(z);
  const double t = 2 / (2 + magnitude);
  const double u = (2 * t - (1 + kLeast)) / (1 - kLeast);
  // In u, which runs over [-1, 1]; highest power first. Written out, because a loop here would keep
  // the loop around it from becoming vector code.
  double p = -0x1.3c7c7846bca1bp-23;
  p = p * u - 0x1.2d877b3af286cp-22;
  p = p * u + 0x1.c4088ea8a1af3p-20;
  p = p * u + 0x1.370add515e50dp-20;
  p = p * u - 0x1.45baaca6935e5p-17;
  p = p * u + 0x1.958500d52bca2p-19;
  p = p * u + 0x1.36f02ca8cb0d8p-15;
  p = p * u - 0x1.a047b6cd081afp-15;
  p = p * u - 0x1.9d3d7f941a26cp-14;
  p = p * u + 0x1.39fa367231580p-12;
  p = p * u + 0x1.20087ef96cdc3p-13;
  p = p * u - 0x1.703077ef18ba1p-10;
  p = p * u + 0x1.aad83f5ab0272p-12;
  p = p * u + 0x1.ab2f6af44671fp-8;
  p = p * u - 0x1.4b75ffb91746dp-8;
  p = p * u - 0x1.453549754f691p-5;
  p = p * u + 0x1.097f33d591146p-5;
  p = p * u + 0x1.436e241c7cf9ap-1;
  p = p * u - 0x1.40199994580bdp-1;
  const double tail = 0.5 * t * exp_branch_free(p - magnitude * magnitude);
  return z < 0 ? 1 - tail : tail;
}

}  // namespace tenon::cpu
