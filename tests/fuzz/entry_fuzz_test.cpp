// Replays the fuzzer's corpus of manifest entries, and tries mutated ones.
#include <array>
#include <string_view>

#include <doctest/doctest.h>

#include "entry_one.hpp"
#include "replay.hpp"

namespace {

using tenon::fuzz::broken_entry_property;

constexpr std::array<std::string_view, 30> kWords{"\n  ",
                                                  ": ",
                                                  "{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  ", ",
                                                  "\"",
                                                  "'",
                                                  "&a ",
                                                  "*a",
                                                  "<<: *a",
                                                  "!!str ",
                                                  "null",
                                                  "1e9",
                                                  "9223372036854775807",
                                                  "optional: true",
                                                  "optional: \"present(x)\"",
                                                  "mutated: true",
                                                  "buffer: out",
                                                  "alias: x",
                                                  "Shape",
                                                  "DType[float16 | int64]",
                                                  "Seq[Int]",
                                                  "Layout",
                                                  "repeat(3, 4)",
                                                  "[*S, M]",
                                                  "list: {min: 1}",
                                                  ">-\n      ",
                                                  "\xff"};

TEST_SUITE("fuzz/entry") {
  TEST_CASE("every text of the corpus keeps the properties of the manifest reader") {
    tenon::fuzz::replay_corpus("entry", broken_entry_property);
  }

  TEST_CASE("1,000 mutated entries keep the properties of the manifest reader") {
    tenon::fuzz::try_mutations("entry", broken_entry_property, kWords, 1, 1'000);
  }

  TEST_CASE("100,000 mutated entries keep the properties of the manifest reader" *
            doctest::skip()) {
    tenon::fuzz::try_mutations("entry", broken_entry_property, kWords, 2, 100'000);
  }
}

}  // namespace
