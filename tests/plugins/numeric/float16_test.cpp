// Conversions of the 16-bit formats, over every pattern and every tie between two of them.
#include <cmath>
#include <cstdint>
#include <initializer_list>

#include <doctest/doctest.h>

#include "numeric/branch_free.hpp"
#include "numeric/compute.hpp"
#include "support/floats.hpp"

namespace tenon::cpu {
namespace {

// Pairs the plugin's format with the tests' own definition of it.
template <class Ours, class Theirs>
void check_every_pattern() {
  int wrong = 0;
  for (std::uint32_t pattern = 0; pattern <= 0xffff; ++pattern) {
    const Ours ours{static_cast<std::uint16_t>(pattern)};
    const Theirs theirs{static_cast<std::uint16_t>(pattern)};
    const long double value = test::decode(theirs);
    const double widened = ours.to_double();
    const Ours back = Ours::from(widened);
    if (std::isnan(value)) {
      const bool kept = std::isnan(widened) && std::signbit(widened) == ((pattern & 0x8000) != 0) &&
                        std::isnan(back.to_double()) && (back.bits & 0x8000) == (pattern & 0x8000);
      wrong += kept ? 0 : 1;
    } else {
      const bool exact = static_cast<long double>(widened) == value &&
                         std::signbit(widened) == std::signbit(value);
      wrong += exact && back.bits == pattern ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

/// Between each pattern and the next: below, at and above the middle, by one unit of double.
template <class Ours, class Theirs>
void check_every_rounding() {
  int wrong = 0;
  for (std::uint16_t pattern = 0; pattern < Theirs::kInfinity; ++pattern) {
    const auto next = static_cast<std::uint16_t>(pattern + 1);
    const double low = static_cast<double>(test::decode(Theirs{pattern}));
    const double high = static_cast<double>(test::decode(Theirs{next}, true));
    const double middle = low + (high - low) / 2;  // exact: a double has room for many more bits
    const std::uint16_t even = (pattern & 1) == 0 ? pattern : next;
    for (const double sign : {1.0, -1.0}) {
      const auto sign_bit = static_cast<std::uint16_t>(sign < 0 ? 0x8000 : 0);
      const auto bits_of = [&](double value) { return Ours::from(sign * value).bits ^ sign_bit; };
      wrong += bits_of(middle) == even ? 0 : 1;
      wrong += bits_of(std::nextafter(middle, 0.0)) == pattern ? 0 : 1;
      wrong += bits_of(std::nextafter(middle, INFINITY)) == next ? 0 : 1;
      wrong += bits_of(std::nextafter(high, 0.0)) == next ? 0 : 1;
      wrong += bits_of(std::nextafter(low, INFINITY)) == pattern ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

/// The branch-free forms, in the shape that the checks above take.
template <class Base>
struct BranchFree {
  std::uint16_t bits = 0;
  static BranchFree from(double value) { return {narrow_branch_free<Base>(value).bits}; }
  [[nodiscard]] double to_double() const {
    return static_cast<double>(widen_branch_free(Base{bits}));
  }
};

TEST_SUITE("plugins/cpu/float16") {
  TEST_CASE("the branch-free conversions agree on every pattern and every tie") {
    check_every_pattern<BranchFree<Float16>, test::Half>();
    check_every_pattern<BranchFree<BFloat16>, test::BHalf>();
    check_every_rounding<BranchFree<Float16>, test::Half>();
    check_every_rounding<BranchFree<BFloat16>, test::BHalf>();
  }

  TEST_CASE("the branch-free conversions agree at the extremes of double") {
    for (const double value : {0x1p-1074,
                               0x1p-25,
                               0x1.0000000000001p-25,
                               0x1p-133,
                               0x1p-134,
                               65519.9,
                               65520.0,
                               0x1.fffffep127,
                               0x1.fffffffp127,
                               0x1p128,
                               0x1.fffffffffffffp1023,
                               static_cast<double>(INFINITY),
                               static_cast<double>(NAN)}) {
      CAPTURE(value);
      for (const double sign : {1.0, -1.0}) {
        CHECK(narrow_branch_free<Float16>(sign * value).bits == Float16::from(sign * value).bits);
        CHECK(narrow_branch_free<BFloat16>(sign * value).bits == BFloat16::from(sign * value).bits);
      }
    }
  }

  TEST_CASE("every float16 pattern widens exactly and comes back") {
    check_every_pattern<Float16, test::Half>();
  }

  TEST_CASE("every bfloat16 pattern widens exactly and comes back") {
    check_every_pattern<BFloat16, test::BHalf>();
  }

  TEST_CASE("every float16 tie goes to even, and its neighbours go to their side") {
    check_every_rounding<Float16, test::Half>();
  }

  TEST_CASE("every bfloat16 tie goes to even, and its neighbours go to their side") {
    check_every_rounding<BFloat16, test::BHalf>();
  }

  TEST_CASE(
      "D52: bfloat16 rounds to nearest even, overflows to infinity and keeps the sign of zero") {
    CHECK(BFloat16::from(0.2691408770292272).to_double() == 0.26953125);
    CHECK(BFloat16::from(1.00390625).to_double() == 1.0);
    CHECK(BFloat16::from(1.01171875).to_double() == 1.015625);
    CHECK(std::isinf(BFloat16::from(3.4e38).to_double()));
    CHECK(BFloat16::from(-0.0).bits == 0x8000);
    CHECK(std::isinf(BFloat16::from(INFINITY).to_double()));
  }

  TEST_CASE("a value is rounded once, where rounding to float32 first would round it twice") {
    // Just above the middle between 1 and the next value; float32 drops the excess and lands on the
    // tie.
    CHECK(Float16::from(1.0 + 0x1p-11 + 0x1p-40).bits == 0x3c01);
    CHECK(Float16::from(static_cast<float>(1.0 + 0x1p-11 + 0x1p-40)).bits == 0x3c00);
    CHECK(BFloat16::from(1.0 + 0x1p-8 + 0x1p-40).bits == 0x3f81);
    CHECK(BFloat16::from(static_cast<float>(1.0 + 0x1p-8 + 0x1p-40)).bits == 0x3f80);
  }

  TEST_CASE("the extremes of double become zero and infinity") {
    CHECK(Float16::from(0x1p-1074).bits == 0);
    CHECK(Float16::from(-0x1p-1074).bits == 0x8000);
    CHECK(Float16::from(0x1.fffffffffffffp1023).bits == 0x7c00);
    CHECK(BFloat16::from(0x1p-1074).bits == 0);
    CHECK(BFloat16::from(-0x1.fffffffffffffp1023).bits == 0xff80);
  }

  TEST_CASE("a compensated sum keeps the terms that a plain sum loses") {
    CompensatedSum<double> sum;
    for (const double term : {1.0, 1e100, 1.0, -1e100}) sum.add(term);
    CHECK(sum.value() == 2.0);
  }

  TEST_CASE("a compensated sum of infinities is what arithmetic makes of them") {
    CompensatedSum<double> positive;
    for (const double term : {1.0, static_cast<double>(INFINITY), 2.0}) positive.add(term);
    CHECK(positive.value() == static_cast<double>(INFINITY));
    CompensatedSum<double> both;
    for (const double term : {static_cast<double>(INFINITY), -static_cast<double>(INFINITY)})
      both.add(term);
    CHECK(std::isnan(both.value()));
  }
}

}  // namespace
}  // namespace tenon::cpu
