// The reference kernel of matmul against a long double oracle.
#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "support/cases.hpp"
#include "support/launcher.hpp"
#include "support/strided.hpp"

namespace tenon::test {
namespace {

struct MatMulCase {
  Dims batch;
  std::int64_t m;
  std::int64_t k;
  std::int64_t n;
};

std::vector<tenon_value> matmul_fields(const MatMulCase& c, tenon_dtype dtype) {
  return {ints_value(c.batch), int_value(c.m), int_value(c.k), int_value(c.n), dtype_value(dtype)};
}

Dims shape_of(const MatMulCase& c, std::int64_t rows, std::int64_t columns) {
  Dims shape = c.batch;
  shape.push_back(rows);
  shape.push_back(columns);
  return shape;
}

template <class T>
long double dot_oracle(const Strided<T>& a, const Strided<T>& b, const Dims& at, std::int64_t k) {
  Dims left = at;
  Dims right = at;
  long double sum = 0;
  for (std::int64_t i = 0; i < k; ++i) {
    left[at.size() - 1] = i;
    right[at.size() - 2] = i;
    sum += value_of(a.at(left)) * value_of(b.at(right));
  }
  return sum;
}

TEST_SUITE("plugins/cpu/matmul") {
  TEST_CASE_TEMPLATE("D55: matmul is right for every arrangement and batch", T, TENON_TEST_FLOATS) {
    Random random(47);
    const std::vector<MatMulCase> cases{
        {{}, 1, 1, 1}, {{}, 3, 5, 4}, {{}, 1, 7, 3}, {{3}, 2, 3, 2}, {{2, 3}, 3, 2, 1}};
    for (const MatMulCase& c : cases) {
      for (const Arrangement first : kReadable) {
        for (const Arrangement second : kReadable) {
          for (const Arrangement target : kWritable) {
            Strided<T> a(shape_of(c, c.m, c.k), first);
            Strided<T> b(shape_of(c, c.k, c.n), second);
            Strided<T> output(shape_of(c, c.m, c.n), target, Strided<T>::kOutputPoison);
            a.fill([&] { return random.value<T>(); });
            b.fill([&] { return random.value<T>(); });

            const std::vector<tenon_value> fields = matmul_fields(c, dtype_of<T>());
            const std::vector<const tenon_tensor*> arguments{
                a.tensor(), b.tensor(), output.tensor()};
            for (const tenon_kernel_type* row :
                 rows_serving("MatMulFwdOp", dtype_of<T>(), fields, arguments)) {
              CAPTURE(key_of(*row));
              output.poison_elements();

              const Outcome outcome = launch(*row, fields, arguments);

              REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
              std::int64_t wrong = 0;
              for (const Dims& at : indices_of(output.shape())) {
                count_wrong(wrong, 1, output.at(at), nearest<T>(dot_oracle(a, b, at, c.k)));
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

  TEST_CASE_TEMPLATE("D41: a product over no terms is a matrix of zeros", T, float, double, Half) {
    const MatMulCase c{{}, 4, 0, 5};
    Strided<T> a({4, 0}, Arrangement::kDense);
    Strided<T> b({0, 5}, Arrangement::kDense);
    Strided<T> output({4, 5}, Arrangement::kDense, Strided<T>::kOutputPoison);

    const Outcome outcome = launch(row_of("MatMulFwdOp"),
                                   matmul_fields(c, dtype_of<T>()),
                                   {a.tensor(), b.tensor(), output.tensor()});

    REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
    for (const Dims& at : indices_of({4, 5})) CHECK(value_of(output.at(at)) == 0);
    CHECK(output.surroundings_are_whole());
  }

  TEST_CASE_TEMPLATE(
      "the tiled form is right at sizes around its tiles and blocks", T, Half, BHalf, float) {
    for (const MatMulCase& c : std::vector<MatMulCase>{{{}, 3, 9, 15},
                                                       {{}, 4, 8, 16},
                                                       {{}, 5, 3, 17},
                                                       {{2}, 63, 2, 33},
                                                       {{}, 65, 5, 31},
                                                       {{}, 130, 1, 1}}) {
      Random random(53);
      Strided<T> a(shape_of(c, c.m, c.k), Arrangement::kDense);
      Strided<T> b(shape_of(c, c.k, c.n), Arrangement::kOffset);
      Strided<T> ours(shape_of(c, c.m, c.n), Arrangement::kStepped, Strided<T>::kOutputPoison);
      Strided<T> reference(shape_of(c, c.m, c.n), Arrangement::kDense);
      a.fill([&] { return random.value<T>(); });
      b.fill([&] { return random.value<T>(); });
      const auto fields = matmul_fields(c, dtype_of<T>());
      REQUIRE(
          launch(row_of("MatMulFwdOp", "tiles"), fields, {a.tensor(), b.tensor(), ours.tensor()})
              .status == TENON_OK);
      REQUIRE(launch(row_of("MatMulFwdOp"), fields, {a.tensor(), b.tensor(), reference.tensor()})
                  .status == TENON_OK);
      std::int64_t wrong = 0;
      for (const Dims& at : indices_of(ours.shape()))
        count_wrong(wrong, 1, ours.at(at), reference.at(at));
      CHECK(wrong == 0);
      CHECK(ours.surroundings_are_whole());
    }
  }

  TEST_CASE("matmul broadcasts one matrix over a batch by a stride of zero") {
    const MatMulCase c{{3}, 2, 2, 2};
    Strided<float> a({3, 2, 2}, Arrangement::kDense);
    Strided<float> b({3, 2, 2}, Dims{0, 2, 1}, 0, Strided<float>::kNanPoison);
    Strided<float> output({3, 2, 2}, Arrangement::kDense, Strided<float>::kOutputPoison);
    float next = 0;
    a.fill([&] { return next++; });
    b.set({0, 0, 0}, 0);
    b.set({0, 0, 1}, 1);
    b.set({0, 1, 0}, 1);
    b.set({0, 1, 1}, 0);

    const Outcome outcome = launch(row_of("MatMulFwdOp"),
                                   matmul_fields(c, dtype_of<float>()),
                                   {a.tensor(), b.tensor(), output.tensor()});

    REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
    for (const Dims& at : indices_of({3, 2, 2}))
      CHECK(output.at(at) == a.at({at[0], at[1], 1 - at[2]}));
  }

  TEST_CASE("integer-valued matrices multiply exactly whatever the type") {
    const MatMulCase c{{}, 3, 64, 3};
    Strided<BHalf> a({3, 64}, Arrangement::kDense);
    Strided<BHalf> b({64, 3}, Arrangement::kTransposed);
    Strided<BHalf> output({3, 3}, Arrangement::kDense);
    a.fill([] { return nearest<BHalf>(2.0L); });
    b.fill([] { return nearest<BHalf>(-1.0L); });
    REQUIRE(launch(row_of("MatMulFwdOp"),
                   matmul_fields(c, dtype_of<BHalf>()),
                   {a.tensor(), b.tensor(), output.tensor()})
                .status == TENON_OK);
    for (const Dims& at : indices_of({3, 3})) CHECK(value_of(output.at(at)) == -128.0L);
  }

  TEST_CASE("a NaN reaches its row and column only, and zero times infinity is NaN") {
    const MatMulCase c{{}, 2, 2, 2};
    Strided<double> a({2, 2}, Arrangement::kDense);
    Strided<double> b({2, 2}, Arrangement::kDense);
    Strided<double> output({2, 2}, Arrangement::kDense);
    a.fill_with({1, NAN, 0, 1});
    b.fill_with({1, INFINITY, 1, 1});
    REQUIRE(launch(row_of("MatMulFwdOp"),
                   matmul_fields(c, dtype_of<double>()),
                   {a.tensor(), b.tensor(), output.tensor()})
                .status == TENON_OK);
    CHECK(std::isnan(output.at({0, 0})));
    CHECK(std::isnan(output.at({0, 1})));
    CHECK(output.at({1, 0}) == 1);
    CHECK(std::isnan(output.at({1, 1})));
  }

  TEST_CASE("matrices whose sizes do not meet end the launch") {
    Strided<float> a({2, 3}, Arrangement::kDense);
    Strided<float> b({4, 2}, Arrangement::kDense);
    Strided<float> output({2, 2}, Arrangement::kDense, Strided<float>::kOutputPoison);
    const MatMulCase c{{}, 2, 3, 2};
    const Outcome outcome = launch(row_of("MatMulFwdOp"),
                                   matmul_fields(c, dtype_of<float>()),
                                   {a.tensor(), b.tensor(), output.tensor()});
    CHECK(outcome.status == TENON_INVALID_ARGUMENT);
    CHECK(output.surroundings_are_whole());
  }
}

}  // namespace
}  // namespace tenon::test
