// An explanation as text for people.
#include <algorithm>

#include <fmt/format.h>

#include "registry/abi_text.hpp"
#include "tenon/core/explain.hpp"
#include "tenon/core/plugin_record.hpp"

namespace tenon {
namespace {

std::string line_of(const CandidateReport& c) {
  std::string line = c.plugin + ":" + c.key;
  const std::size_t pad = line.size() < 28 ? 28 - line.size() : 1;
  line += std::string(pad, ' ') + std::string(name_of(c.verdict));
  line += std::string(12 - std::min<std::size_t>(11, name_of(c.verdict).size()), ' ') + "round " +
          std::to_string(c.round);
  if (!c.by.empty()) line += "  by " + c.by;
  for (std::size_t i = 0; i < c.with.size(); ++i) line += (i == 0 ? "  with " : ", ") + c.with[i];
  for (std::size_t i = 0; i < c.copies.size(); ++i)
    line += (i == 0 ? "  on a dense copy of " : ", ") + c.copies[i];
  for (std::size_t i = 0; i < c.passed.size(); ++i)
    line += (i == 0 ? "  gets " : ", ") + c.passed[i].to_string();
  if (!c.reason.text.empty()) line += "  " + c.reason.text;
  return line;
}

std::string text_of(const StepReport& step) {
  std::string text;
  text += "interface " + step.interface + ": ";
  text += step.winner ? *step.winner + " (round " + std::to_string(step.round) + ")\n"
                      : std::string("no kernel\n");
  if (!step.call.empty()) {
    text += "  call ";
    for (std::size_t i = 0; i < step.call.size(); ++i)
      text += fmt::format(
          "{}{}={}", i == 0 ? "" : ", ", step.call[i].first, step.call[i].second.to_string());
    text += "\n";
  }
  for (const auto& [name, facts] : step.facts) {
    const auto* words = facts.get_if<std::string>();
    text += "  " + name + ": " + (words == nullptr ? facts.to_string() : *words) + "\n";
  }
  for (const CandidateReport& c : step.candidates) text += "  " + line_of(c) + "\n";
  return text;
}

std::string text_of(const StageExplanation& stage) {
  std::string text = "stage " + stage.stage + ": ";
  for (const char c : stage.explanation.table()) {
    text += c;
    if (c == '\n') text += "  ";
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

std::string PassedReport::to_string() const {
  std::string text = arg;
  if (!stored_as.empty()) text += (cast ? " cast to " : " as ") + stored_as;
  if (padded) {
    text += stored_as.empty() ? " padded" : " and padded";
    if (padded_to != 0) text += " to " + std::to_string(padded_to);
  }
  return text;
}

std::string Explanation::table() const {
  std::string text = fmt::format("{} on {}, target {}\n",
                                 op,
                                 device.to_string(),
                                 target.empty() ? std::string("not chosen")
                                                : fmt::format("{} (from {})", target, target_from));
  for (const StepReport& step : steps) text += text_of(step);
  if (!composition.empty()) text += "composition: " + composition + "\n";
  for (const StageExplanation& stage : stages) text += text_of(stage);
  for (const auto& [what, by] : excluded) text += fmt::format("excluded: {} ({})\n", what, by);
  for (const auto& p : rejected_plugins)
    text += fmt::format("plugin not in use: {} ({}: {})\n", p.path, p.stage, p.reason);
  if (error) text += error->to_string() + "\n";
  return text;
}

}  // namespace tenon
