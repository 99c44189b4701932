// The reference kernels of the row normalisations against long double oracles.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "support/cases.hpp"
#include "support/launcher.hpp"
#include "support/strided.hpp"

namespace tenon::test {
namespace {

/// Units in the last place that a result may be off: one rounding for the narrow types, V1's 8 for
/// float64 (half of which this reference leaves free).
template <class T>
constexpr std::int64_t kLimit = std::is_same_v<T, double> ? 4 : 1;

std::vector<tenon_value> rms_fields(
    std::int64_t m, std::int64_t n, tenon_value eps, tenon_dtype dtype, bool affine) {
  return {int_value(m), int_value(n), eps, dtype_value(dtype), bool_value(affine)};
}
std::vector<tenon_value> layer_fields(
    std::int64_t m, std::int64_t n, double eps, tenon_dtype dtype, bool has_weight, bool has_bias) {
  return {int_value(m),
          int_value(n),
          float_value(eps),
          dtype_value(dtype),
          bool_value(has_weight),
          bool_value(has_bias)};
}

template <class T>
long double rms_oracle(const Strided<T>& x,
                       const Strided<T>* weight,
                       std::int64_t row,
                       std::int64_t column,
                       long double eps) {
  const std::int64_t n = x.shape()[1];
  long double squares = 0;
  for (std::int64_t i = 0; i < n; ++i)
    squares += value_of(x.at({row, i})) * value_of(x.at({row, i}));
  const long double scale = weight == nullptr ? 1 : value_of(weight->at({column}));
  return value_of(x.at({row, column})) / std::sqrt(squares / static_cast<long double>(n) + eps) *
         scale;
}

template <class T>
long double layer_oracle(const Strided<T>& x,
                         const Strided<T>* weight,
                         const Strided<T>* bias,
                         std::int64_t row,
                         std::int64_t column,
                         long double eps) {
  const std::int64_t n = x.shape()[1];
  long double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += value_of(x.at({row, i}));
  const long double mean = sum / static_cast<long double>(n);
  long double squares = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const long double difference = value_of(x.at({row, i})) - mean;
    squares += difference * difference;
  }
  const long double normalized = (value_of(x.at({row, column})) - mean) /
                                 std::sqrt(squares / static_cast<long double>(n) + eps);
  return normalized * (weight == nullptr ? 1 : value_of(weight->at({column}))) +
         (bias == nullptr ? 0 : value_of(bias->at({column})));
}

/// Whether a result is right up to `limit` units in its last place, or up to what long double
/// itself loses in terms of this magnitude: where x and its mean, or the product and the bias,
/// nearly cancel, the oracle has no more digits than that.
template <class T>
bool is_right(T found, long double expected, std::int64_t limit, long double magnitude) {
  return ulps_between(found, nearest<T>(expected)) <= limit ||
         std::abs(value_of(found) - expected) <=
             8 * std::numeric_limits<long double>::epsilon() * magnitude;
}

/// One RMSNorm row through the reference, in the given type.
template <class T>
std::vector<T> rms_row(const std::vector<T>& row,
                       tenon_value eps,
                       const char* key = "reference",
                       const std::vector<T>& weight = {}) {
  const auto n = static_cast<std::int64_t>(row.size());
  Strided<T> x({1, n}, Arrangement::kDense);
  Strided<T> w({n}, Arrangement::kDense);
  Strided<T> output({1, n}, Arrangement::kDense, Strided<T>::kOutputPoison);
  std::size_t next = 0;
  x.fill([&] { return row[next++]; });
  next = 0;
  if (!weight.empty()) w.fill([&] { return weight[next++]; });
  const Outcome outcome =
      launch(row_of("RMSNormFwdOp", key),
             rms_fields(1, n, eps, dtype_of<T>(), !weight.empty()),
             {x.tensor(), weight.empty() ? nullptr : w.tensor(), output.tensor()});
  REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
  std::vector<T> out;
  for (const Dims& index : indices_of({1, n})) out.push_back(output.at(index));
  return out;
}

template <class T>
std::vector<T> layer_row(const std::vector<T>& row, double eps, const char* key = "reference") {
  const auto n = static_cast<std::int64_t>(row.size());
  Strided<T> x({1, n}, Arrangement::kDense);
  Strided<T> output({1, n}, Arrangement::kDense, Strided<T>::kOutputPoison);
  std::size_t next = 0;
  x.fill([&] { return row[next++]; });
  const Outcome outcome = launch(row_of("LayerNormFwdOp", key),
                                 layer_fields(1, n, eps, dtype_of<T>(), false, false),
                                 {x.tensor(), nullptr, nullptr, output.tensor()});
  REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
  std::vector<T> out;
  for (const Dims& index : indices_of({1, n})) out.push_back(output.at(index));
  return out;
}

const std::vector<const char*>& norm_keys() {
  static const std::vector<const char*> keys{"reference", "rows"};
  return keys;
}

TEST_SUITE("plugins/cpu/norm") {
  TEST_CASE_TEMPLATE("D55, D60: rms_norm is right for every arrangement, with and without a weight",
                     T,
                     TENON_TEST_FLOATS) {
    Random random(31);
    for (const Dims& shape :
         std::vector<Dims>{{1, 1}, {1, 7}, {3, 1}, {4, 16}, {63, 5}, {65, 3}, {2, 127}}) {
      for (const Arrangement source : kReadable) {
        for (const Arrangement weights : kReadable) {
          for (const Arrangement target : kWritable) {
            const bool affine = weights != Arrangement::kReversed;
            Strided<T> x(shape, source);
            Strided<T> weight({shape[1]}, weights);
            Strided<T> output(shape, target, Strided<T>::kOutputPoison);
            x.fill([&] { return random.value<T>(2.0); });
            weight.fill([&] { return random.value<T>(); });

            const std::vector<tenon_value> fields =
                rms_fields(shape[0], shape[1], float_value(1e-6), dtype_of<T>(), affine);
            const std::vector<const tenon_tensor*> arguments{
                x.tensor(), affine ? weight.tensor() : nullptr, output.tensor()};
            for (const tenon_kernel_type* row :
                 rows_serving("RMSNormFwdOp", dtype_of<T>(), fields, arguments)) {
              CAPTURE(key_of(*row));
              output.poison_elements();

              const Outcome outcome = launch(*row, fields, arguments);

              REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
              std::int64_t wrong = 0;
              for (const Dims& at : indices_of(shape)) {
                const long double expected =
                    rms_oracle(x, affine ? &weight : nullptr, at[0], at[1], 1e-6);
                count_wrong(wrong, kLimit<T>, output.at(at), nearest<T>(expected));
              }
              REQUIRE(wrong == 0);
              REQUIRE(x.is_unchanged());
              REQUIRE(weight.is_unchanged());
              REQUIRE(output.surroundings_are_whole());
            }
          }
        }
      }
    }
  }

  TEST_CASE_TEMPLATE(
      "D55, D60: layer_norm is right for every arrangement, with each of weight and bias",
      T,
      TENON_TEST_FLOATS) {
    Random random(37);
    int turn = 0;
    for (const Dims& shape :
         std::vector<Dims>{{1, 1}, {1, 7}, {3, 1}, {4, 16}, {63, 5}, {2, 127}}) {
      for (const Arrangement source : kReadable) {
        for (const Arrangement other : kReadable) {
          for (const Arrangement target : kWritable) {
            const bool has_weight = (turn & 1) != 0;
            const bool has_bias = (turn++ & 2) != 0;
            Strided<T> x(shape, source);
            Strided<T> weight({shape[1]}, other);
            Strided<T> bias({shape[1]}, source);
            Strided<T> output(shape, target, Strided<T>::kOutputPoison);
            x.fill([&] { return random.value<T>(2.0); });
            weight.fill([&] { return nearest<T>(1.5L + value_of(random.value<T>(0.1))); });
            bias.fill([&] { return random.value<T>(); });

            const std::vector<tenon_value> fields =
                layer_fields(shape[0], shape[1], 1e-5, dtype_of<T>(), has_weight, has_bias);
            const std::vector<const tenon_tensor*> arguments{x.tensor(),
                                                             has_weight ? weight.tensor() : nullptr,
                                                             has_bias ? bias.tensor() : nullptr,
                                                             output.tensor()};
            for (const tenon_kernel_type* row :
                 rows_serving("LayerNormFwdOp", dtype_of<T>(), fields, arguments)) {
              CAPTURE(key_of(*row));
              output.poison_elements();

              const Outcome outcome = launch(*row, fields, arguments);

              REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
              std::int64_t wrong = 0;
              for (const Dims& at : indices_of(shape)) {
                const long double expected = layer_oracle(x,
                                                          has_weight ? &weight : nullptr,
                                                          has_bias ? &bias : nullptr,
                                                          at[0],
                                                          at[1],
                                                          1e-5);
                // Values of about 2 and weights of about 1.5; a row of two near values has a large
                // 1 / root.
                const long double magnitude = 16 + std::abs(expected);
                wrong += is_right(output.at(at), expected, kLimit<T>, magnitude) ? 0 : 1;
              }
              REQUIRE(wrong == 0);
              REQUIRE(output.surroundings_are_whole());
            }
          }
        }
      }
    }
  }

  TEST_CASE("rms_norm without eps takes the epsilon of float32, and of float64 for float64") {
    // Values so small that eps decides the result.
    const std::vector<float> narrow = rms_row<float>({1e-6F, 1e-6F}, none_value());
    const std::vector<double> wide = rms_row<double>({1e-10, 1e-10}, none_value());
    const double narrow_x = 1e-6F;

    CHECK(narrow[0] ==
          doctest::Approx(narrow_x / std::sqrt(narrow_x * narrow_x + 0x1p-23)).epsilon(1e-7));
    CHECK(wide[0] == doctest::Approx(1e-10 / std::sqrt(1e-20 + 0x1p-52)).epsilon(1e-15));
  }

  TEST_CASE("a wide launch takes float64 tensors and the eps of the call's own dtype") {
    Strided<double> x({1, 2}, Arrangement::kDense);
    Strided<double> output({1, 2}, Arrangement::kDense, Strided<double>::kOutputPoison);
    x.fill([] { return 1e-6; });

    const Outcome outcome = launch(row_of("RMSNormFwdOp"),
                                   rms_fields(1, 2, none_value(), dtype_of<Half>(), false),
                                   {x.tensor(), nullptr, output.tensor()},
                                   TENON_LAUNCH_WIDE);

    REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
    CHECK(output.at({0, 0}) == doctest::Approx(1e-6 / std::sqrt(1e-12 + 0x1p-23)).epsilon(1e-15));
  }

  TEST_CASE("D44: float16 rows of large values are normalised, not flushed") {
    for (const char* key : norm_keys()) {
      const std::vector<Half> ones = rms_row(std::vector<Half>(4096, nearest<Half>(20000.0L)),
                                             float_value(1e-6),
                                             key,
                                             std::vector<Half>(4096, nearest<Half>(1.0L)));
      for (const Half value : ones) REQUIRE(value_of(value) == 1.0L);

      std::vector<Half> peak(4096, nearest<Half>(1.0L));
      peak[17] = nearest<Half>(60000.0L);
      const std::vector<Half> normal = rms_row(peak, float_value(1e-6), key);
      const long double large = value_of(peak[17]);
      const long double root = std::sqrt((large * large + 4095) / 4096 + 1e-6L);
      for (std::size_t i = 0; i < peak.size(); ++i) {
        REQUIRE(std::abs(value_of(normal[i]) * root / value_of(peak[i]) - 1) < 1e-3L);
      }
    }
  }

  TEST_CASE("D45: layer_norm of a short row with a large mean does not cancel") {
    const std::vector<double> expected{0.316, 1.325, -1.452, -0.189};
    for (const char* key : norm_keys()) {
      const std::vector<float> row =
          layer_row<float>({2000.3F, 2000.7F, 1999.6F, 2000.1F}, 1e-5, key);
      for (std::size_t i = 0; i < row.size(); ++i) CHECK(std::abs(row[i] - expected[i]) < 5e-3);
    }
  }

  TEST_CASE_TEMPLATE("D46: constant rows give zeros for layer_norm, and zero or one for rms_norm",
                     T,
                     Half,
                     BHalf,
                     float) {
    for (const double eps : {1e-12, 1e-6}) {
      const std::vector<T> zeros(64, nearest<T>(0.0L));
      const std::vector<T> threes(64, nearest<T>(3.0L));
      for (const char* key : norm_keys()) {
        for (const T value : layer_row(zeros, eps, key)) CHECK(value_of(value) == 0);
        for (const T value : layer_row(threes, eps, key)) CHECK(value_of(value) == 0);
        for (const T value : rms_row(zeros, float_value(eps), key)) CHECK(value_of(value) == 0);
        for (const T value : rms_row(threes, float_value(eps), key)) {
          CHECK(std::abs(value_of(value) - 1) <= (eps < 1e-9 || sizeof(T) == 2 ? 0 : 1e-6L));
        }
      }
    }
  }

  TEST_CASE(
      "D51: bfloat16 rms_norm is within one unit everywhere and rounded right nearly everywhere") {
    for (const char* key : norm_keys()) {
      constexpr std::int64_t kRows = 256;
      constexpr std::int64_t kColumns = 1024;
      Random random(51);
      Strided<BHalf> x({kRows, kColumns}, Arrangement::kDense);
      Strided<BHalf> weight({kColumns}, Arrangement::kDense);
      Strided<BHalf> output({kRows, kColumns}, Arrangement::kDense, Strided<BHalf>::kOutputPoison);
      x.fill([&] { return random.value<BHalf>(); });
      weight.fill([&] {
        return nearest<BHalf>(
            0.5L + 1.5L * static_cast<long double>(random.value<std::uint32_t>()) / 4294967296.0L);
      });

      const Outcome outcome =
          launch(row_of("RMSNormFwdOp", key),
                 rms_fields(kRows, kColumns, float_value(1e-6), dtype_of<BHalf>(), true),
                 {x.tensor(), weight.tensor(), output.tensor()});

      REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
      std::int64_t off_by_more = 0;
      std::int64_t off_by_one = 0;
      for (std::int64_t row = 0; row < kRows; ++row) {
        long double squares = 0;
        for (std::int64_t i = 0; i < kColumns; ++i)
          squares += value_of(x.at({row, i})) * value_of(x.at({row, i}));
        const long double root = std::sqrt(squares / kColumns + 1e-6L);
        for (std::int64_t i = 0; i < kColumns; ++i) {
          const BHalf expected =
              nearest<BHalf>(value_of(x.at({row, i})) / root * value_of(weight.at({i})));
          const std::int64_t ulps = ulps_between(output.at({row, i}), expected);
          off_by_one += ulps == 1 ? 1 : 0;
          off_by_more += ulps > 1 ? 1 : 0;
        }
      }
      CHECK(off_by_more == 0);
      CHECK(off_by_one < kRows * kColumns / 1000);
    }
  }

  TEST_CASE("a NaN or an infinity stays in its own row") {
    Strided<float> x({3, 4}, Arrangement::kDense);
    Strided<float> output({3, 4}, Arrangement::kDense);
    x.fill([] { return 2.0F; });
    x.set({1, 2}, NAN);
    x.set({2, 0}, INFINITY);
    for (const bool layer : {false, true}) {
      const Outcome outcome =
          layer ? launch(row_of("LayerNormFwdOp"),
                         layer_fields(3, 4, 1e-5, dtype_of<float>(), false, false),
                         {x.tensor(), nullptr, nullptr, output.tensor()})
                : launch(row_of("RMSNormFwdOp"),
                         rms_fields(3, 4, float_value(0), dtype_of<float>(), false),
                         {x.tensor(), nullptr, output.tensor()});
      REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
      for (std::int64_t i = 0; i < 4; ++i) {
        CHECK(output.at({0, i}) == (layer ? 0.0F : 1.0F));
        CHECK(std::isnan(output.at({1, i})));
      }
      CHECK(std::isnan(output.at({2, 0})));
    }
  }

  TEST_CASE("float64 rows whose squares overflow a double are normalised") {
    const std::vector<double> row =
        rms_row<double>({1e200, -1e200, 1e200, 1e200}, float_value(1e-6));
    CHECK(row[0] == doctest::Approx(1.0).epsilon(1e-15));
    CHECK(row[1] == doctest::Approx(-1.0).epsilon(1e-15));
  }

  TEST_CASE("no rows, or rows without elements, write nothing") {
    for (const Dims& shape : std::vector<Dims>{{0, 4}, {3, 0}}) {
      Strided<float> x(shape, Arrangement::kDense);
      Strided<float> output(shape, Arrangement::kDense, Strided<float>::kOutputPoison);
      const Outcome outcome =
          launch(row_of("RMSNormFwdOp"),
                 rms_fields(shape[0], shape[1], none_value(), dtype_of<float>(), false),
                 {x.tensor(), nullptr, output.tensor()});
      CHECK(outcome.status == TENON_OK);
      CHECK(output.surroundings_are_whole());
    }
  }

  TEST_CASE("a norm whose output is the very same view as its input is right") {
    Strided<float> x({2, 3}, Arrangement::kReversed);
    Strided<float> apart({2, 3}, Arrangement::kDense);
    x.fill_with({1, -2, 3, 4, 5, -7});
    const std::vector<tenon_value> fields =
        layer_fields(2, 3, 1e-5, dtype_of<float>(), false, false);
    const Outcome first =
        launch(row_of("LayerNormFwdOp"), fields, {x.tensor(), nullptr, nullptr, apart.tensor()});
    const Outcome second =
        launch(row_of("LayerNormFwdOp"), fields, {x.tensor(), nullptr, nullptr, x.tensor()});
    REQUIRE(first.status == TENON_OK);
    REQUIRE(second.status == TENON_OK);
    for (const Dims& index : indices_of({2, 3})) CHECK(x.at(index) == apart.at(index));
  }

  TEST_CASE("a weight of another size ends the launch with its name") {
    Strided<float> x({2, 3}, Arrangement::kDense);
    Strided<float> weight({4}, Arrangement::kDense);
    Strided<float> output({2, 3}, Arrangement::kDense);
    const Outcome outcome = launch(row_of("RMSNormFwdOp"),
                                   rms_fields(2, 3, none_value(), dtype_of<float>(), true),
                                   {x.tensor(), weight.tensor(), output.tensor()});
    CHECK(outcome.status == TENON_INVALID_ARGUMENT);
    CHECK(outcome.text.find("weight") != std::string::npos);
  }
}

}  // namespace
}  // namespace tenon::test
