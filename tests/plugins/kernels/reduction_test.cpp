// The reference kernels of softmax and sum against long double oracles.
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "support/cases.hpp"
#include "support/launcher.hpp"
#include "support/strided.hpp"

namespace tenon::test {
namespace {

template <class T>
constexpr std::int64_t kLimit = std::is_same_v<T, double> ? 4 : 1;

std::vector<tenon_value> softmax_fields(const Dims& shape, tenon_dtype dtype) {
  return {int_value(shape[0]), int_value(shape[1]), int_value(shape[2]), dtype_value(dtype)};
}

/// One row of softmax; every row of the table that serves it must give what the reference gives, up
/// to one unit.
template <class T>
std::vector<T> softmax_row(const std::vector<T>& row) {
  const Dims shape{1, static_cast<std::int64_t>(row.size()), 1};
  Strided<T> x(shape, Arrangement::kDense);
  Strided<T> output(shape, Arrangement::kDense, Strided<T>::kOutputPoison);
  std::size_t next = 0;
  x.fill([&] { return row[next++]; });
  const std::vector<tenon_value> fields = softmax_fields(shape, dtype_of<T>());
  const std::vector<const tenon_tensor*> arguments{x.tensor(), output.tensor()};
  REQUIRE(launch(row_of("SoftmaxFwdOp"), fields, arguments).status == TENON_OK);
  std::vector<T> out;
  for (const Dims& index : indices_of(shape)) out.push_back(output.at(index));
  for (const tenon_kernel_type* other :
       rows_serving("SoftmaxFwdOp", dtype_of<T>(), fields, arguments)) {
    CAPTURE(key_of(*other));
    output.poison_elements();
    REQUIRE(launch(*other, fields, arguments).status == TENON_OK);
    std::int64_t wrong = 0;
    next = 0;
    for (const Dims& index : indices_of(shape))
      count_wrong(wrong, 1, output.at(index), out[next++]);
    CHECK(wrong == 0);
  }
  return out;
}

template <class T>
long double softmax_oracle(const Strided<T>& x, const Dims& at) {
  long double total = 0;
  for (std::int64_t i = 0; i < x.shape()[1]; ++i) {
    total += std::exp(value_of(x.at({at[0], i, at[2]})) - value_of(x.at(at)));
  }
  return 1 / total;
}

TEST_SUITE("plugins/cpu/softmax") {
  TEST_CASE_TEMPLATE("D55: softmax is right for every arrangement and along inner and outer axes",
                     T,
                     TENON_TEST_FLOATS) {
    Random random(41);
    for (const Dims& shape :
         std::vector<Dims>{{1, 1, 1}, {3, 7, 1}, {2, 5, 4}, {1, 33, 2}, {4, 1, 3}}) {
      for (const Arrangement source : kReadable) {
        for (const Arrangement target : kWritable) {
          Strided<T> x(shape, source);
          Strided<T> output(shape, target, Strided<T>::kOutputPoison);
          x.fill([&] { return random.value<T>(3.0); });

          const std::vector<tenon_value> fields = softmax_fields(shape, dtype_of<T>());
          const std::vector<const tenon_tensor*> arguments{x.tensor(), output.tensor()};
          for (const tenon_kernel_type* row :
               rows_serving("SoftmaxFwdOp", dtype_of<T>(), fields, arguments)) {
            CAPTURE(key_of(*row));
            output.poison_elements();

            const Outcome outcome = launch(*row, fields, arguments);

            REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
            std::int64_t wrong = 0;
            for (const Dims& at : indices_of(shape)) {
              count_wrong(wrong, kLimit<T>, output.at(at), nearest<T>(softmax_oracle(x, at)));
            }
            REQUIRE(wrong == 0);
            REQUIRE(x.is_unchanged());
            REQUIRE(output.surroundings_are_whole());
          }
        }
      }
    }
  }

  TEST_CASE_TEMPLATE("D42: softmax does not hide undefined rows", T, TENON_TEST_FLOATS) {
    const T infinity = nearest<T>(static_cast<long double>(INFINITY));
    const T minus = nearest<T>(-static_cast<long double>(INFINITY));
    const T one = nearest<T>(1.0L);
    const T nan = nearest<T>(std::numeric_limits<long double>::quiet_NaN());
    for (const std::vector<T>& row : std::vector<std::vector<T>>{{minus, minus, minus},
                                                                 {one, infinity, one},
                                                                 {one, nan, one},
                                                                 {minus, nan},
                                                                 {nan, minus},
                                                                 {infinity}}) {
      for (const T value : softmax_row(row)) CHECK(is_nan(value));
    }
  }

  TEST_CASE("D42: softmax of extreme finite values is exact at its limits") {
    const std::vector<float> apart = softmax_row<float>({1e4F, -1e4F});
    CHECK(apart[0] == 1.0F);
    CHECK(apart[1] == 0.0F);
    for (const float value : softmax_row<float>({3e38F, 3e38F, 3e38F, 3e38F}))
      CHECK(value == 0.25F);
    const std::vector<double> opposite = softmax_row<double>({1.7e308, -1.7e308});
    CHECK(opposite[0] == 1.0);
    CHECK(opposite[1] == 0.0);
    const std::vector<float> masked = softmax_row<float>({2.0F, -INFINITY, 2.0F});
    CHECK(masked[0] == 0.5F);
    CHECK(masked[1] == 0.0F);
  }

  TEST_CASE("D58: each row of a long softmax sums to one") {
    constexpr std::int64_t kColumns = 393216;
    Random random(58);
    std::vector<float> row(kColumns);
    for (float& value : row) value = random.value<float>();
    const std::vector<float> out = softmax_row(row);
    const long double total = std::accumulate(out.begin(), out.end(), 0.0L);
    CHECK(static_cast<double>(total) == doctest::Approx(1.0).epsilon(1e-6));
  }

  TEST_CASE("softmax onto its own input is right") {
    const Dims shape{2, 3, 2};
    Strided<double> x(shape, Arrangement::kStepped);
    Strided<double> apart(shape, Arrangement::kDense);
    Random random(6);
    x.fill([&] { return random.value<double>(); });
    const auto fields = softmax_fields(shape, dtype_of<double>());
    REQUIRE(launch(row_of("SoftmaxFwdOp"), fields, {x.tensor(), apart.tensor()}).status ==
            TENON_OK);
    REQUIRE(launch(row_of("SoftmaxFwdOp"), fields, {x.tensor(), x.tensor()}).status == TENON_OK);
    for (const Dims& index : indices_of(shape)) CHECK(x.at(index) == apart.at(index));
  }

  TEST_CASE("softmax of a tensor without elements writes nothing") {
    for (const Dims& shape : std::vector<Dims>{{0, 3, 1}, {2, 0, 3}, {2, 3, 0}}) {
      Strided<float> x(shape, Arrangement::kDense);
      Strided<float> output(shape, Arrangement::kDense, Strided<float>::kOutputPoison);
      CHECK(launch(row_of("SoftmaxFwdOp"),
                   softmax_fields(shape, dtype_of<float>()),
                   {x.tensor(), output.tensor()})
                .status == TENON_OK);
      CHECK(output.surroundings_are_whole());
    }
  }
}

std::vector<tenon_value> sum_fields(const Dims& kept, const Dims& axes) {
  return {ints_value(kept), ints_value(axes)};
}

/// Kept axes followed by summed axes.
struct SumCase {
  Dims kept;
  Dims axes;
};
Dims joined(const SumCase& sum) {
  Dims shape = sum.kept;
  shape.insert(shape.end(), sum.axes.begin(), sum.axes.end());
  return shape;
}

template <class T>
T sum_oracle(const Strided<T>& x, const SumCase& sum, const Dims& at) {
  long double total = 0;
  std::uint64_t bits = 0;
  for (const Dims& rest : indices_of(sum.axes)) {
    Dims index = at;
    index.insert(index.end(), rest.begin(), rest.end());
    if constexpr (std::is_integral_v<T>) {
      bits += static_cast<std::uint64_t>(x.at(index));
    } else {
      total += value_of(x.at(index));
    }
  }
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(bits);
  } else {
    return nearest<T>(total);
  }
}

template <class T>
T sum_of(const std::vector<T>& terms, const char* key = "reference") {
  const auto count = static_cast<std::int64_t>(terms.size());
  Strided<T> x({count}, Arrangement::kDense);
  Strided<T> output({}, Arrangement::kDense, Strided<T>::kOutputPoison);
  std::size_t next = 0;
  x.fill([&] { return terms[next++]; });
  const Dims kept;
  const Dims axes{count};
  const Outcome outcome =
      launch(row_of("SumFwdOp", key), sum_fields(kept, axes), {x.tensor(), output.tensor()});
  REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
  return output.at({});
}

TEST_SUITE("plugins/cpu/sum") {
  TEST_CASE_TEMPLATE("D55: sum is right over any axes and in every arrangement",
                     T,
                     TENON_TEST_FLOATS,
                     TENON_TEST_INTEGERS) {
    Random random(43);
    const std::vector<SumCase> cases{{{}, {}},
                                     {{}, {9}},
                                     {{3}, {}},
                                     {{4}, {5}},
                                     {{1}, {5}},
                                     {{2, 3}, {4}},
                                     {{2}, {3, 4}},
                                     {{}, {2, 3, 2}},
                                     {{2, 1}, {3, 1, 2}},
                                     {{2, 2, 2}, {2, 1, 3}}};
    for (const SumCase& sum : cases) {
      const Dims shape = joined(sum);
      for (const Arrangement source : kReadable) {
        for (const Arrangement target : kWritable) {
          Strided<T> x(shape, source);
          Strided<T> output(sum.kept, target, Strided<T>::kOutputPoison);
          x.fill([&] { return random.value<T>(); });

          const std::vector<tenon_value> fields = sum_fields(sum.kept, sum.axes);
          const std::vector<const tenon_tensor*> arguments{x.tensor(), output.tensor()};
          for (const tenon_kernel_type* row :
               rows_serving("SumFwdOp", dtype_of<T>(), fields, arguments)) {
            CAPTURE(key_of(*row));
            output.poison_elements();

            const Outcome outcome = launch(*row, fields, arguments);

            REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
            std::int64_t wrong = 0;
            for (const Dims& at : indices_of(sum.kept))
              count_wrong(wrong, 1, output.at(at), sum_oracle(x, sum, at));
            REQUIRE(wrong == 0);
            REQUIRE(x.is_unchanged());
            REQUIRE(output.surroundings_are_whole());
          }
        }
      }
    }
  }

  TEST_CASE_TEMPLATE(
      "D41: a sum of no terms is zero", T, float, Half, double, std::int8_t, std::int64_t) {
    const Dims kept{8};
    const Dims axes{0};
    Strided<T> x({8, 0}, Arrangement::kDense);
    Strided<T> output(kept, Arrangement::kDense, Strided<T>::kOutputPoison);
    REQUIRE(
        launch(row_of("SumFwdOp"), sum_fields(kept, axes), {x.tensor(), output.tensor()}).status ==
        TENON_OK);
    for (const Dims& index : indices_of(kept)) CHECK(value_of(output.at(index)) == 0);
  }

  TEST_CASE("integer sums are made in 64 bits and wrap to their type") {
    for (const char* key : {"reference", "vector"}) {
      CHECK(sum_of<std::int8_t>({127, 1}, key) == -128);
      CHECK(sum_of<std::uint8_t>({255, 255, 3}, key) == 1);
      CHECK(sum_of<std::int32_t>({INT32_MAX, INT32_MAX, 2}, key) == 0);
      CHECK(sum_of<std::int64_t>({INT64_MAX, 1}, key) == INT64_MIN);
      CHECK(sum_of<std::int64_t>({INT64_MIN, -1}, key) == INT64_MAX);
      CHECK(sum_of<std::int16_t>(std::vector<std::int16_t>(100'000, 1), key) ==
            static_cast<std::int16_t>(100'000));
    }
  }

  TEST_CASE("long sums do not stagnate and do not lose small terms between large ones") {
    CHECK(value_of(sum_of(std::vector<Half>(60'000, Half{0x3c00}))) == 60'000.0L);
    CHECK(value_of(sum_of(std::vector<BHalf>(1 << 15, BHalf{0x3f80}))) == 32768.0L);
    CHECK(sum_of<float>({1e30F, 1.0F, -1e30F}) == 1.0F);
    CHECK(sum_of<double>({1e300, 1.0, -1e300}) == 1.0);
    CHECK(sum_of<double>({1.7e308, 1.7e308, -1.7e308}) == 1.7e308);
    CHECK(sum_of(std::vector<float>(1 << 22, 0.1F)) ==
          doctest::Approx(0.1F * (1 << 22)).epsilon(1e-7));
  }

  TEST_CASE("the vector form sums long rows and columns as the reference does") {
    for (const Dims& shape : std::vector<Dims>{{3, 5000}, {5000, 3}, {2, 300}, {70, 2100}}) {
      for (const bool columns : {false, true}) {
        Random random(77);
        const Dims strides = columns ? Dims{1, shape[0]} : Dims{shape[1], 1};
        Strided<float> x(shape, strides, 1, Strided<float>::kNanPoison);
        Strided<float> ours({shape[0]}, Arrangement::kDense, Strided<float>::kOutputPoison);
        Strided<float> reference({shape[0]}, Arrangement::kDense);
        x.fill([&] { return random.value<float>() + 1.0F; });
        const Dims kept{shape[0]};
        const Dims axes{shape[1]};
        REQUIRE(launch(row_of("SumFwdOp", "vector"),
                       sum_fields(kept, axes),
                       {x.tensor(), ours.tensor()})
                    .status == TENON_OK);
        REQUIRE(launch(row_of("SumFwdOp"), sum_fields(kept, axes), {x.tensor(), reference.tensor()})
                    .status == TENON_OK);
        std::int64_t wrong = 0;
        for (const Dims& at : indices_of(kept))
          count_wrong(wrong, 1, ours.at(at), reference.at(at));
        CHECK(wrong == 0);
        CHECK(ours.surroundings_are_whole());
      }
    }
  }

  TEST_CASE("sums of special values follow IEEE arithmetic") {
    CHECK(sum_of<double>({1.0, INFINITY}) == static_cast<double>(INFINITY));
    CHECK(std::isnan(sum_of<double>({INFINITY, -INFINITY})));
    CHECK(std::isnan(sum_of<float>({1.0F, NAN, 2.0F})));
    CHECK(sum_of<float>({3e38F, 3e38F}) == static_cast<float>(INFINITY));
    CHECK(sum_of<float>({3e38F, 3e38F, -3e38F}) == 3e38F);
  }

  TEST_CASE("an x whose leading axes are not the kept ones ends the launch") {
    Strided<float> x({3, 4}, Arrangement::kDense);
    Strided<float> output({2}, Arrangement::kDense, Strided<float>::kOutputPoison);
    const Outcome outcome =
        launch(row_of("SumFwdOp"), sum_fields({2}, {4}), {x.tensor(), output.tensor()});
    CHECK(outcome.status == TENON_INVALID_ARGUMENT);
    CHECK(output.surroundings_are_whole());
  }
}

}  // namespace
}  // namespace tenon::test
