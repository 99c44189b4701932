// What must hold for any text that is given to the schema parser; shared by the fuzzer and by the
// tests that replay.
#pragma once

#include <string>
#include <string_view>

namespace tenon::fuzz {

/// Puts one text through everything that takes schemas. Returns what does not hold; empty: all
/// does.
[[nodiscard]] std::string broken_schema_property(std::string_view text);

}  // namespace tenon::fuzz
