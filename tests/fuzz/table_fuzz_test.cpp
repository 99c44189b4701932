// Replays the fuzzer's corpus of a plugin's tables, and tries mutated ones.
#include <array>
#include <string_view>

#include <doctest/doctest.h>

#include "replay.hpp"
#include "table_one.hpp"

namespace {

using tenon::fuzz::broken_table_property;
using namespace std::string_view_literals;

constexpr std::array kWords{"\0\0\0\0\0\0\0\0"sv,
                            "\1\0\0\0\0\0\0\0"sv,
                            "\xff\xff\xff\xff\xff\xff\xff\xff"sv,
                            "\0\0\0\0\0\0\xb1\x7a"sv,
                            "\x08\0\0\0\0\0\xb1\x7a"sv,
                            "\0\1\0\0\0\0\xb1\x7a"sv,
                            "\xf8\x0f\0\0\0\0\xb1\x7a"sv,
                            "\0\x10\0\0\0\0\xb1\x7a"sv,
                            "\0\0\0\0\0\0\xb2\x7a"sv,
                            "\x30\0\0\0\0\0\0\0"sv,
                            "AddFwdOp"sv,
                            "add_fwd\0"sv,
                            "\2\x20\1\0"sv};

TEST_SUITE("fuzz/table") {
  TEST_CASE("every table of the corpus keeps the properties of taking a plugin's tables") {
    tenon::fuzz::replay_corpus("table", broken_table_property);
  }

  TEST_CASE("20,000 mutated tables keep the properties of taking a plugin's tables") {
    tenon::fuzz::try_mutations("table", broken_table_property, kWords, 1, 20'000);
  }

  TEST_CASE("1,000,000 mutated tables keep the properties of taking a plugin's tables" *
            doctest::skip()) {
    tenon::fuzz::try_mutations("table", broken_table_property, kWords, 2, 1'000'000);
  }
}

}  // namespace
