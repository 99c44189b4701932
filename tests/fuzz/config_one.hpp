// What must hold for any text that is taken for a configuration; shared by the fuzzer and by the
// tests that replay.
#pragma once

#include <string>
#include <string_view>

namespace tenon::fuzz {

/// Loads the text up to a line "=====" as tenon.yaml; each line behind it is KEY=VALUE as on the
/// command line, or NAME=VALUE of the environment where it begins with TENON_. Returns what does
/// not hold; empty: all does.
[[nodiscard]] std::string broken_config_property(std::string_view text);

}  // namespace tenon::fuzz
