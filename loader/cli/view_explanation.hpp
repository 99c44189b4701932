// `tenon explain` as text and as JSON.
#pragma once

#include <string>

#include "console.hpp"
#include "tenon/core/explain.hpp"

namespace tenon::cli {

/// One block per step: the call, its facts, the winner first, then every other candidate with its
/// reason, by round.
[[nodiscard]] std::string explanation_text(const Explanation& explanation, const Style& style);
[[nodiscard]] std::string explanation_json(const Explanation& explanation);

}  // namespace tenon::cli
