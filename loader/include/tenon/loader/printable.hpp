// Text from plugins, files and arguments as a terminal may see it.
#pragma once

#include <string>
#include <string_view>

namespace tenon::loader {

/// The text with everything escaped that would steer a terminal or hide text: control characters
/// but line end and tab (`\x1b`), bytes that are no UTF-8 (`\xff`), DEL, C1 controls and marks
/// that turn the direction of writing (`\u202e`). What JSON allows unescaped in a string gets
/// JSON's own notation, so that a document stays one.
[[nodiscard]] std::string printable(std::string_view text);

/// The same on one line: line ends and tabs are escaped, too, so that no name can forge a line.
[[nodiscard]] std::string printable_line(std::string_view text);

}  // namespace tenon::loader
