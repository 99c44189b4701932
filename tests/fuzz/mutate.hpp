// A deterministic mutator of texts: the same seed gives the same texts on every machine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::fuzz {

/// Makes a text out of others by one to eight edits: bytes changed, spans deleted, doubled, or
/// moved, pieces of another text or words of `dictionary` inserted.
class Mutator {
 public:
  Mutator(std::uint64_t seed,
          std::vector<std::string> texts,
          std::span<const std::string_view> dictionary)
      : state_(seed), texts_(std::move(texts)), dictionary_(dictionary) {}

  [[nodiscard]] std::string next() {
    std::string text = pick_text();
    const std::uint64_t edits = 1 + below(8);
    for (std::uint64_t i = 0; i < edits; ++i) edit(text);
    return text;
  }

 private:
  /// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
  std::uint64_t draw() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t bound) { return draw() % bound; }
  const std::string& pick_text() { return texts_[below(texts_.size())]; }

  void edit(std::string& text) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t span = below(1 + std::min<std::size_t>(text.size() - at, 12));
    switch (below(6)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(below(8) == 0 ? draw() : 32 + below(95));
        break;
      case 1:
        text.erase(at, span);
        break;
      case 2:
        text.insert(at, text.substr(at, span));
        break;
      case 3: {
        const std::string piece = text.substr(at, span);
        text.erase(at, span);
        text.insert(below(text.size() + 1), piece);
        break;
      }
      case 4: {
        const std::string& other = pick_text();
        const std::size_t from = below(other.size() + 1);
        text.insert(at, other.substr(from, below(40)));
        break;
      }
      default:
        text.insert(at, dictionary_[below(dictionary_.size())]);
        break;
    }
  }

  std::uint64_t state_;
  std::vector<std::string> texts_;
  std::span<const std::string_view> dictionary_;
};

}  // namespace tenon::fuzz
