// Tests of the contents of made tensors.
#include "fill.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

using tenon::DType;
using tenon::Tensor;
using tenon::cli::make_tensor;
using tenon::cli::parse_tensor_argument;
using tenon::cli::random_bits;
using tenon::cli::random_normal;
using tenon::cli::random_uniform;

Tensor made(std::string_view argument) {
  INFO("argument: ", argument);
  const auto source = parse_tensor_argument(argument);
  REQUIRE(source.has_value());
  auto tensor = make_tensor(*source);
  REQUIRE(tensor.has_value());
  return *tensor;
}

/// Element (i, j) of a matrix view.
double at(const Tensor& tensor, std::int64_t i, std::int64_t j) {
  const auto& v = tensor.view();
  const std::int64_t offset = i * v.strides[0] + j * v.strides[1];
  return tenon::load_as_double(
      v.dtype, v.first() + offset * static_cast<std::int64_t>(tenon::size_bytes_of(v.dtype)));
}

std::vector<double> values_of(std::string_view argument) {
  const Tensor tensor = made(argument);
  std::vector<double> values;
  const auto size = tenon::size_bytes_of(tensor.dtype());
  for (std::int64_t i = 0; i < tensor.view().count(); ++i) {
    values.push_back(tenon::load_as_double(
        tensor.dtype(), tensor.view().first() + static_cast<std::size_t>(i) * size));
  }
  return values;
}

TEST_SUITE("cli/fill") {
  TEST_CASE("random bits are those of the published generator") {
    // The first outputs of splitmix64.c for the seed 1234567.
    CHECK(random_bits(1234567, 0) == 6457827717110365317u);
    CHECK(random_bits(1234567, 1) == 3203168211198807973u);
    CHECK(random_bits(1234567, 2) == 9817491932198370423u);
  }

  TEST_CASE("normal numbers have mean 0 and variance 1") {
    constexpr int kCount = 100000;
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < kCount; ++i) {
      const double z = random_normal(7, static_cast<std::uint64_t>(i));
      sum += z;
      squares += z * z;
    }

    CHECK(std::fabs(sum / kCount) < 0.02);
    CHECK(std::fabs(squares / kCount - 1) < 0.02);
  }

  TEST_CASE("uniform numbers stay in [0, 1) and fill it evenly") {
    constexpr int kCount = 100000;
    double sum = 0;
    for (int i = 0; i < kCount; ++i) {
      const double u = random_uniform(7, static_cast<std::uint64_t>(i));
      REQUIRE(u >= 0);
      REQUIRE(u < 1);
      sum += u;
    }

    CHECK(std::fabs(sum / kCount - 0.5) < 0.01);
  }

  TEST_CASE("the same argument gives the same numbers, another name or seed gives others") {
    CHECK(values_of("x=64:f32") == values_of("x=64:f32"));
    CHECK(values_of("x=64:f32") == values_of("x=64:f32~normal@0"));
    CHECK(values_of("x=64:f32") != values_of("y=64:f32"));
    CHECK(values_of("x=64:f32") != values_of("x=64:f32@1"));
  }

  TEST_CASE("the layout does not change which element has which value") {
    const Tensor dense = made("x=5x7:f32~normal@3");
    const Tensor other = made("x=5x7:f32^1,0+3/2~normal@3");

    for (std::int64_t i = 0; i < 5; ++i) {
      for (std::int64_t j = 0; j < 7; ++j) CHECK(at(dense, i, j) == at(other, i, j));
    }
  }

  TEST_CASE("arange counts in row-major order and starts again where the dtype ends") {
    CHECK(values_of("x=2x3:i32~arange") == std::vector<double>{0, 1, 2, 3, 4, 5});
    CHECK(at(made("x=2x3:f32/-1~arange"), 1, 2) == 5);

    const std::vector<double> small = values_of("x=20:f8e4m3~arange");
    CHECK(small[15] == 15);
    CHECK(small[16] == 0);
    CHECK(values_of("x=130:i8~arange")[128] == 0);
    CHECK(values_of("x=3:bool~arange") == std::vector<double>{0, 1, 0});
  }

  TEST_CASE("zeros and constants fill every element") {
    CHECK(values_of("x=3:bf16~zeros") == std::vector<double>{0, 0, 0});
    CHECK(values_of("x=2:f16~const=1.5") == std::vector<double>{1.5, 1.5});
    CHECK(values_of("x=scalar:i64~const=-4") == std::vector<double>{-4});
  }

  TEST_CASE("constants of 64-bit integers are exact beyond what a double holds") {
    const auto first = [](const Tensor& x) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, x.view().first(), sizeof bits);
      return bits;
    };
    CHECK(first(made("x=2:i64~const=9007199254740993")) == 9007199254740993u);
    CHECK(first(made("x=2:i64~const=-9223372036854775808")) == std::uint64_t{1} << 63);
    CHECK(first(made("x=2:u64~const=18446744073709551615")) == ~std::uint64_t{0});
    CHECK(first(made("x=2:i64~const=1e3")) == 1000);
  }

  TEST_CASE("integers get numbers that they hold, both parts of complex ones are drawn") {
    bool negative = false;
    for (const double v : values_of("x=100:i8")) negative = negative || v < 0;
    CHECK(negative);
    for (const double v : values_of("x=100:u8")) CHECK(v <= 60);
    for (const double v : values_of("x=100:u32~uniform")) CHECK(v < 100);
    for (const double v : values_of("x=100:bool")) CHECK((v == 0 || v == 1));

    const Tensor c = made("x=4:c64");
    float parts[8];
    std::memcpy(parts, c.view().first(), sizeof parts);
    CHECK(parts[1] != 0);
    CHECK(parts[0] != parts[1]);
  }

  TEST_CASE("bytes of the allocation that are no element are 0xff") {
    const Tensor x = made("x=2:f32+1/2~zeros");
    const auto* bytes = static_cast<const unsigned char*>(x.storage()->memory());

    CHECK(bytes[0] == 0xff);
    CHECK(bytes[4] == 0);
    CHECK(bytes[8] == 0xff);
    CHECK(bytes[12] == 0);
    CHECK(bytes[19] == 0xff);
  }

  TEST_CASE("an expanded axis is written once, with what its last element would get") {
    const Tensor expanded = made("x=3x1099511627776e:f32~normal@4");
    CHECK(expanded.view().strides == tenon::Dims{1, 0});
    const Tensor small = made("x=3x5e:f32~arange");
    const Tensor dense = made("x=3x5:f32~arange");

    for (std::int64_t i = 0; i < 3; ++i) {
      for (std::int64_t j = 0; j < 5; ++j) CHECK(at(small, i, j) == at(dense, i, 4));
    }
    CHECK(at(expanded, 0, 7) != at(expanded, 1, 7));
  }

  TEST_CASE("an empty tensor is made without memory to fill") {
    const Tensor x = made("x=0x4:f32");

    CHECK(x.view().count() == 0);
    CHECK(x.shape() == tenon::Dims{0, 4});
  }
}

}  // namespace
