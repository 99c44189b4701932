// The commands of `tenon`, in one table.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"

namespace tenon::cli {

/// All of them, in the order of the help.
[[nodiscard]] std::span<const CommandSpec> all_commands();

/// The command that a command line begins with, and how many words name it ("plugins list": 2).
struct FoundCommand {
  const CommandSpec* command = nullptr;
  std::size_t word_count = 0;
};
/// @errors UsageError: unknown command or subcommand, with the nearest names.
[[nodiscard]] Result<FoundCommand> find_command(std::span<const std::string> words);

}  // namespace tenon::cli
