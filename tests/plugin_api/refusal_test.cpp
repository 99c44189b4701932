// Refusals: the sentence, the code and the data that explain shows.
#include "tenon/plugin/refusal.hpp"

#include <limits>
#include <string>

#include <doctest/doctest.h>

TEST_SUITE("plugin_api/refusal") {
  TEST_CASE("serving is no reason") { CHECK_FALSE(static_cast<bool>(tenon::serves)); }

  TEST_CASE("a bound becomes a sentence with both numbers, and data") {
    const std::int64_t n = 4096;

    const tenon::Refusal refusal = tenon::refuse("n", tenon::at_most(1024), n);

    tenon_reason reason{};
    refusal.write_to(reason);
    CHECK(std::string(reason.text) == "serves n <= 1024, got 4096");
    CHECK(std::string(reason.attribute) == "n");
    CHECK(reason.code == TENON_REASON_SIZE);
    CHECK(reason.arg_index == -1);
    CHECK(reason.expected.kind == TENON_VALUE_INT);
    CHECK(reason.expected.i == 1024);
    CHECK(reason.actual.kind == TENON_VALUE_INT);
    CHECK(reason.actual.i == 4096);
  }

  TEST_CASE("every condition reads as what is served") {
    const std::int64_t n = 9;
    CHECK(tenon::refuse("n", tenon::at_least(16), n).text() == "serves n >= 16, got 9");
    CHECK(tenon::refuse("n", tenon::less_than(9), n).text() == "serves n < 9, got 9");
    CHECK(tenon::refuse("n", tenon::more_than(9), n).text() == "serves n > 9, got 9");
    CHECK(tenon::refuse("n", tenon::multiple_of(8), n).text() == "serves n a multiple of 8, got 9");
    CHECK(tenon::refuse("causal", tenon::equal_to(false), true).text() ==
          "serves causal = false, got true");
    CHECK(tenon::refuse("mode", tenon::equal_to("none"), std::string_view("tanh")).text() ==
          "serves mode = 'none', got 'tanh'");
    CHECK(tenon::refuse("dtype", tenon::one_of(tenon::kFloat16, tenon::kBFloat16), tenon::kFloat64)
              .text() == "serves dtype in {float16, bfloat16}, got float64");
    CHECK(tenon::refuse("k", tenon::one_of(1, 3), std::optional<std::int64_t>()).text() ==
          "serves k in {1, 3}, got none");
    const std::int64_t dims[] = {0, 2};
    CHECK(tenon::refuse("dims", tenon::equal_to(1), tenon::Span<const std::int64_t>(dims)).text() ==
          "serves dims = 1, got [0, 2]");
  }

  TEST_CASE("floats are written with six digits and no locale") {
    CHECK(tenon::refuse("p", tenon::at_most(0.5), 2.25).text() == "serves p <= 0.5, got 2.25");
    CHECK(tenon::refuse("p", tenon::at_most(1e-6), -1e30).text() ==
          "serves p <= 0.000001, got -1e30");
    CHECK(
        tenon::refuse("p", tenon::at_most(100.0), std::numeric_limits<double>::infinity()).text() ==
        "serves p <= 100, got inf");
    CHECK(
        tenon::refuse("p", tenon::at_most(0.0), std::numeric_limits<double>::quiet_NaN()).text() ==
        "serves p <= 0, got nan");
    CHECK(tenon::refuse("p", tenon::at_most(999999.5), 5e-324).text() ==
          "serves p <= 1000000, got 4.94066e-324");
  }

  TEST_CASE("code, argument and why can be added") {
    const tenon::Refusal refusal = tenon::refuse("rank", tenon::at_most(4), 5)
                                       .with_code(TENON_REASON_RANK)
                                       .at_argument(1)
                                       .because("the tile loop is unrolled");

    tenon_reason reason{};
    refusal.write_to(reason);
    CHECK(reason.code == TENON_REASON_RANK);
    CHECK(reason.arg_index == 1);
    CHECK(std::string(reason.text) == "serves rank <= 4, got 5 (the tile loop is unrolled)");
  }

  TEST_CASE("a sentence of one's own keeps its code, and no code is OTHER") {
    CHECK(tenon::refuse(TENON_REASON_LIBRARY, "needs libacme 3").code() == TENON_REASON_LIBRARY);
    CHECK(tenon::refuse(TENON_REASON_NONE, "no").code() == TENON_REASON_OTHER);
    CHECK(tenon::refuse(TENON_REASON_VENDOR + 7, "no").code() == TENON_REASON_VENDOR + 7);
  }

  TEST_CASE("text beyond the reason's array is cut") {
    const std::string longer(400, 'x');

    tenon_reason reason{};
    tenon::refuse(TENON_REASON_OTHER, longer, longer).write_to(reason);

    CHECK(std::string(reason.text).size() == 255);
    CHECK(std::string(reason.attribute).size() == 63);
  }
}
