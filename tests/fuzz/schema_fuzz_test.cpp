// Replays the fuzzer's corpus of schemas, and tries mutated ones.
#include <array>
#include <string_view>

#include <doctest/doctest.h>

#include "replay.hpp"
#include "schema_one.hpp"

namespace {

using tenon::fuzz::broken_schema_property;

constexpr std::array<std::string_view, 32> kWords{
    "(a!)",
    "(a)",
    "(a -> *)",
    "[]",
    "[2]",
    "?",
    "*, ",
    ", ",
    " -> ",
    "()",
    "Tensor",
    "Tensor(b!) ",
    "int",
    "SymInt",
    "=None",
    "=[1,2]",
    "='x'",
    "=1e-05",
    "=-inf",
    "::",
    ".",
    ".out",
    "_",
    "__iadd__",
    "_out",
    "functional",
    "self",
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None",
    std::string_view("\0", 1),
    "\n",
    "\xff",
    "("};

TEST_SUITE("fuzz/schema") {
  TEST_CASE("every text of the corpus keeps the properties of the schema parser") {
    tenon::fuzz::replay_corpus("schema", broken_schema_property);
  }

  TEST_CASE("50,000 mutated schemas keep the properties of the schema parser") {
    tenon::fuzz::try_mutations("schema", broken_schema_property, kWords, 1, 50'000);
  }

  TEST_CASE("a million mutated schemas keep the properties of the schema parser" *
            doctest::skip()) {
    tenon::fuzz::try_mutations("schema", broken_schema_property, kWords, 2, 1'000'000);
  }
}

}  // namespace
