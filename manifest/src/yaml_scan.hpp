// A look at YAML text before it is parsed: encoding, unclosed quotes and brackets, tabs, nesting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tenon::manifest {

/// A place in a text, from 1.
struct TextPlace {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

/// An opening bracket or quote that nothing has closed.
struct OpenMark {
  char mark = 0;
  TextPlace place;
};

struct YamlScan {
  /// Brackets still open at the end, outermost first. Text that is no YAML may confuse it, so it
  /// explains faults that the parser found and is no judge by itself.
  std::vector<OpenMark> open_brackets;
  std::optional<OpenMark> open_quote;  ///< a quote still open at the end
  std::vector<TextPlace> indent_tabs;  ///< tabs where a line's indentation should be
  std::optional<TextPlace> too_deep;   ///< where brackets nest deeper than the limit
};
[[nodiscard]] YamlScan scan_yaml(std::string_view text, std::size_t depth_limit);

/// A byte that no manifest may hold.
struct BadByte {
  TextPlace place;
  unsigned char byte = 0;
  bool control = false;  ///< a control character; else not UTF-8
};
[[nodiscard]] std::optional<BadByte> find_bad_byte(std::string_view text);

}  // namespace tenon::manifest
