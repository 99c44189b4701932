// `tenon explain` as text and as JSON.
#include "view_explanation.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "json.hpp"
#include "tenon/core/plugin_record.hpp"
#include "text.hpp"

namespace tenon::cli {
namespace {

Ink ink_of(Verdict verdict) {
  if (verdict == Verdict::kChosen) return Ink::kGood;
  if (verdict == Verdict::kTied) return Ink::kBad;
  return Ink::kPlain;
}

std::string_view round_text(std::uint32_t round) {
  switch (round) {
    case 1:
      return "the call as it is, reference kernels left out";
    case 2:
      return "on dense copies, reference kernels left out";
    case 3:
      return "the call as it is, reference kernels too";
    default:
      return "";
  }
}

std::string qualified(const CandidateReport& candidate) {
  return fmt::format("{}:{}", candidate.plugin, candidate.key);
}

std::string values_text(const std::vector<NamedValue>& values,
                        std::string_view between,
                        bool quoted) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : values) {
    const auto* const text = value.get_if<std::string>();
    parts.push_back(fmt::format(
        "{}{}{}", name, between, text != nullptr && !quoted ? *text : value.to_string()));
  }
  return joined(parts, quoted ? ", " : "; ");
}

std::string reason_text(const CandidateReport& candidate) {
  std::vector<std::string> parts;
  if (!candidate.by.empty()) parts.push_back("by " + candidate.by);
  if (!candidate.with.empty()) parts.push_back("with " + joined(candidate.with));
  if (!candidate.reason.text.empty()) parts.push_back(candidate.reason.text);
  if (!candidate.copies.empty()) parts.push_back("on dense copies of " + joined(candidate.copies));
  if (!candidate.passed.empty()) {
    std::vector<std::string> passed;
    for (const PassedReport& p : candidate.passed) passed.push_back(p.to_string());
    parts.push_back("gets " + joined(passed));
  }
  return joined(parts, "; ");
}

/// The winner first, then by round, else in the order given.
std::vector<const CandidateReport*> in_reading_order(const StepReport& step) {
  std::vector<const CandidateReport*> order;
  for (const CandidateReport& candidate : step.candidates) order.push_back(&candidate);
  std::stable_sort(
      order.begin(), order.end(), [](const CandidateReport* a, const CandidateReport* b) {
        const bool a_chosen = a->verdict == Verdict::kChosen;
        const bool b_chosen = b->verdict == Verdict::kChosen;
        return a_chosen != b_chosen ? a_chosen : a->round < b->round;
      });
  return order;
}

std::string step_text(const StepReport& step, const Style& style) {
  std::string text =
      '\n' +
      inked(fmt::format("step {}, interface {}", step.step, step.interface), Ink::kBold, style) +
      '\n';
  if (!step.call.empty()) text += paragraph("call: " + values_text(step.call, "=", true), 2, style);
  if (!step.facts.empty())
    text += paragraph("facts: " + values_text(step.facts, " ", false), 2, style);
  if (step.winner) {
    text += "  chosen: " + inked(*step.winner, Ink::kGood, style);
    if (step.round != 0) text += fmt::format(", round {} ({})", step.round, round_text(step.round));
    text += '\n';
  } else {
    text += "  chosen: " + inked("none", Ink::kBad, style) + '\n';
  }
  Table table({{"KERNEL"}, {"ROUND", true}, {"VERDICT"}, {"WHY", false, true}});
  for (const CandidateReport* candidate : in_reading_order(step)) {
    table.row({qualified(*candidate),
               candidate->round == 0 ? "" : std::to_string(candidate->round),
               Cell(std::string(name_of(candidate->verdict)), ink_of(candidate->verdict)),
               reason_text(*candidate)});
  }
  if (!table.empty()) text += '\n' + table.render(style, 2);
  return text;
}

Json reason_json(const ReasonReport& reason) {
  Json json;
  json["code"] = reason.code == TENON_REASON_NONE ? Json(nullptr) : Json(reason_name(reason.code));
  json["arg"] = text_or_null(reason.arg);
  json["attribute"] = text_or_null(reason.attribute);
  json["expected"] = text_or_null(reason.expected);
  json["actual"] = text_or_null(reason.actual);
  json["text"] = reason.text;
  return json;
}

