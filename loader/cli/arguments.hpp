// What a command may be given, as data, and what it was given.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/error.hpp"

namespace tenon::cli {

class Console;
class Arguments;

/// An option of a command.
struct OptionSpec {
  std::string_view name;   ///< "set", without hyphens
  std::string_view value;  ///< "NAME=VALUE"; empty for a flag
  std::string_view help;   ///< one sentence without its full stop
  bool repeatable = false;
  char letter = 0;  ///< 'h' where -h says the same
};

/// One command: everything that dispatch, help, completion and nearest names need.
struct CommandSpec {
  std::string_view name;              ///< "plugins inspect"
  std::string_view operands = {};     ///< "FILE", for the usage line
  std::string_view summary;           ///< one line
  std::string_view description = {};  ///< further paragraphs; may be empty
  std::string_view examples = {};     ///< lines that can be typed
  std::span<const OptionSpec> options = {};
  std::size_t min_operands = 0;
  std::size_t max_operands = 0;
  bool reads_manifests = false;  ///< takes --manifest
  bool takes_common = true;      ///< takes the options that open a runtime
  /// Does the work; the value is the exit status.
  Result<int> (*run)(const Arguments&, Console&) = nullptr;
};

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr std::size_t kAnyNumber = static_cast<std::size_t>(-1);

/// Options that every command takes.
[[nodiscard]] std::span<const OptionSpec> common_options();
[[nodiscard]] const OptionSpec& manifest_option();
/// The command's own options, then the common ones that it takes.
[[nodiscard]] std::vector<OptionSpec> options_of(const CommandSpec& command);

/// The command line behind the command's name.
class Arguments {
 public:
  [[nodiscard]] bool has(std::string_view option) const;
  [[nodiscard]] std::optional<std::string> value(std::string_view option) const;
  [[nodiscard]] std::vector<std::string> values(std::string_view option) const;
  [[nodiscard]] const std::vector<std::string>& operands() const { return operands_; }
  [[nodiscard]] bool json() const { return has("json"); }

 private:
  friend Result<Arguments> parse_arguments(const CommandSpec&, std::span<const std::string>);
  std::vector<std::pair<std::string, std::string>> options_;
  std::vector<std::string> operands_;
};

/// Reads a command line by the command's options.
/// @errors UsageError: unknown option (nearest names), missing value, an option given twice that is
/// not repeatable, too few or too many operands.
[[nodiscard]] Result<Arguments> parse_arguments(const CommandSpec& command,
                                                std::span<const std::string> words);

}  // namespace tenon::cli
