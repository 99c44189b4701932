// CastFwdOp on the CPU: every pair of dtypes, and the values on which casts differ.
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "runtime/cpu_runtime.hpp"

using namespace tenon;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

Tensor of(DType dtype, const std::vector<double>& values) {
  Tensor t = Tensor::host(dtype, Dims{static_cast<std::int64_t>(values.size())}).value();
  for (std::size_t i = 0; i < values.size(); ++i)
    store_from_double(dtype, t.data<std::byte>() + i * size_bytes_of(dtype), values[i]);
  return t;
}

Tensor cast(const Runtime& runtime, const Tensor& x, DType to) {
  auto op = runtime.make("CastFwdOp", {{"to", Value(to)}});
  if (!op) FAIL(op.error().to_string());
  auto out = op->call({{"x", x}});
  if (!out) FAIL(out.error().to_string());
  return out->front();
}

std::vector<double> values(const Tensor& t) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < t.view().count(); ++i) {
    const auto at = static_cast<std::size_t>(i) * size_bytes_of(t.dtype());
    all.push_back(load_as_double(t.dtype(), t.data<std::byte>() + at));
  }
  return all;
}

std::vector<double> cast_of(const Runtime& runtime,
                            DType from,
                            const std::vector<double>& x,
                            DType to) {
  return values(cast(runtime, of(from, x), to));
}

using Doubles = std::vector<double>;

bool is_float(DType dtype) { return info_of(dtype).category == DTypeCategory::kFloat; }

}  // namespace

TEST_SUITE("runtime/cast") {
  TEST_CASE("D52: float32 becomes bfloat16 by rounding to nearest, ties to even") {
    const Runtime runtime = tenon::test::cpu_runtime();
    const Doubles got =
        cast_of(runtime,
                DType::kFloat32,
                {0.2691408770292272, 1.00390625, 1.01171875, 3.4e38, -0.0, kInfinity},
                DType::kBFloat16);
    CHECK(got == Doubles{0.26953125, 1.0, 1.015625, kInfinity, -0.0, kInfinity});
    CHECK(std::signbit(got[4]));
  }

  TEST_CASE("real to integer truncates and saturates, and NaN gives 0") {
    const Runtime runtime = tenon::test::cpu_runtime();
    const Doubles x{1.9, -1.9, 300, -300, kInfinity, -kInfinity, kNaN, 0.5};
    CHECK(cast_of(runtime, DType::kFloat32, x, DType::kInt8) ==
          Doubles{1, -1, 127, -128, 127, -128, 0, 0});
    CHECK(cast_of(runtime, DType::kFloat64, x, DType::kUInt8) ==
          Doubles{1, 0, 255, 0, 255, 0, 0, 0});
    const Tensor wide =
        cast(runtime, of(DType::kFloat32, {0x1p63, -0x1p63, 0x1p62}), DType::kInt64);
    CHECK(wide.data<std::int64_t>()[0] == std::numeric_limits<std::int64_t>::max());
    CHECK(wide.data<std::int64_t>()[1] == std::numeric_limits<std::int64_t>::min());
    CHECK(wide.data<std::int64_t>()[2] == std::int64_t{1} << 62);
    CHECK(cast_of(runtime, DType::kFloat16, {0, -0.0, 0.25, kNaN}, DType::kBool) ==
          Doubles{0, 0, 1, 1});
  }

  TEST_CASE("between integers the low bits are kept, and integers round once") {
    const Runtime runtime = tenon::test::cpu_runtime();
    CHECK(cast_of(runtime, DType::kInt32, {300, -1, 128}, DType::kInt8) == Doubles{44, -1, -128});
    CHECK(cast_of(runtime, DType::kInt64, {-1, 256}, DType::kUInt8) == Doubles{255, 0});
    Tensor x = Tensor::host(DType::kInt64, Dims{3}).value();
    // Through double each of these would be rounded to a tie first, and then to even.
    x.data<std::int64_t>()[0] = (std::int64_t{1} << 62) + (std::int64_t{1} << 38) + 1;
    x.data<std::int64_t>()[1] = -x.data<std::int64_t>()[0];
    x.data<std::int64_t>()[2] = std::numeric_limits<std::int64_t>::max();
    const Tensor y = cast(runtime, x, DType::kFloat32);
    CHECK(y.data<float>()[0] == std::nextafter(0x1p62f, 0x1p63f));
    CHECK(y.data<float>()[1] == -y.data<float>()[0]);
    CHECK(y.data<float>()[2] == 0x1p63f);
  }

  TEST_CASE("a bool is any byte but 0, and becomes 1") {
    const Runtime runtime = tenon::test::cpu_runtime();
    Tensor x = Tensor::host(DType::kBool, Dims{3}).value();
    x.data<std::uint8_t>()[0] = 7;
    x.data<std::uint8_t>()[2] = 1;
    CHECK(values(cast(runtime, x, DType::kFloat32)) == Doubles{1, 0, 1});
    CHECK(values(cast(runtime, x, DType::kBool)) == Doubles{1, 0, 1});
  }

  TEST_CASE("every pair of dtypes rounds as its format says, float8 and subnormals included") {
    const Runtime runtime = tenon::test::cpu_runtime();
    Doubles x{0,     -0.0,     1,      -2.5,    0.3,       17,         100,     239.9,     447,
              448,   463.99,   464,    480,     57344,     61439.9,    61440,   65504,     65519,
              65520, 1e-3,     0x1p-9, 0x1p-10, 0x1.8p-10, 0x1p-16,    0x1p-17, 0x1.1p-17, 0x1p-24,
              1e-40, 0x1p-149, 3e38,   1e39,    kInfinity, -kInfinity, kNaN};
    int pairs = 0;
    for (const DType from : {DType::kFloat16,
                             DType::kBFloat16,
                             DType::kFloat32,
                             DType::kFloat64,
                             DType::kFloat8E4M3FN,
                             DType::kFloat8E5M2,
                             DType::kInt16,
                             DType::kUInt8}) {
      const Tensor source = is_float(from) ? of(from, x) : of(from, {0, 1, 7, 100, 255});
      for (const DType to : {DType::kFloat16,
                             DType::kBFloat16,
                             DType::kFloat32,
                             DType::kFloat64,
                             DType::kFloat8E4M3FN,
                             DType::kFloat8E5M2}) {
        CAPTURE(name_of(from));
        CAPTURE(name_of(to));
        const Doubles got = values(cast(runtime, source, to));
        const Doubles expected = values(of(to, values(source)));
        for (std::size_t i = 0; i < got.size(); ++i) {
          CAPTURE(values(source)[i]);
          const bool both_nan = std::isnan(got[i]) && std::isnan(expected[i]);
          CHECK((both_nan || got[i] == expected[i]));
        }
        ++pairs;
      }
    }
    CHECK(pairs == 48);
  }

  TEST_CASE("a cast reads and writes any strides, and what it cannot make is refused") {
    const Runtime runtime = tenon::test::cpu_runtime();
    const Tensor memory = of(DType::kFloat32, {1, 9, 2, 9, 3, 9});
    TensorView x = memory.view();
    x.shape = Dims{3};
    x.strides = Dims{2};
    auto op = runtime.make("CastFwdOp", {{"to", Value(DType::kInt32)}}).value();
    CHECK(values(op.call({{"x", x}}).value().front()) == Doubles{1, 2, 3});
    const auto refused = runtime.make("CastFwdOp", {{"to", Value(DType::kComplex64)}});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kSignatureMismatch);
  }
}
