// The table of commands: names, options, help and the function of each.
#include "commands.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "external.hpp"
#include "run_commands.hpp"
#include "tenon/core/nearest.hpp"

namespace tenon::cli {
namespace {

constexpr std::array<OptionSpec, 1> kSchemaOptions{{
    {"lint", "", "also report what the grammar allows and nobody should write"},
}};

constexpr std::array kCommands{
    CommandSpec{
        .name = "plugins inspect",
        .operands = "FILE",
        .summary = "what a plugin file says about itself, without running its code",
        .description = "Reads the identity note and the dynamic section from the file's bytes; "
                       "nothing of it is mapped or run. "
                       "Exit status 1 where the file cannot be loaded as a plugin.",
        .examples = "tenon plugins inspect cpu.tenon.so\ntenon plugins inspect cpu.tenon.so --json",
        .min_operands = 1,
        .max_operands = 1,
        .takes_common = false,
        .run = run_plugins_inspect},
    CommandSpec{.name = "manifest check",
                .operands = "PATH...",
                .summary = "check the entries of files and folders",
                .description = "Prints every finding with file, line, column, what was found, what "
                               "was expected and a hint. "
                               "Exit status 1 where one is an error.",
                .examples = "tenon manifest check my_ops/\ntenon manifest check norm.yaml --json",
                .min_operands = 1,
                .max_operands = kAnyNumber,
                .takes_common = false,
                .run = run_manifest_check},
    CommandSpec{.name = "manifest show",
                .operands = "OP",
                .summary = "an entry as it is understood",
                .description = "",
                .examples = "tenon manifest show RMSNormFwdOp\ntenon manifest show MyFwdOp "
                            "--manifest my_ops/ --json",
                .min_operands = 1,
                .max_operands = 1,
                .reads_manifests = true,
                .takes_common = false,
                .run = run_manifest_show},
    CommandSpec{
        .name = "manifest schemas",
        .operands = "[OP]",
        .summary = "operator schemas of one entry or all, one per effect branch",
        .description = "",
        .examples = "tenon manifest schemas AddFwdOp\ntenon manifest schemas --manifest my_ops/",
        .max_operands = 1,
        .reads_manifests = true,
        .takes_common = false,
        .run = run_manifest_schemas},
    CommandSpec{
        .name = "manifest codegen",
        .operands = "DIR",
        .summary = "write the contract headers of the entries below a folder",
        .description =
            "Files whose contents would be the same are left alone. Prints those that changed.",
        .examples = "tenon manifest codegen build/include --manifest my_ops/",
        .min_operands = 1,
        .max_operands = 1,
        .reads_manifests = true,
        .takes_common = false,
        .run = run_manifest_codegen},
    CommandSpec{
        .name = "manifest diff",
        .operands = "OLD NEW",
        .summary = "what a change of the manifest breaks, and for whom",
        .description =
            "OLD and NEW are files or folders. Exit status 1 where callers or plugins may break.",
        .examples =
            "tenon manifest diff v1/ops v2/ops\ntenon manifest diff old.yaml new.yaml --json",
        .min_operands = 2,
        .max_operands = 2,
        .takes_common = false,
        .run = run_manifest_diff},
    CommandSpec{
        .name = "schema",
        .operands = "FILE",
        .summary = "read operator schemas, one a line, and print the verdict on each",
        .description =
            "Prints a line per schema, tab-separated: ok, its kind, the schema printed back; or "
            "error, column, rule, "
            "message. 'func:' before a schema is allowed. FILE may be - for standard input.",
        .examples =
            "tenon schema schemas.txt\ntenon schema --lint native_functions.txt | grep ^error",
        .options = kSchemaOptions,
        .min_operands = 1,
        .max_operands = 1,
        .takes_common = false,
        .run = run_schema},
};

bool is_word(std::string_view text) { return !text.empty() && text.front() != '-'; }

const CommandSpec* named(std::string_view name) {
  const auto* const found = std::find_if(kCommands.begin(),
                                         kCommands.end(),
                                         [&](const auto& command) { return command.name == name; });
  return found == kCommands.end() ? nullptr : found;
}

/// Second words of the commands that begin with `first`.
std::vector<std::string> subcommands_of(std::string_view first) {
  std::vector<std::string> names;
  for (const CommandSpec& command : kCommands) {
    const std::size_t space = command.name.find(' ');
    if (space == std::string_view::npos || command.name.substr(0, space) != first) continue;
    names.emplace_back(command.name.substr(space + 1));
  }
  return names;
}

tl::unexpected<Error> unknown_command(std::string_view word) {
  std::vector<std::string> known{"help", "version"};
  for (const CommandSpec& command : kCommands)
    known.emplace_back(command.name.substr(0, command.name.find(' ')));
  for (const ExternalCommand& command : external_commands()) known.emplace_back(command.name);
  std::string hint = did_you_mean(word, known);
  if (hint.empty()) hint = "'tenon --help' lists the commands";
  return fail(Error(ErrorCode::kUsageError, fmt::format("there is no command '{}'", word))
                  .with_hint(std::move(hint)));
}

tl::unexpected<Error> wrong_subcommand(std::string_view first,
                                       std::string_view second,
                                       std::vector<std::string> known) {
  std::string all = fmt::format("'tenon {}' has {}", first, fmt::join(known, ", "));
  if (second.empty()) {
    return fail(Error(ErrorCode::kUsageError, fmt::format("'tenon {}' needs a second word", first))
                    .with_hint(std::move(all)));
  }
  std::string hint = did_you_mean(second, known);
  return fail(
      Error(ErrorCode::kUsageError, fmt::format("there is no command '{} {}'", first, second))
          .with_hint(hint.empty() ? std::move(all) : std::move(hint)));
}

}  // namespace

std::span<const CommandSpec> all_commands() { return kCommands; }

Result<FoundCommand> find_command(std::span<const std::string> words) {
  const std::string& first = words.front();
  const std::string second = words.size() > 1 && is_word(words[1]) ? words[1] : std::string();
  if (const CommandSpec* exact = named(first + ' ' + second)) return FoundCommand{exact, 2};
  std::vector<std::string> below = subcommands_of(first);
  const CommandSpec* const alone = named(first);
  // A command that stands for the listing of its group: `tenon ops` is `tenon ops list`.
  const bool lists = alone != nullptr && !below.empty();
  if (lists && second == "list") return FoundCommand{alone, 2};
  if (alone != nullptr && (second.empty() || !lists)) return FoundCommand{alone, 1};
  if (below.empty()) return unknown_command(first);
  if (lists) below.emplace_back("list");
  return wrong_subcommand(first, second, std::move(below));
}

}  // namespace tenon::cli
