// The report as text and as JSON.
#include "report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tenon/loader/printable.hpp"

namespace tenon::lint {
namespace {

using loader::printable;

std::size_t count_of(const std::vector<FileReport>& reports, Verdict verdict) {
  std::size_t count = 0;
  for (const FileReport& report : reports) {
    count +=
        static_cast<std::size_t>(std::ranges::count(report.findings, verdict, &Finding::verdict));
  }
  return count;
}

}  // namespace

std::string report_text(const std::vector<FileReport>& reports) {
  std::string text;
  for (const FileReport& report : reports) {
    text += printable(report.path) + "\n";
    for (const Finding& each : report.findings) {
      text += fmt::format(
          "  {:<9} {:<20} {}\n", name_of(each.verdict), each.rule, printable(each.text));
      if (!each.hint.empty()) text += fmt::format("  {:<30} fix: {}\n", "", printable(each.hint));
    }
  }
  text += fmt::format("{} {}, {} failed, {} reported\n",
                      reports.size(),
                      reports.size() == 1 ? "file" : "files",
                      count_of(reports, Verdict::kFailed),
                      count_of(reports, Verdict::kReported));
  return text;
}

std::string report_json(const std::vector<FileReport>& reports) {
  using Json = nlohmann::ordered_json;
  Json files = Json::array();
  for (const FileReport& report : reports) {
    Json rules = Json::array();
    for (const Finding& each : report.findings) {
      rules.push_back({{"rule", each.rule},
                       {"verdict", name_of(each.verdict)},
                       {"text", each.text},
                       {"hint", each.hint.empty() ? Json(nullptr) : Json(each.hint)}});
    }
    files.push_back({{"path", report.path},
                     {"id", report.id.empty() ? Json(nullptr) : Json(report.id)},
                     {"rules", std::move(rules)}});
  }
  const Json document = {{"schema", 1},
                         {"files", std::move(files)},
                         {"failed", count_of(reports, Verdict::kFailed)},
                         {"reported", count_of(reports, Verdict::kReported)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tenon::lint
