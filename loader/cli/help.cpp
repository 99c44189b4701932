// Help texts, made from the table of commands.
#include "help.hpp"

#include <fmt/format.h>

#include "commands.hpp"
#include "external.hpp"
#include "text.hpp"

namespace tenon::cli {
namespace {

std::string heading(std::string_view text, const Style& style) {
  return '\n' + inked(text, Ink::kBold, style) + '\n';
}

std::string options_table(std::span<const OptionSpec> options, const Style& style) {
  Table table({{""}, {"", false, true}});
  for (const OptionSpec& option : options) {
    std::string spelling = fmt::format("--{}", option.name);
    if (option.letter != 0) spelling = fmt::format("-{}, {}", option.letter, spelling);
    if (!option.value.empty()) spelling += fmt::format(" {}", option.value);
    std::string help(option.help);
    if (option.repeatable) help += " (repeatable)";
    table.row({spelling, help});
  }
  return table.render(style, 2);
}

/// The commands below `first`, as rows.
Table commands_below(std::string_view first) {
  Table table({{""}, {"", false, true}});
  for (const CommandSpec& command : all_commands()) {
    const bool is_below =
        command.name.starts_with(first) && command.name.substr(first.size()).starts_with(' ');
    if (is_below) table.row({command.name, command.summary});
  }
  return table;
}

}  // namespace

std::string group_text(std::string_view first, const Style& style) {
  const Table table = commands_below(first);
  if (table.empty()) return {};
  return fmt::format("usage: tenon {} COMMAND [OPERANDS] [OPTIONS]\n", first) +
         heading("commands", style) + table.render(style, 2);
}

std::string overview_text(const Style& style) {
  std::string text =
      "tenon: a plugin-based kernel registry\n\nusage: tenon COMMAND [OPERANDS] [OPTIONS]\n";
  text += heading("commands", style);
  Table table({{""}, {"", false, true}});
  for (const CommandSpec& command : all_commands()) table.row({command.name, command.summary});
  for (const ExternalCommand& command : external_commands())
    table.row({command.name, command.summary});
  text += table.render(style, 2);
  text += '\n';
  text += paragraph(
      "'tenon COMMAND --help' shows a command's options and examples. Data goes to stdout, "
      "everything else "
      "to stderr. Exit status: 0 done, 1 the work failed, 2 the command line is wrong.",
      0,
      style);
  return text;
}

std::string help_text(const CommandSpec& command, const Style& style) {
  std::string text =
      paragraph(fmt::format("tenon {}: {}", command.name, command.summary), 0, style);
  text += fmt::format("\nusage: tenon {}", command.name);
  if (!command.operands.empty()) text += fmt::format(" {}", command.operands);
  text += " [OPTIONS]\n";
  if (!command.description.empty()) text += '\n' + paragraph(command.description, 0, style);
  if (!command.options.empty()) {
    text += heading("options", style);
    text += options_table(command.options, style);
  }
  std::vector<OptionSpec> common = options_of(command);
  common.erase(common.begin(),
               common.begin() + static_cast<std::ptrdiff_t>(command.options.size()));
  text += heading("common options", style);
  text += options_table(common, style);
  if (const Table below = commands_below(command.name); !below.empty()) {
    text += heading("further commands", style);
    text += below.render(style, 2);
  }
  if (!command.examples.empty()) {
    text += heading("examples", style);
    for (const std::string& line : wrapped(command.examples, static_cast<std::size_t>(-1)))
      text += "  " + line + '\n';
  }
  return text;
}

}  // namespace tenon::cli
