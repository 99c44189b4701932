// What may stand next on a command line, from the table of commands and the installed manifest.
#include "completion.hpp"

#include <algorithm>

#include "commands.hpp"
#include "external.hpp"
#include "tenon/manifest/compiled.hpp"

namespace tenon::cli {
namespace {

void add_unique(std::vector<std::string>& all, std::string_view word) {
  if (std::find(all.begin(), all.end(), word) == all.end()) all.emplace_back(word);
}

std::vector<std::string> first_words() {
  std::vector<std::string> all;
  for (const CommandSpec& command : all_commands())
    add_unique(all, command.name.substr(0, command.name.find(' ')));
  for (const ExternalCommand& command : external_commands()) add_unique(all, command.name);
  add_unique(all, "help");
  add_unique(all, "--version");
  return all;
}

std::vector<std::string> second_words(std::string_view first) {
  std::vector<std::string> all;
  for (const CommandSpec& command : all_commands()) {
    const std::size_t space = command.name.find(' ');
    if (space != std::string_view::npos && command.name.substr(0, space) == first)
      add_unique(all, command.name.substr(space + 1));
  }
  return all;
}

bool expects_value(const CommandSpec& command, const std::string& last) {
  const std::vector<OptionSpec> options = options_of(command);
  return std::any_of(options.begin(), options.end(), [&](const OptionSpec& option) {
    return !option.value.empty() && last == "--" + std::string(option.name);
  });
}

void add_ops(std::vector<std::string>& all) {
  for (const manifest::CompiledEntry& entry : manifest::compiled_manifest())
    all.emplace_back(entry.name);
}

void add_tensors(const std::string& op, std::vector<std::string>& all) {
  const auto plan = manifest::load_compiled(op);
  if (!plan) return;
  const OpDecl& decl = (*plan)->decl();
  for (const auto* tensors : {&decl.construction_tensors, &decl.inputs}) {
    for (const TensorDecl& tensor : *tensors) all.push_back(tensor.name + "=");
  }
}

}  // namespace

std::vector<std::string> completions(std::span<const std::string> words) {
  if (words.empty()) return first_words();
  const auto found = find_command(words);
  if (!found) return words.size() == 1 ? second_words(words.front()) : std::vector<std::string>();
  const CommandSpec& command = *found->command;
  if (words.size() > found->word_count && expects_value(command, words.back())) return {};
  std::vector<std::string> all;
  if (words.size() == 1) all = second_words(words.front());
  for (const OptionSpec& option : options_of(command))
    all.push_back("--" + std::string(option.name));
  const bool takes_op = command.operands.starts_with("OP") || command.operands == "[OP]";
  if (!takes_op) return all;
  if (words.size() == found->word_count) {
    add_ops(all);
  } else if (command.max_operands == kAnyNumber) {
    add_tensors(words[found->word_count], all);
  }
  return all;
}

}  // namespace tenon::cli
