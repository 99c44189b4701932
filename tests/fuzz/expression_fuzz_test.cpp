// Replays the fuzzer's corpus of expressions, and tries mutated ones.
#include <array>
#include <string_view>

#include <doctest/doctest.h>

#include "expression_one.hpp"
#include "replay.hpp"

namespace {

using tenon::fuzz::broken_expression_property;

constexpr std::array<std::string_view, 34> kWords{"M",
                                                  "N",
                                                  "n",
                                                  "S",
                                                  "ks",
                                                  "L",
                                                  "w.value",
                                                  "present(w)",
                                                  " if ",
                                                  " else ",
                                                  " and ",
                                                  " or ",
                                                  "not ",
                                                  " in ",
                                                  " not in ",
                                                  " == ",
                                                  " < ",
                                                  " // ",
                                                  " % ",
                                                  "*",
                                                  "-",
                                                  "(",
                                                  ")",
                                                  "[::-1]",
                                                  "[0]",
                                                  "sum(",
                                                  " for s in S",
                                                  "max(",
                                                  "'full'",
                                                  "reduced(S, 0, True, 'full')",
                                                  "l.value.kind",
                                                  "9223372036854775807",
                                                  "u",
                                                  "T"};

TEST_SUITE("fuzz/expression") {
  TEST_CASE("every text of the corpus keeps the properties of the expression language") {
    tenon::fuzz::replay_corpus("expression", broken_expression_property);
  }

  TEST_CASE("2,000 mutated expressions keep the properties of the expression language") {
    tenon::fuzz::try_mutations("expression", broken_expression_property, kWords, 1, 2'000);
  }

  TEST_CASE("200,000 mutated expressions keep the properties of the expression language" *
            doctest::skip()) {
    tenon::fuzz::try_mutations("expression", broken_expression_property, kWords, 2, 200'000);
  }
}

}  // namespace