Json candidate_json(const CandidateReport& candidate) {
  Json json;
  json["key"] = candidate.key;
  json["plugin"] = candidate.plugin;
  json["round"] = candidate.round;
  json["verdict"] = name_of(candidate.verdict);
  json["reason"] = reason_json(candidate.reason);
  json["by"] = text_or_null(candidate.by);
  json["with"] = candidate.with;
  json["copies"] = candidate.copies;
  if (candidate.passed.empty()) return json;
  json["passed"] = Json::array();
  for (const PassedReport& p : candidate.passed) {
    json["passed"].push_back({{"arg", p.arg},
                              {"stored_as", text_or_null(p.stored_as)},
                              {"cast", p.cast},
                              {"padded", p.padded},
                              {"padded_to", p.padded_to == 0 ? Json(nullptr) : Json(p.padded_to)}});
  }
  return json;
}

Json step_json(const StepReport& step) {
  Json json;
  json["step"] = step.step;
  json["interface"] = step.interface;
  json["call"] = to_json(step.call);
  json["facts"] = to_json(step.facts);
  json["winner"] = step.winner ? Json(*step.winner) : Json(nullptr);
  json["round"] = step.winner ? Json(step.round) : Json(nullptr);
  json["candidates"] = Json::array();
  for (const CandidateReport& candidate : step.candidates)
    json["candidates"].push_back(candidate_json(candidate));
  return json;
}

}  // namespace

std::string explanation_text(const Explanation& explanation, const Style& style) {
  std::string text = inked(explanation.op, Ink::kBold, style);
  text += fmt::format(" on {}", explanation.device.to_string());
  if (!explanation.target.empty()) {
    text += fmt::format(", target {} (from {})", explanation.target, explanation.target_from);
    if (!explanation.target_plugin.empty())
      text += fmt::format(", built by {}", explanation.target_plugin);
  }
  text += '\n';
  if (!explanation.branch.empty())
    text += paragraph("branch: " + values_text(explanation.branch, "=", true), 2, style);
  for (const StepReport& step : explanation.steps) text += step_text(step, style);
  if (!explanation.composition.empty())
    text += '\n' + paragraph("composition: " + explanation.composition, 0, style);
  if (!explanation.excluded.empty()) {
    text += '\n' + inked("excluded by settings", Ink::kBold, style) + '\n';
    for (const auto& [what, by] : explanation.excluded)
      text += fmt::format("  {}: by {}\n", what, by);
  }
  if (!explanation.rejected_plugins.empty()) {
    text += '\n' + inked("plugins not in use", Ink::kBold, style) + '\n';
    for (const RejectedPluginReport& plugin : explanation.rejected_plugins) {
      text += fmt::format("  {}\n", plugin.path);
      text += paragraph(fmt::format("at stage {}: {}", plugin.stage, plugin.reason), 4, style);
    }
  }
  return text;
}

std::string explanation_json(const Explanation& explanation) {
  Json json = document();
  json["op"] = explanation.op;
  json["device"] = explanation.device.to_string();
  json["target"] = {{"name", explanation.target},
                    {"from", explanation.target_from},
                    {"plugin", text_or_null(explanation.target_plugin)}};
  json["branch"] = to_json(explanation.branch);
  json["steps"] = Json::array();
  for (const StepReport& step : explanation.steps) json["steps"].push_back(step_json(step));
  json["rejected_plugins"] = Json::array();
  for (const RejectedPluginReport& plugin : explanation.rejected_plugins) {
    json["rejected_plugins"].push_back(
        {{"path", plugin.path}, {"stage", plugin.stage}, {"reason", plugin.reason}});
  }
  json["excluded"] = Json::array();
  for (const auto& [what, by] : explanation.excluded)
    json["excluded"].push_back({{"what", what}, {"by", by}});
  json["composition"] = text_or_null(explanation.composition);
  json["error"] = explanation.error ? to_json(*explanation.error) : Json(nullptr);
  return text_of(json);
}

}  // namespace tenon::cli
