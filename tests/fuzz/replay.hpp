// What the tests of every fuzz target share: the committed corpus, and mutations of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "mutate.hpp"

namespace tenon::fuzz {

/// The texts of one folder of the corpus.
inline std::vector<std::string> corpus(const std::string& name) {
  std::vector<std::string> texts;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TENON_FUZZ_CORPUS "/") + name)) {
    std::ifstream file(entry.path(), std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  std::sort(texts.begin(), texts.end());  // the order of a directory is no order
  return texts;
}

/// A target as a function: what does not hold for a text.
using Property = std::string (*)(std::string_view text);

inline void replay_corpus(const std::string& name, Property broken_property) {
  const std::vector<std::string> texts = corpus(name);
  CHECK(texts.size() > 20);
  for (const std::string& text : texts) {
    CAPTURE(text);
    CHECK(broken_property(text) == "");
  }
}

/// Texts made out of the corpus, the same on every machine.
inline void try_mutations(const std::string& name,
                          Property broken_property,
                          std::span<const std::string_view> words,
                          std::uint64_t seed,
                          int count) {
  std::vector<std::string> texts = corpus(name);
  REQUIRE(texts.size() > 20);
  Mutator mutator(seed, std::move(texts), words);
  int broken_count = 0;
  for (int i = 0; i < count; ++i) {
    const std::string text = mutator.next();
    const std::string broken = broken_property(text);
    if (broken.empty()) continue;
    ++broken_count;
    MESSAGE(text << ": " << broken);
    if (broken_count == 10) break;
  }
  CHECK(broken_count == 0);
}

}  // namespace tenon::fuzz
