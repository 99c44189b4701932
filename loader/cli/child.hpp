// Other programs run for their output, and given up where they do not end.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tenon/core/error.hpp"

namespace tenon::cli {

/// What a program that ran to its end has left.
struct ChildResult {
  int status = 0;  ///< exit status; 128 and the signal's number where one ended it
  bool timed_out = false;
  std::string out;
  std::string err;
};

/// Runs a program by its path. Its output is cut at 16 MiB each. @errors Internal: it cannot be
/// started.
[[nodiscard]] Result<ChildResult> run_child(const std::string& program,
                                            const std::vector<std::string>& arguments,
                                            std::chrono::milliseconds timeout);

/// The path of this program.
[[nodiscard]] std::string this_program();
/// A program beside this one or in a folder of PATH; empty where there is none.
[[nodiscard]] std::string find_program(const std::string& name);

}  // namespace tenon::cli
