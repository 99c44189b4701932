// Log lines of the runtime as the command prints them, and the configuration that the command line
// names.
#pragma once

#include <string_view>

#include "console.hpp"

namespace tenon::cli {

/// On the error sink: "warning: loader: text".
void print_log_line(Console& console, int level, std::string_view component, std::string_view text);

}  // namespace tenon::cli
