// The reference kernels of add, mul, gelu and copy against oracles of the tests' own.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/cases.hpp"
#include "support/launcher.hpp"
#include "support/strided.hpp"

namespace tenon::test {
namespace {

__extension__ typedef __int128
    Int128;  // NOLINT(modernize-use-using): the extension mark needs a typedef

/// Binary ops: op name, fields, and the oracle on long double and on 128-bit integers.
struct Add {
  static constexpr auto op = "AddFwdOp";
  tenon_value alpha;
  [[nodiscard]] std::vector<tenon_value> fields(const Dims& shape, tenon_dtype dtype) const {
    return {ints_value(shape), alpha, dtype_value(dtype)};
  }
  [[nodiscard]] long double operator()(long double a, long double b) const {
    return a + (alpha.kind == TENON_VALUE_INT ? static_cast<long double>(alpha.i)
                                              : static_cast<long double>(alpha.f)) *
                   b;
  }
  [[nodiscard]] Int128 integer(Int128 a, Int128 b) const { return a + alpha.i * b; }
};
struct Mul {
  static constexpr auto op = "MulFwdOp";
  [[nodiscard]] static std::vector<tenon_value> fields(const Dims& shape, tenon_dtype dtype) {
    return {ints_value(shape), dtype_value(dtype)};
  }
  [[nodiscard]] long double operator()(long double a, long double b) const { return a * b; }
  [[nodiscard]] static Int128 integer(Int128 a, Int128 b) { return a * b; }
};

template <class T, class Op>
T oracle(const Op& op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(op.integer(a, b));  // modulo 2^bits
  } else {
    return nearest<T>(op(value_of(a), value_of(b)));
  }
}

/// Every arrangement of the first operand, with others for the second and the output in turn.
template <class T, class Op>
void check_binary(const Op& op) {
  Random random(11);
  std::int64_t wrong = 0;
  for (const Dims& shape : shapes_of_each_rank()) {
    for (const Arrangement first : kReadable) {
      for (const Arrangement second : kReadable) {
        for (const Arrangement target : kWritable) {
          CAPTURE(static_cast<int>(first));
          CAPTURE(static_cast<int>(second));
          CAPTURE(static_cast<int>(target));
          Strided<T> a(shape, first);
          Strided<T> b(shape, second);
          Strided<T> output(shape, target, Strided<T>::kOutputPoison);
          a.fill([&] { return random.value<T>(); });
          b.fill([&] { return random.value<T>(); });

          const std::vector<tenon_value> fields = op.fields(shape, dtype_of<T>());
          const std::vector<const tenon_tensor*> arguments{a.tensor(), b.tensor(), output.tensor()};
          for (const tenon_kernel_type* row :
               rows_serving(Op::op, dtype_of<T>(), fields, arguments)) {
            CAPTURE(key_of(*row));
            output.poison_elements();

            const Outcome outcome = launch(*row, fields, arguments);

            REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
            for (const Dims& index : indices_of(shape)) {
              count_wrong(wrong, 1, output.at(index), oracle<T>(op, a.at(index), b.at(index)));
            }
            REQUIRE(wrong == 0);
            REQUIRE(a.is_unchanged());
            REQUIRE(b.is_unchanged());
            REQUIRE(output.surroundings_are_whole());
          }
        }
      }
    }
  }
}

/// Launches every row that serves the call; each must give what the reference gives, up to one
/// unit. One element, the reference's.
template <class T>
T same_of_every_row(const char* op,
                    const std::vector<tenon_value>& fields,
                    const std::vector<const tenon_tensor*>& arguments,
                    Strided<T>& output) {
  REQUIRE(launch(row_of(op), fields, arguments).status == TENON_OK);
  const T expected = output.at({});
  for (const tenon_kernel_type* row : rows_serving(op, dtype_of<T>(), fields, arguments)) {
    CAPTURE(key_of(*row));
    output.poison_elements();
    const Outcome outcome = launch(*row, fields, arguments);
    REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
    std::int64_t wrong = 0;
    count_wrong(wrong, 1, output.at({}), expected);
    CHECK(wrong == 0);
  }
  return expected;
}

template <class T>
T binary_scalar(const char* op, const std::vector<tenon_value>& fields, T a, T b) {
  Strided<T> left({}, Arrangement::kDense);
  Strided<T> right({}, Arrangement::kDense);
  Strided<T> output({}, Arrangement::kDense, Strided<T>::kOutputPoison);
  left.set({}, a);
  right.set({}, b);
  return same_of_every_row<T>(op, fields, {left.tensor(), right.tensor(), output.tensor()}, output);
}

template <class T>
T add_scalar(T a, T b, tenon_value alpha = int_value(1)) {
  const Dims none;
  return binary_scalar<T>("AddFwdOp", {ints_value(none), alpha, dtype_value(dtype_of<T>())}, a, b);
}
template <class T>
T mul_scalar(T a, T b) {
  const Dims none;
  return binary_scalar<T>("MulFwdOp", {ints_value(none), dtype_value(dtype_of<T>())}, a, b);
}
template <class T>
T gelu_scalar(T x, const char* approximate) {
  const Dims none;
  Strided<T> input({}, Arrangement::kDense);
  Strided<T> output({}, Arrangement::kDense);
  input.set({}, x);
  return same_of_every_row<T>(
      "GeluFwdOp",
      {ints_value(none), text_value(approximate), dtype_value(dtype_of<T>())},
      {input.tensor(), output.tensor()},
      output);
}

/// GELU by its definition, in long double, the form that cancels least on each side.
long double gelu_oracle(long double x, bool tanh_form) {
  if (!tanh_form) return x / 2 * std::erfc(-x * std::sqrt(0.5L));
  const long double u =
      std::sqrt(2 / 3.14159265358979323846264338327950288L) * (x + 0.044715 * x * x * x);
  return x / (1 + std::exp(-2 * u));
}

TEST_SUITE("plugins/cpu/elementwise") {
  TEST_CASE_TEMPLATE("D55: add is right for every arrangement of operands and output",
                     T,
                     TENON_TEST_FLOATS,
                     TENON_TEST_INTEGERS) {
    check_binary<T>(Add{int_value(1)});
  }

  TEST_CASE_TEMPLATE("add scales the second operand by an integer alpha",
                     T,
                     float,
                     std::int8_t,
                     std::uint8_t,
                     std::int64_t) {
    check_binary<T>(Add{int_value(3)});
  }

  TEST_CASE_TEMPLATE("add scales the second operand by a float alpha", T, TENON_TEST_FLOATS) {
    check_binary<T>(Add{float_value(-0.37)});
  }

  TEST_CASE_TEMPLATE("D55: mul is right for every arrangement of operands and output",
                     T,
                     TENON_TEST_FLOATS,
                     TENON_TEST_INTEGERS) {
    check_binary<T>(Mul{});
  }

  TEST_CASE("integers wrap around in add and mul, and alpha wraps with them") {
    CHECK(add_scalar<std::int8_t>(127, 1) == -128);
    CHECK(add_scalar<std::uint8_t>(200, 100) == 44);
    CHECK(add_scalar<std::int64_t>(INT64_MAX, 1) == INT64_MIN);
    CHECK(add_scalar<std::int8_t>(0, 100, int_value(-2)) == 56);
    CHECK(add_scalar<std::int64_t>(0, INT64_MIN, int_value(-1)) == INT64_MIN);
    CHECK(mul_scalar<std::int32_t>(INT32_MAX, 2) == -2);
    CHECK(mul_scalar<std::int64_t>(INT64_MIN, -1) == INT64_MIN);
    CHECK(mul_scalar<std::uint8_t>(16, 17) == 16);
  }

  TEST_CASE("add rounds once: what a product and a sum would each lose is kept") {
    // 0.1 * 10 - 1 in double is 0 when the product is rounded on its own.
    CHECK(add_scalar<double>(-1.0, 10.0, float_value(0.1)) == std::fma(0.1, 10.0, -1.0));
    CHECK(add_scalar<double>(-1.0, 10.0, float_value(0.1)) != 0.0);
  }

  TEST_CASE("special values follow IEEE arithmetic in add and mul") {
    const double infinity = INFINITY;
    CHECK(std::isnan(add_scalar<double>(infinity, -infinity)));
    CHECK(std::isnan(add_scalar<double>(1, infinity, int_value(0))));
    CHECK(add_scalar<double>(infinity, 1) == infinity);
    CHECK(std::signbit(add_scalar<double>(-0.0, -0.0)));
    CHECK(std::isnan(mul_scalar<double>(0, infinity)));
    CHECK(std::signbit(mul_scalar<double>(-0.0, 2.0)));
    CHECK(std::isnan(mul_scalar<double>(NAN, 2.0)));
    CHECK(mul_scalar<float>(0x1p-149F, 1.0F) == 0x1p-149F);
    CHECK(mul_scalar<Half>(Half{0x7bff}, Half{0x4000}).bits == 0x7c00);
  }

  TEST_CASE("D63: an output that is the very same view as an operand is right") {
    const Dims shape{3, 4};
    for (const Arrangement arrangement : kWritable) {
      Random random(5);
      Strided<float> a(shape, arrangement);
      Strided<float> b(shape, Arrangement::kDense);
      a.fill([&] { return random.value<float>(); });
      b.fill([&] { return random.value<float>(); });
      std::vector<float> expected;
      for (const Dims& index : indices_of(shape)) expected.push_back(a.at(index) + 2 * b.at(index));

      const Outcome outcome =
          launch(row_of("AddFwdOp"),
                 {ints_value(shape), int_value(2), dtype_value(dtype_of<float>())},
                 {a.tensor(), b.tensor(), a.tensor()});

      REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
      std::size_t at = 0;
      for (const Dims& index : indices_of(shape))
        CHECK(a.at(index) == doctest::Approx(expected[at++]));
      CHECK(a.surroundings_are_whole());
    }
  }

  TEST_CASE_TEMPLATE("gelu is right in both forms for every arrangement", T, TENON_TEST_FLOATS) {
    for (const bool tanh_form : {false, true}) {
      Random random(23);
      std::int64_t wrong = 0;
      for (const Dims& shape : shapes_of_each_rank()) {
        for (const Arrangement source : kReadable) {
          for (const Arrangement target : kWritable) {
            Strided<T> x(shape, source);
            Strided<T> output(shape, target, Strided<T>::kOutputPoison);
            x.fill([&] { return random.value<T>(3.0); });

            const std::vector<tenon_value> fields = {ints_value(shape),
                                                     text_value(tanh_form ? "tanh" : "none"),
                                                     dtype_value(dtype_of<T>())};
            const std::vector<const tenon_tensor*> arguments{x.tensor(), output.tensor()};
            for (const tenon_kernel_type* row :
                 rows_serving("GeluFwdOp", dtype_of<T>(), fields, arguments)) {
              CAPTURE(key_of(*row));
              output.poison_elements();

              const Outcome outcome = launch(*row, fields, arguments);

              REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
              for (const Dims& index : indices_of(shape)) {
                count_wrong(wrong,
                            1,
                            output.at(index),
                            nearest<T>(gelu_oracle(value_of(x.at(index)), tanh_form)));
              }
              REQUIRE(wrong == 0);
              REQUIRE(x.is_unchanged());
              REQUIRE(output.surroundings_are_whole());
            }
          }
        }
      }
    }
  }

  TEST_CASE("D50: the two forms of gelu are not swapped") {
    CHECK(std::abs(gelu_scalar(2.3, "none") - 2.2753345) < 2e-6);
    CHECK(std::abs(gelu_scalar(3.0, "none") - 2.9959503) < 2e-6);
    CHECK(std::abs(gelu_scalar(2.3, "tanh") - 2.2756730) < 2e-6);
    CHECK(std::abs(gelu_scalar(3.0, "tanh") - 2.9963626) < 2e-6);
    CHECK(std::abs(gelu_scalar(2.6985, "tanh") - gelu_scalar(2.6985, "none")) > 4e-4);
  }

  TEST_CASE("gelu keeps its digits for negative values and its limits for large ones") {
    // By the tail of the normal distribution: x * Q(10) at x = -10, Q(10)
    // = 7.61985302416052607e-24.
    CHECK(gelu_scalar(-10.0, "none") == doctest::Approx(-7.61985302416052607e-23).epsilon(1e-13));
    CHECK(gelu_scalar(1e300, "none") == 1e300);
    CHECK(gelu_scalar(1e300, "tanh") == 1e300);
    CHECK(gelu_scalar(-1e300, "tanh") == 0);
    CHECK(gelu_scalar(-1e300, "none") == 0);
    CHECK(gelu_scalar(static_cast<double>(INFINITY), "none") == static_cast<double>(INFINITY));
    CHECK(std::isnan(gelu_scalar(static_cast<double>(NAN), "tanh")));
    CHECK(std::signbit(gelu_scalar(-0.0, "none")));
    for (const char* form : {"none", "tanh"}) {
      CHECK(std::isnan(gelu_scalar(-INFINITY, form)));
      CHECK(std::isnan(gelu_scalar(NAN, form)));
      CHECK(gelu_scalar(INFINITY, form) == INFINITY);
      CHECK(gelu_scalar(3.4e38F, form) == 3.4e38F);
      CHECK(gelu_scalar(-3.4e38F, form) == 0.0F);
      CHECK(gelu_scalar(0x1p-149F, form) == 0.0F);
      CHECK(std::signbit(gelu_scalar(-0.0F, form)));
    }
    for (const float x : {-13.0F, -9.5F, -5.0F, -2.0F, -0.5F, 1e-20F, 0.25F, 4.0F, 9.0F}) {
      CHECK(gelu_scalar(x, "none") <= std::max(x, 0.0F));
      CHECK(gelu_scalar(x, "tanh") <= std::max(x, 0.0F));
    }
  }

  TEST_CASE("an empty shape launches nothing and writes nothing") {
    for (const Dims& shape : std::vector<Dims>{{0}, {2, 0, 3}, {0, 4}}) {
      Strided<float> x(shape, Arrangement::kDense);
      Strided<float> output(shape, Arrangement::kDense, Strided<float>::kOutputPoison);
      const Outcome outcome = launch(row_of("MulFwdOp"),
                                     {ints_value(shape), dtype_value(dtype_of<float>())},
                                     {x.tensor(), x.tensor(), output.tensor()});
      CHECK(outcome.status == TENON_OK);
      CHECK(output.surroundings_are_whole());
    }
  }

  TEST_CASE("operands whose shape or dtype is not the output's end the launch with the name") {
    Strided<float> a({2, 3}, Arrangement::kDense);
    Strided<float> b({2, 4}, Arrangement::kDense);
    Strided<double> d({2, 3}, Arrangement::kDense);
    Strided<float> output({2, 3}, Arrangement::kDense, Strided<float>::kOutputPoison);
    const Dims shape{2, 3};
    const std::vector<tenon_value> fields{ints_value(shape), dtype_value(dtype_of<float>())};

    const Outcome shape_fault =
        launch(row_of("MulFwdOp"), fields, {a.tensor(), b.tensor(), output.tensor()});
    const Outcome dtype_fault =
        launch(row_of("MulFwdOp"), fields, {d.tensor(), a.tensor(), output.tensor()});
    const Outcome absent =
        launch(row_of("MulFwdOp"), fields, {a.tensor(), nullptr, output.tensor()});

    CHECK(shape_fault.status == TENON_INVALID_ARGUMENT);
    CHECK(shape_fault.text.find("other") != std::string::npos);
    CHECK(dtype_fault.status == TENON_INVALID_ARGUMENT);
    CHECK(dtype_fault.text.find("self is float64, expected float32") != std::string::npos);
    CHECK(absent.status == TENON_INVALID_ARGUMENT);
    CHECK(output.surroundings_are_whole());
    CHECK(std::bit_cast<std::uint32_t>(output.at({0, 0})) == 0xcdcdcdcdU);
  }
}

template <class Carrier>
void check_copy(tenon_dtype dtype) {
  Random random(3);
  for (const Dims& shape : shapes_of_each_rank()) {
    for (const Arrangement source : kReadable) {
      for (const Arrangement target : kWritable) {
        Strided<Carrier> x(shape, source);
        Strided<Carrier> output(shape, target, Strided<Carrier>::kOutputPoison);
        x.set_dtype(dtype);
        output.set_dtype(dtype);
        x.fill([&] {
          Carrier value;
          std::uint64_t bits[2] = {random.value<std::uint64_t>(), random.value<std::uint64_t>()};
          std::memcpy(&value, bits, sizeof(value));
          return value;
        });

        const std::vector<tenon_value> fields = {ints_value(shape), dtype_value(dtype)};
        const std::vector<const tenon_tensor*> arguments{x.tensor(), output.tensor()};
        for (const tenon_kernel_type* row : rows_serving("CopyFwdOp", dtype, fields, arguments)) {
          CAPTURE(key_of(*row));
          output.poison_elements();

          const Outcome outcome = launch(*row, fields, arguments);

          REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
          for (const Dims& index : indices_of(shape)) REQUIRE(output.at(index) == x.at(index));
          REQUIRE(x.is_unchanged());
          REQUIRE(output.surroundings_are_whole());
        }
      }
    }
  }
}

TEST_SUITE("plugins/cpu/copy") {
  TEST_CASE("copy keeps every bit of every dtype, in every arrangement") {
    using Bytes16 = std::array<std::uint64_t, 2>;
    check_copy<std::uint8_t>({TENON_DTYPE_BOOL, 8, 1});
    check_copy<std::uint8_t>({TENON_DTYPE_UINT, 8, 1});
    check_copy<std::uint8_t>({TENON_DTYPE_FLOAT8_E4M3FN, 8, 1});
    check_copy<std::uint8_t>({TENON_DTYPE_FLOAT8_E5M2, 8, 1});
    check_copy<std::uint16_t>({TENON_DTYPE_FLOAT, 16, 1});
    check_copy<std::uint16_t>({TENON_DTYPE_BFLOAT, 16, 1});
    check_copy<std::uint32_t>({TENON_DTYPE_FLOAT, 32, 1});
    check_copy<std::uint64_t>({TENON_DTYPE_COMPLEX, 64, 1});
    check_copy<std::uint64_t>({TENON_DTYPE_INT, 64, 1});
    check_copy<Bytes16>({TENON_DTYPE_COMPLEX, 128, 1});
  }

  TEST_CASE("copy takes a tensor of the highest rank") {
    const Dims shape{2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 2};
    Strided<std::int16_t> x(shape, Arrangement::kTransposed);
    Strided<std::int16_t> output(
        shape, Arrangement::kReversed, Strided<std::int16_t>::kOutputPoison);
    std::int16_t next = 0;
    x.fill([&] { return next++; });

    const Outcome outcome = launch(row_of("CopyFwdOp"),
                                   {ints_value(shape), dtype_value(dtype_of<std::int16_t>())},
                                   {x.tensor(), output.tensor()});

    REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
    for (const Dims& index : indices_of(shape)) CHECK(output.at(index) == x.at(index));
  }

  TEST_CASE("copy onto the very same view changes nothing") {
    const Dims shape{4, 3};
    Strided<double> x(shape, Arrangement::kStepped);
    Random random(1);
    x.fill([&] { return random.value<double>(); });

    const Outcome outcome = launch(row_of("CopyFwdOp"),
                                   {ints_value(shape), dtype_value(dtype_of<double>())},
                                   {x.tensor(), x.tensor()});

    CHECK(outcome.status == TENON_OK);
    CHECK(x.is_unchanged());
  }
}

}  // namespace
}  // namespace tenon::test
