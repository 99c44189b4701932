// The vector form of rms_norm: every row length and offset, every architecture level that runs
// here.
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "support/cases.hpp"
#include "support/launcher.hpp"
#include "support/strided.hpp"

namespace tenon::test {
namespace {

std::string_view view(tenon_str text) { return {text.data, text.size_bytes}; }

std::vector<tenon_value> fields_of(const Dims& shape, tenon_dtype dtype, bool affine) {
  return {int_value(shape[0]),
          int_value(shape[1]),
          float_value(1e-6),
          dtype_value(dtype),
          bool_value(affine)};
}

/// cpu:0 as if it ran only the tags from the given one on; nothing where the machine does not run
/// it.
std::vector<tenon_device> devices_of_each_level() {
  std::vector<tenon_device> devices;
  for (std::uint64_t skip = 0; skip < device().n_runs_archs; ++skip) {
    tenon_device lesser = device();
    lesser.runs_archs += skip;
    lesser.n_runs_archs -= skip;
    lesser.arch = lesser.runs_archs[0];
    devices.push_back(lesser);
  }
  return devices;
}

/// Rows of a wider matrix, `gap` elements apart, the first one `offset` elements in.
template <class T>
void check_rows(
    const tenon_device& on, const Dims& shape, std::int64_t gap, std::int64_t offset, bool affine) {
  Random random(static_cast<std::uint32_t>(shape[1] * 16 + offset));
  Strided<T> x(shape, Dims{shape[1] + gap, 1}, offset, Strided<T>::kNanPoison);
  Strided<T> weight({shape[1]}, Dims{1}, offset, Strided<T>::kNanPoison);
  Strided<T> output(shape, Dims{shape[1] + gap, 1}, offset, Strided<T>::kOutputPoison);
  x.fill([&] { return random.value<T>(2.0); });
  weight.fill([&] { return random.value<T>(); });

  const Outcome outcome = launch(row_of("RMSNormFwdOp", "rows"),
                                 fields_of(shape, dtype_of<T>(), affine),
                                 {x.tensor(), affine ? weight.tensor() : nullptr, output.tensor()},
                                 0,
                                 on);

  REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
  std::int64_t wrong = 0;
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    long double squares = 0;
    for (std::int64_t i = 0; i < shape[1]; ++i)
      squares += value_of(x.at({row, i})) * value_of(x.at({row, i}));
    const long double root = std::sqrt(squares / static_cast<long double>(shape[1]) + 1e-6L);
    for (std::int64_t i = 0; i < shape[1]; ++i) {
      const long double expected =
          value_of(x.at({row, i})) / root * (affine ? value_of(weight.at({i})) : 1.0L);
      count_wrong(wrong, 1, output.at({row, i}), nearest<T>(expected));
    }
  }
  CHECK(wrong == 0);
  CHECK(x.is_unchanged());
  CHECK(weight.is_unchanged());
  CHECK(output.surroundings_are_whole());
}

TEST_SUITE("plugins/cpu/rms_norm_rows") {
  TEST_CASE("rows declares what selection reads of it") {
    const tenon_kernel_type& row = row_of("RMSNormFwdOp", "rows");

    REQUIRE(row.n_preferred_over == 1);
    CHECK(view(row.preferred_over[0]) == "reference");
    CHECK(row.layouts == TENON_LAYOUT_BIT(TENON_LAYOUT_INNER));
    CHECK((row.flags & TENON_KERNEL_REFERENCE) == 0);
    CHECK((row.flags & TENON_KERNEL_DETERMINISTIC) != 0);
    CHECK(row.n_storage == 3);
  }

  TEST_CASE_TEMPLATE("D62: rows is right at every row length and element offset, on every level",
                     T,
                     Half,
                     BHalf,
                     float) {
    for (const tenon_device& on : devices_of_each_level()) {
      INFO("level ", std::string(view(on.arch)));
      for (const std::int64_t n :
           {1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65, 255, 256, 257, 511, 513, 1000}) {
        check_rows<T>(on, {2, n}, 0, n % 9, n % 2 == 0);
        check_rows<T>(on, {3, n}, 5, (n + 3) % 9, n % 2 == 1);
      }
      for (std::int64_t offset = 0; offset <= 8; ++offset)
        check_rows<T>(on, {2, 300}, 0, offset, true);
    }
  }

  TEST_CASE_TEMPLATE(
      "D60: rows writes its rows and nothing else for odd row counts", T, Half, float) {
    for (const std::int64_t rows : {1, 63, 64, 65, 127})
      check_rows<T>(device(), {rows, 9}, 1, 0, true);
  }

  TEST_CASE_TEMPLATE(
      "rows onto its own input gives what it gives elsewhere", T, Half, BHalf, float) {
    const Dims shape{3, 517};
    for (const tenon_device& on : devices_of_each_level()) {
      Random random(9);
      Strided<T> x(shape, Arrangement::kDense);
      Strided<T> apart(shape, Arrangement::kDense);
      x.fill([&] { return random.value<T>(); });
      const auto fields = fields_of(shape, dtype_of<T>(), false);
      const tenon_kernel_type& row = row_of("RMSNormFwdOp", "rows");
      REQUIRE(launch(row, fields, {x.tensor(), nullptr, apart.tensor()}, 0, on).status == TENON_OK);
      REQUIRE(launch(row, fields, {x.tensor(), nullptr, x.tensor()}, 0, on).status == TENON_OK);
      std::int64_t wrong = 0;
      for (const Dims& at : indices_of(shape))
        wrong += ulps_between(x.at(at), apart.at(at)) == 0 ? 0 : 1;
      CHECK(wrong == 0);
    }
  }

  TEST_CASE("rows keeps subnormal, infinite and NaN elements as the reference does") {
    const Dims shape{4, 40};
    Strided<Half> x(shape, Arrangement::kDense);
    Strided<Half> ours(shape, Arrangement::kDense);
    Strided<Half> reference(shape, Arrangement::kDense);
    std::uint16_t next = 0;
    x.fill([&] { return Half{static_cast<std::uint16_t>(next++ % 37)}; });
    x.set({1, 3}, Half{0x7c00});
    x.set({2, 39}, Half{0xfe00});
    x.set({3, 0}, Half{0x7bff});
    const auto fields = fields_of(shape, dtype_of<Half>(), false);
    REQUIRE(launch(row_of("RMSNormFwdOp", "rows"), fields, {x.tensor(), nullptr, ours.tensor()})
                .status == TENON_OK);
    REQUIRE(
        launch(row_of("RMSNormFwdOp"), fields, {x.tensor(), nullptr, reference.tensor()}).status ==
        TENON_OK);
    for (const Dims& at : indices_of(shape))
      CHECK(ulps_between(ours.at(at), reference.at(at)) <= 1);
  }

  TEST_CASE("a call whose last axis is not adjacent ends the launch, as the declaration says") {
    Strided<float> x({2, 4}, Arrangement::kTransposed);
    Strided<float> output({2, 4}, Arrangement::kDense, Strided<float>::kOutputPoison);

    const Outcome outcome = launch(row_of("RMSNormFwdOp", "rows"),
                                   fields_of({2, 4}, dtype_of<float>(), false),
                                   {x.tensor(), nullptr, output.tensor()});

    CHECK(facts_of(x.tensor()).layout == TENON_LAYOUT_STRIDED);  // so the host would not have asked
    CHECK(outcome.status == TENON_INVALID_ARGUMENT);
    CHECK(outcome.text.find("innermost stride of 2") != std::string::npos);
    CHECK(output.surroundings_are_whole());
  }
}

}  // namespace
}  // namespace tenon::test
