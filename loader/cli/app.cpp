// Dispatch: help, version, commands, external programs, errors.
#include "app.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "commands.hpp"
#include "completion.hpp"
#include "external.hpp"
#include "help.hpp"
#include "json_text.hpp"
#include "tenon/loader/config.hpp"
#include "tenon/plugin.h"
#include "text.hpp"

namespace tenon::cli {
namespace {

std::string field_of(const Error& error, std::string_view name) {
  for (const auto& [key, value] : error.fields()) {
    if (key == name) return value;
  }
  return {};
}

/// The text at fault with a caret under its column, or nothing.
std::string caret_text(const Error& error) {
  const std::string source = field_of(error, "source");
  const std::string column_text = field_of(error, "column");
  std::size_t column = 0;
  std::from_chars(column_text.data(), column_text.data() + column_text.size(), column);
  if (source.empty() || column == 0 || source.find('\n') != std::string::npos) return {};
  const std::size_t before = display_width(std::string_view(source).substr(0, column - 1));
  return fmt::format("  {}\n  {:>{}}\n", source, '^', before + 1);
}

int report(const Error& error, bool as_json, Console& console) {
  console.err(error_text(error, console.err_style()));
  if (as_json) console.out(error_json(error));
  return exit_status_of(error);
}

bool asks_for_help(std::string_view word) { return word == "--help" || word == "-h"; }

bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

/// Options that every command takes may stand before it: they are moved behind it.
std::vector<std::string> with_command_first(std::span<const std::string> words) {
  std::vector<std::string> moved;
  std::size_t at = 0;
  while (at < words.size() && is_option(words[at])) {
    const std::string& word = words[at++];
    moved.push_back(word);
    const auto takes_next = [&](const OptionSpec& option) {
      return !option.value.empty() && word == "--" + std::string(option.name);
    };
    const auto common = common_options();
    if ((std::any_of(common.begin(), common.end(), takes_next) || takes_next(manifest_option())) &&
        at < words.size()) {
      moved.push_back(words[at++]);
    }
  }
  std::vector<std::string> ordered(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  ordered.insert(ordered.end(), moved.begin(), moved.end());
  return ordered;
}

int print_version(Console& console) {
  console.out(fmt::format(
      "tenon {} (plugin ABI {}.{})\n", TENON_VERSION_TEXT, TENON_ABI_MAJOR, TENON_ABI_MINOR));
  return kExitOk;
}

Result<int> run_command(std::span<const std::string> words, Console& console) {
  auto found = find_command(words);
  if (!found) {
    const bool asks_for_group = words.size() == 2 && asks_for_help(words.back());
    const std::string group =
        asks_for_group ? group_text(words.front(), console.out_style()) : std::string();
    if (group.empty()) return fail(std::move(found).error());
    console.out(group);
    return kExitOk;
  }
  auto arguments = parse_arguments(*found->command, words.subspan(found->word_count));
  if (!arguments) return fail(std::move(arguments).error());
  if (arguments->has("help")) {
    console.out(help_text(*found->command, console.out_style()));
    return kExitOk;
  }
  return found->command->run(*arguments, console);
}

}  // namespace

std::string error_text(const Error& error, const Style& style) {
  std::string text = inked(fmt::format("error[{}]:", name_of(error.code())), Ink::kBad, style);
  text += ' ' + error.message() + '\n' + caret_text(error);
  if (!error.where().empty()) text += fmt::format("  at {}\n", error.where());
  if (!error.hint().empty()) text += fmt::format("  hint: {}\n", error.hint());
  return text;
}

int exit_status_of(const Error& error) {
  // The name of an op is looked up for the words of the command line alone.
  const bool is_usage =
      error.code() == ErrorCode::kUsageError || error.code() == ErrorCode::kOpNotFound;
  // --set-config is the only setting that says so of itself.
  const bool is_setting = error.code() == ErrorCode::kConfigInvalid &&
                          error.where() == loader::name_of(loader::Origin::kCommandLine);
  return is_usage || is_setting ? kExitUsage : kExitFailed;
}

int run_tenon(std::span<const std::string> given, Console& console) {
  if (!given.empty() && given.front() == "--complete") {  // asked by the shell, see tenon.bash
    for (const std::string& word : completions(given.subspan(1))) console.out(word + '\n');
    return kExitOk;
  }
  const std::vector<std::string> words = with_command_first(given);
  const bool as_json = std::find(words.begin(), words.end(), "--json") != words.end();
  if (words.empty()) {
    console.err(overview_text(console.err_style()));
    return kExitUsage;
  }
  if (words.front() == "--version" || words.front() == "version") return print_version(console);
  if (asks_for_help(words.front()) || (words.front() == "help" && words.size() == 1)) {
    console.out(overview_text(console.out_style()));
    return kExitOk;
  }
  if (is_external(words.front())) {
    auto status = run_external(words);
    return status ? *status : report(status.error(), as_json, console);
  }
  if (words.front() == "help") {
    std::vector<std::string> asked(words.begin() + 1, words.end());
    asked.emplace_back("--help");
    auto status = run_command(asked, console);
    return status ? *status : report(status.error(), as_json, console);
  }
  auto status = run_command(words, console);
  return status ? *status : report(status.error(), as_json, console);
}

}  // namespace tenon::cli
