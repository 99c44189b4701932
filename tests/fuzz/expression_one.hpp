// What must hold for any text that is given as an expression; shared by the fuzzer and by the tests
// that replay.
#pragma once

#include <string>
#include <string_view>

namespace tenon::fuzz {

/// Parses a text in each grammar, prints what it is, and where it is a field or a refinement of an
/// entry evaluates it in both ways, by program and by tree. Returns what does not hold; empty: all
/// does.
[[nodiscard]] std::string broken_expression_property(std::string_view text);

}  // namespace tenon::fuzz
