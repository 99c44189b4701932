// Replays the fuzzer's corpus of schemas, and tries mutated ones.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "mutate.hpp"
#include "schema_one.hpp"

namespace {

using tenon::fuzz::broken_schema_property;
using tenon::fuzz::Mutator;

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

std::vector<std::string> corpus() {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(TENON_FUZZ_CORPUS "/schema")) {
    std::ifstream file(entry.path(), std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  std::sort(texts.begin(), texts.end());  // the order of a directory is no order
  return texts;
}

void try_mutations(std::uint64_t seed, int count) {
  std::vector<std::string> texts = corpus();
  REQUIRE(texts.size() > 20);
  Mutator mutator(seed, std::move(texts), kWords);
  int broken_count = 0;
  for (int i = 0; i < count; ++i) {
    const std::string text = mutator.next();
    const std::string broken = broken_schema_property(text);
    if (broken.empty()) continue;
    ++broken_count;
    MESSAGE(text << ": " << broken);
    if (broken_count == 10) break;
  }
  CHECK(broken_count == 0);
}

TEST_SUITE("fuzz/schema") {
  TEST_CASE("every text of the corpus keeps the properties of the schema parser") {
    const std::vector<std::string> texts = corpus();
    CHECK(texts.size() > 20);
    for (const std::string& text : texts) {
      CAPTURE(text);
      CHECK(broken_schema_property(text) == "");
    }
  }

  TEST_CASE("50,000 mutated schemas keep the properties of the schema parser") {
    try_mutations(1, 50'000);
  }

  TEST_CASE("a million mutated schemas keep the properties of the schema parser" *
            doctest::skip()) {
    try_mutations(2, 1'000'000);
  }
}

}  // namespace
