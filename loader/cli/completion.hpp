// What may stand next on a command line, for the shell.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tenon::cli {

/// Words that may follow `words` (without the program's name and without the word being typed):
/// commands, second words, options, names of ops and of their tensors. Empty where a value or a
/// file is expected.
[[nodiscard]] std::vector<std::string> completions(std::span<const std::string> words);

}  // namespace tenon::cli
