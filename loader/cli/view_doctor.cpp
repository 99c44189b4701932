// `tenon plugins doctor` as text and as JSON.
#include <algorithm>

#include <fmt/format.h>

#include "doctor.hpp"
#include "json.hpp"
#include "text.hpp"
#include "view_plugins.hpp"

namespace tenon::cli {
namespace {

Ink ink_of(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::kPass:
      return Ink::kGood;
    case CheckVerdict::kWarn:
      return Ink::kWarn;
    case CheckVerdict::kFail:
      return Ink::kBad;
    case CheckVerdict::kSkipped:
      return Ink::kDim;
  }
  return Ink::kPlain;
}

}  // namespace

std::string_view name_of(CheckVerdict verdict) noexcept {
  switch (verdict) {
    case CheckVerdict::kPass:
      return "pass";
    case CheckVerdict::kWarn:
      return "warn";
    case CheckVerdict::kFail:
      return "fail";
    case CheckVerdict::kSkipped:
      return "skipped";
  }
  return "skipped";
}

bool Diagnosis::ok() const {
  return std::none_of(checks.begin(), checks.end(), [](const Check& check) {
    return check.verdict == CheckVerdict::kFail;
  });
}

std::string diagnosis_text(const std::vector<Diagnosis>& all, const Style& style) {
  std::string text;
  for (const Diagnosis& diagnosis : all) {
    if (!text.empty()) text += '\n';
    text += one_line(diagnosis.path) + '\n';
    Table table({{"CHECK"}, {""}, {"FOUND", false, true}, {"TIME", true}});
    for (const Check& check : diagnosis.checks) {
      table.row({check.name,
                 Cell(std::string(name_of(check.verdict)), ink_of(check.verdict)),
                 one_line(check.found),
                 check.duration_ns == 0 ? std::string()
                                        : duration_text(static_cast<double>(check.duration_ns))});
      if (!check.fix.empty()) table.remark("fix: " + check.fix, ink_of(check.verdict));
    }
    text += table.render(style, 2);
    const std::string name = diagnosis.id.empty()
                                 ? std::string("this file")
                                 : fmt::format("{} {}", diagnosis.id, diagnosis.version);
    text += diagnosis.ok()
                ? fmt::format("  {} is {}\n", name, inked("sound", Ink::kGood, style))
                : fmt::format("  {} is {}\n", name, inked("not usable as it is", Ink::kBad, style));
  }
  if (all.empty()) text = "no plugin was found; 'tenon plugins --search' prints where\n";
  return text;
}

std::string diagnosis_json(const std::vector<Diagnosis>& all) {
  Json json = document();
  json["plugins"] = Json::array();
  for (const Diagnosis& diagnosis : all) {
    Json plugin;
    plugin["path"] = diagnosis.path;
    plugin["id"] = diagnosis.id;
    plugin["version"] = diagnosis.version;
    plugin["ok"] = diagnosis.ok();
    plugin["checks"] = Json::array();
    for (const Check& check : diagnosis.checks) {
      Json entry;
      entry["check"] = check.name;
      entry["verdict"] = name_of(check.verdict);
      entry["found"] = check.found;
      entry["fix"] = text_or_null(check.fix);
      entry["duration_ns"] = check.duration_ns == 0 ? Json(nullptr) : Json(check.duration_ns);
      plugin["checks"].push_back(std::move(entry));
    }
    json["plugins"].push_back(std::move(plugin));
  }
  return text_of(json);
}

}  // namespace tenon::cli
