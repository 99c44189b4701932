// What must hold for any text that is given as a manifest file; shared by the fuzzer and by the
// tests that replay.
#pragma once

#include <string>
#include <string_view>

namespace tenon::fuzz {

/// Reads a text as a manifest file, checks and compiles its entries, instantiates their rows.
/// Returns what does not hold; empty: all does.
[[nodiscard]] std::string broken_entry_property(std::string_view text);

}  // namespace tenon::fuzz
