// Commands that are programs of their own: `tenon conform` runs `tenon-conform`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tenon/core/error.hpp"

namespace tenon::cli {

struct ExternalCommand {
  std::string_view name;     ///< "conform"
  std::string_view program;  ///< "tenon-conform"
  std::string_view summary;
};
[[nodiscard]] std::span<const ExternalCommand> external_commands();
[[nodiscard]] bool is_external(std::string_view word);

/// Runs the program that the first word names with the other words: beside this executable, else as
/// the shell would find it. Returns its exit status; 128 + N where signal N ended it.
/// @errors Internal where it cannot be started, with the places tried.
[[nodiscard]] Result<int> run_external(std::span<const std::string> words);

}  // namespace tenon::cli
