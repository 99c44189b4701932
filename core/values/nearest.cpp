// Nearest names: the restricted Damerau-Levenshtein distance and its cut-off.
#include "tenon/core/nearest.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace tenon {
namespace {

constexpr std::size_t kLongestName = 256;
constexpr std::size_t kFarthest = 4;
constexpr std::size_t kShortestPrefix = 3;

char folded(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_letter(char a, char b) { return folded(a) == folded(b); }

bool goes_on(std::string_view prefix, std::string_view name) {
  return prefix.size() >= kShortestPrefix && name.size() > prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), name.begin(), same_letter);
}

/// Rank of a candidate, smaller is nearer; kFarthest + 1 stands for "goes on where the word stops".
bool rank_of(std::string_view wrong, std::string_view candidate, std::size_t& rank) {
  const std::size_t longer = std::max(wrong.size(), candidate.size());
  const std::size_t shorter = std::min(wrong.size(), candidate.size());
  const std::size_t cut_off = std::min((longer + 2) / 3, kFarthest);
  if (longer - shorter <= cut_off) {
    rank = edit_distance(wrong, candidate);
    if (rank <= cut_off && rank < longer) return true;
  }
  rank = kFarthest + 1;
  return goes_on(wrong, candidate);
}

template <class Name>
std::vector<std::string> nearest_of(std::string_view wrong,
                                    std::span<const Name> candidates,
                                    std::size_t max_count) {
  std::vector<std::pair<std::size_t, std::string_view>> near;
  if (!wrong.empty() && wrong.size() <= kLongestName) {
    for (const std::string_view candidate : candidates) {
      std::size_t rank = 0;
      if (rank_of(wrong, candidate, rank)) near.emplace_back(rank, candidate);
    }
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  if (near.size() > max_count) near.resize(max_count);

  std::vector<std::string> names;
  names.reserve(near.size());
  for (const auto& [rank, name] : near) names.emplace_back(name);
  return names;
}

std::string hint_of(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::string text = "did you mean ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += '\'';
    text += names[i];
    text += '\'';
  }
  return text + '?';
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  if (a.size() > kLongestName || b.size() > kLongestName) return SIZE_MAX;
  // Three rows suffice: a swap of neighbours looks two rows back.
  std::array<std::array<std::uint16_t, kLongestName + 1>, 3> rows{};
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = static_cast<std::uint16_t>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i + 2) % 3];
    const auto& two_above = rows[(i + 1) % 3];
    row[0] = static_cast<std::uint16_t>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replace = above[j - 1] + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
      int best = std::min({replace, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1])) {
        best = std::min(best, two_above[j - 2] + 1);
      }
      row[j] = static_cast<std::uint16_t>(best);
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::vector<std::string> nearest_names(std::string_view wrong,
                                       std::span<const std::string_view> candidates,
                                       std::size_t max_count) {
  return nearest_of(wrong, candidates, max_count);
}

std::vector<std::string> nearest_names(std::string_view wrong,
                                       std::span<const std::string> candidates,
                                       std::size_t max_count) {
  return nearest_of(wrong, candidates, max_count);
}

std::string did_you_mean(std::string_view wrong,
                         std::span<const std::string_view> candidates,
                         std::size_t max_count) {
  return hint_of(nearest_of(wrong, candidates, max_count));
}

std::string did_you_mean(std::string_view wrong,
                         std::span<const std::string> candidates,
                         std::size_t max_count) {
  return hint_of(nearest_of(wrong, candidates, max_count));
}

}  // namespace tenon
