// One run of the `tenon` command: from words to an exit status.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "console.hpp"
#include "tenon/core/error.hpp"

namespace tenon::cli {

/// Finds the command, reads its options, runs it, reports its error. `words` come without the
/// program's name. Returns the exit status: 0 done, 1 the work failed, 2 the command line is wrong.
int run_tenon(std::span<const std::string> words, Console& console);

/// The error as text on the error sink, with a caret under the fault where its place is known.
[[nodiscard]] std::string error_text(const Error& error, const Style& style);
/// 2 for UsageError, else 1.
[[nodiscard]] int exit_status_of(const Error& error);

}  // namespace tenon::cli
