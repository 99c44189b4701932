// What a device kind may be called.
#pragma once

#include <algorithm>
#include <string_view>

namespace tenon::detail {

/// The rule of is_kind_name in words, for messages.
inline constexpr std::string_view kKindNameRule =
    "a kind has lower-case letters, digits and - only, a letter first";

/// True for `[a-z][a-z0-9-]*`.
[[nodiscard]] constexpr bool is_kind_name(std::string_view name) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && letter(name.front()) && std::ranges::all_of(name, [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '-';
  });
}

}  // namespace tenon::detail
