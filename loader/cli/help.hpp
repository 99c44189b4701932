// Help texts, made from the table of commands.
#pragma once

#include <string>

#include "arguments.hpp"
#include "console.hpp"

namespace tenon::cli {

/// Every command with its one line.
[[nodiscard]] std::string overview_text(const Style& style);
/// Usage, description, options and examples of one command.
[[nodiscard]] std::string help_text(const CommandSpec& command, const Style& style);

}  // namespace tenon::cli
