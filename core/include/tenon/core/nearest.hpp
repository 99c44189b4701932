// Nearest names: what a misspelt name probably meant.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// Finds the candidates that `wrong` is most likely a misspelling of, the nearest first.
/// Distance Damerau-Levenshtein (insert, delete, replace, swap of neighbours); the case of ASCII
/// letters is free. Cut-off  a third of the longer name, rounded up, at most 4, and always fewer
/// edits than characters; a candidate
///          that goes on where `wrong` stops (from three characters: "RMSNorm", "RMSNormFwdOp") is
///          near as well, after those.
/// Order    by distance, then by name, so that messages do not depend on the order of `candidates`.
/// Repeats are dropped. Cost     O(length^2) per candidate; names longer than 256 bytes are
/// nobody's typing mistake: nothing is returned for them.
[[nodiscard]] std::vector<std::string> nearest_names(std::string_view wrong,
                                                     std::span<const std::string_view> candidates,
                                                     std::size_t max_count = 3);
[[nodiscard]] std::vector<std::string> nearest_names(std::string_view wrong,
                                                     std::span<const std::string> candidates,
                                                     std::size_t max_count = 3);

/// A hint for an error: "did you mean 'eps'?", "did you mean 'add', 'and' or 'abs'?"; empty where
/// nothing is near.
[[nodiscard]] std::string did_you_mean(std::string_view wrong,
                                       std::span<const std::string_view> candidates,
                                       std::size_t max_count = 3);
[[nodiscard]] std::string did_you_mean(std::string_view wrong,
                                       std::span<const std::string> candidates,
                                       std::size_t max_count = 3);

/// The number of edits that lead from one name to the other, as above. Both at most 256 bytes, else
/// SIZE_MAX.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace tenon
