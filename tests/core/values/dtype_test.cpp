// Dtypes: the registry, names, and how values convert.
#include "tenon/core/dtype.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

using tenon::DType;

namespace {
std::uint32_t bf16(double v) { return tenon::bfloat16_from(v); }
}  // namespace

TEST_SUITE("core/values/dtype") {
  TEST_CASE("D52: bfloat16 rounds to nearest, ties to even") {
    CHECK(tenon::bfloat16_to(tenon::bfloat16_from(0.2691408770292272)) == 0.26953125);
    CHECK(tenon::bfloat16_to(tenon::bfloat16_from(1.00390625)) == 1.0);
    CHECK(tenon::bfloat16_to(tenon::bfloat16_from(1.01171875)) == 1.015625);
    CHECK(std::isinf(tenon::bfloat16_to(tenon::bfloat16_from(3.4e38))));
    CHECK(bf16(-0.0) == 0x8000u);
    CHECK(bf16(std::numeric_limits<double>::infinity()) == 0x7f80u);
  }

  TEST_CASE("every finite 16-bit pattern survives a round trip through double") {
    int checked = 0;
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const auto p = static_cast<std::uint16_t>(bits);
      if (!std::isnan(tenon::float16_to(p))) {
        REQUIRE(tenon::float16_from(tenon::float16_to(p)) == p);
        ++checked;
      }
      if (!std::isnan(tenon::bfloat16_to(p))) {
        REQUIRE(tenon::bfloat16_from(tenon::bfloat16_to(p)) == p);
        ++checked;
      }
    }
    CHECK(checked == 65536 * 2 - 2 * 1023 - 2 * 127);
  }

  TEST_CASE("every half-way point between two float16 values goes to the even one") {
    for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {
      const double low = tenon::float16_to(static_cast<std::uint16_t>(bits));
      const double high = tenon::float16_to(static_cast<std::uint16_t>(bits + 1));
      const double middle = (low + high) / 2;
      REQUIRE(tenon::float16_from(middle) == ((bits & 1u) != 0 ? bits + 1 : bits));
      REQUIRE(tenon::float16_from(std::nextafter(middle, high)) == bits + 1);
      REQUIRE(tenon::float16_from(std::nextafter(middle, low)) == bits);
    }
    CHECK(tenon::float16_from(65504.0) == 0x7bff);
    CHECK(tenon::float16_from(65519.99) == 0x7bff);
    CHECK(tenon::float16_from(65520.0) == 0x7c00);
  }

  TEST_CASE("a double near a float32 rounding boundary is rounded once, not twice") {
    // 1 + 2^-8 + 2^-30 lies above the tie of bfloat16; through float32 it would become the tie and
    // round down.
    CHECK(tenon::bfloat16_to(
              tenon::bfloat16_from(1.0 + std::ldexp(1.0, -8) + std::ldexp(1.0, -30))) == 1.0078125);
  }

  TEST_CASE(
      "every fp8 pattern survives a round trip, and each format ends where its standard says") {
    const DType formats[] = {DType::kFloat8E4M3FN,
                             DType::kFloat8E5M2,
                             DType::kFloat8E4M3,
                             DType::kFloat8E5M2FNUZ,
                             DType::kFloat8E4M3FNUZ,
                             DType::kFloat8E8M0FNU};
    const double largest[] = {448, 57344, 240, 57344, 240, std::ldexp(1.0, 127)};
    for (int f = 0; f < 6; ++f) {
      double most = 0;
      for (std::uint32_t bits = 0; bits < 256; ++bits) {
        const double v = tenon::float8_to(formats[f], static_cast<std::uint8_t>(bits));
        if (std::isnan(v)) continue;
        REQUIRE(tenon::float8_from(formats[f], v) == bits);
        if (std::isfinite(v)) most = std::max(most, v);
      }
      CHECK(most == largest[f]);
    }
    CHECK(std::isnan(
        tenon::float8_to(DType::kFloat8E4M3FN, tenon::float8_from(DType::kFloat8E4M3FN, 1e9))));
    CHECK(std::isinf(
        tenon::float8_to(DType::kFloat8E5M2, tenon::float8_from(DType::kFloat8E5M2, 1e9))));
    CHECK(tenon::float8_from(DType::kFloat8E4M3FNUZ, -0.0) == 0);
  }

  TEST_CASE("names, short names and DLPack numbers lead back to the dtype") {
    for (DType d : tenon::all_dtypes()) {
      CHECK(tenon::dtype_from_name(name_of(d)) == d);
      CHECK(tenon::dtype_from_name(tenon::info_of(d).short_name, true) == d);
      if (d != DType::kFloat4E2M1FNx2) CHECK(tenon::dtype_from_abi(tenon::to_abi(d)) == d);
    }
    CHECK_FALSE(tenon::dtype_from_name("bf16"));
    CHECK_FALSE(tenon::dtype_from_name("float12"));
    CHECK_FALSE(tenon::dtype_from_abi(tenon_dtype{2, 32, 4}));
  }

  TEST_CASE("a real stored into an integer dtype saturates, and NaN gives 0") {
    std::int8_t i8 = 1;
    tenon::store_from_double(DType::kInt8, &i8, 300.0);
    CHECK(i8 == 127);
    tenon::store_from_double(DType::kInt8, &i8, -300.0);
    CHECK(i8 == -128);
    tenon::store_from_double(DType::kInt8, &i8, std::nan(""));
    CHECK(i8 == 0);
    std::uint64_t u64 = 1;
    tenon::store_from_double(DType::kUInt64, &u64, 1e30);
    CHECK(u64 == std::numeric_limits<std::uint64_t>::max());
  }
}
