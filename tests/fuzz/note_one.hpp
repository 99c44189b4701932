// What must hold for any bytes that are taken for a plugin file; shared by the fuzzer and by the
// tests that replay.
#pragma once

#include <string>
#include <string_view>

namespace tenon::fuzz {

/// Reads the bytes as a whole file, and as the descriptor of an identity note. Returns what does
/// not hold; empty: all does.
[[nodiscard]] std::string broken_note_property(std::string_view bytes);

}  // namespace tenon::fuzz
