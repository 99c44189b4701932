// Boost.Program_options behind a table of options; its exceptions end here.
#include "arguments.hpp"

#include <algorithm>
#include <array>

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tenon/core/nearest.hpp"

namespace tenon::cli {
namespace {

namespace po = boost::program_options;

constexpr OptionSpec kManifest{
    "manifest",
    "PATH",
    "read entries from this file or folder instead of the installed ones",
    true};
constexpr std::array<OptionSpec, 7> kCommon{{
    {"json", "", "print JSON"},
    {"config", "FILE", "read this configuration file"},
    {"set-config", "KEY=VALUE", "set a key of the configuration", true},
    {"trust-config", "", "follow plugins.paths of a tenon.yaml in the working directory"},
    {"plugin-path", "PATH", "look for plugins in this file or folder first", true},
    {"verbose", "", "also print what is logged as information"},
    {"help", "", "print this help", false, 'h'},
}};
constexpr std::string_view kOperandKey = " operand";

tl::unexpected<Error> usage(std::string message, std::string hint = {}) {
  return fail(Error(ErrorCode::kUsageError, std::move(message)).with_hint(std::move(hint)));
}

std::string see_help(const CommandSpec& command) {
  return fmt::format("'tenon {} --help' lists what there is", command.name);
}

po::options_description describe(std::span<const OptionSpec> options) {
  po::options_description description;
  auto add = description.add_options();
  for (const OptionSpec& option : options) {
    std::string name(option.name);
    if (option.letter != 0) (name += ',') += option.letter;
    if (option.value.empty()) {
      add(name.c_str(), new po::untyped_value(true));
    } else {
      add(name.c_str(), po::value<std::vector<std::string>>());
    }
  }
  add(std::string(kOperandKey).c_str(), po::value<std::vector<std::string>>());
  return description;
}

tl::unexpected<Error> unknown_option(const CommandSpec& command, std::string name) {
  const std::string shown = name;
  name.erase(0, name.find_first_not_of('-'));
  std::vector<std::string> known;
  for (const OptionSpec& option : options_of(command))
    known.push_back("--" + std::string(option.name));
  std::string hint = did_you_mean("--" + name, known);
  if (hint.empty()) hint = see_help(command);
  return usage(fmt::format("'tenon {}' has no option '{}'", command.name, shown), std::move(hint));
}

Result<void> check_operand_count(const CommandSpec& command,
                                 const std::vector<std::string>& operands) {
  if (operands.size() < command.min_operands) {
    return usage(fmt::format("'tenon {}' needs {}", command.name, command.operands),
                 see_help(command));
  }
  if (operands.size() <= command.max_operands) return {};
  const std::string& extra = operands[command.max_operands];
  return usage(
      command.max_operands == 0
          ? fmt::format("'tenon {}' takes no operand, got '{}'", command.name, extra)
          : fmt::format(
                "'tenon {}' takes {} only, got also '{}'", command.name, command.operands, extra),
      see_help(command));
}

}  // namespace

std::span<const OptionSpec> common_options() { return kCommon; }
const OptionSpec& manifest_option() { return kManifest; }

std::vector<OptionSpec> options_of(const CommandSpec& command) {
  std::vector<OptionSpec> all(command.options.begin(), command.options.end());
  if (command.reads_manifests) all.push_back(kManifest);
  for (const OptionSpec& option : kCommon) {
    const bool always = option.name == "json" || option.name == "help";
    if (command.takes_common || always) all.push_back(option);
  }
  return all;
}

bool Arguments::has(std::string_view option) const {
  return std::any_of(
      options_.begin(), options_.end(), [&](const auto& given) { return given.first == option; });
}

std::optional<std::string> Arguments::value(std::string_view option) const {
  for (const auto& [name, value] : options_) {
    if (name == option) return value;
  }
  return std::nullopt;
}

std::vector<std::string> Arguments::values(std::string_view option) const {
  std::vector<std::string> all;
  for (const auto& [name, value] : options_) {
    if (name == option) all.push_back(value);
  }
  return all;
}

Result<Arguments> parse_arguments(const CommandSpec& command, std::span<const std::string> words) {
  const std::vector<OptionSpec> options = options_of(command);
  const po::options_description description = describe(options);
  po::positional_options_description positional;
  positional.add(std::string(kOperandKey).c_str(), -1);
  constexpr int kStyle =
      po::command_line_style::unix_style ^ po::command_line_style::allow_guessing;
  Arguments arguments;
  try {
    const po::parsed_options parsed =
        po::command_line_parser(std::vector<std::string>(words.begin(), words.end()))
            .options(description)
            .positional(positional)
            .style(kStyle)
            .run();
    for (const po::option& option : parsed.options) {
      if (option.string_key == kOperandKey) {
        arguments.operands_.insert(
            arguments.operands_.end(), option.value.begin(), option.value.end());
        continue;
      }
      const auto spec =
          std::find_if(options.begin(), options.end(), [&](const OptionSpec& candidate) {
            return candidate.name == option.string_key;
          });
      if (spec == options.end()) return unknown_option(command, option.string_key);
      const bool takes_value = !spec->value.empty();
      if (takes_value && !spec->repeatable && arguments.has(spec->name)) {
        return usage(fmt::format("'--{}' is given twice", spec->name));
      }
      arguments.options_.emplace_back(
          spec->name, takes_value && !option.value.empty() ? option.value.front() : std::string());
    }
  } catch (const po::unknown_option& error) {
    return unknown_option(command, error.get_option_name());
  } catch (const po::error_with_option_name& error) {
    const std::string name = error.get_option_name();
    const auto spec =
        std::find_if(options.begin(), options.end(), [&](const OptionSpec& candidate) {
          return "--" + std::string(candidate.name) == name;
        });
    if (spec == options.end()) return usage(error.what(), see_help(command));
    return spec->value.empty()
               ? usage(fmt::format("'{}' takes no value", name), see_help(command))
               : usage(fmt::format("'{}' needs {}", name, spec->value), see_help(command));
  } catch (const po::error& error) {
    return usage(error.what(), see_help(command));
  }
  if (!arguments.has("help")) TENON_TRY(check_operand_count(command, arguments.operands_));
  return arguments;
}

}  // namespace tenon::cli
