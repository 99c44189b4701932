// Help texts, made from the table of commands.
#pragma once

#include <string>
#include <string_view>

#include "arguments.hpp"
#include "console.hpp"

namespace tenon::cli {

/// Every command with its one line.
[[nodiscard]] std::string overview_text(const Style& style);
/// Usage, description, options and examples of one command.
[[nodiscard]] std::string help_text(const CommandSpec& command, const Style& style);

/// The commands that begin with a word, as `tenon manifest --help` lists them; empty where there is
/// none.
[[nodiscard]] std::string group_text(std::string_view first, const Style& style);

}  // namespace tenon::cli
