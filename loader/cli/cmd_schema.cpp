// tenon schema: reads operator schemas, one a line, and prints the verdict on each.
#include <string>

#include "files.hpp"
#include "json.hpp"
#include "run_commands.hpp"
#include "tenon/core/schema.hpp"

namespace tenon::cli {
namespace {

/// The tab-separated report as JSON: the fields of a line under their names.
std::string report_json(const SchemaFileReport& report) {
  Json json = document();
  json["ok"] = report.ok_count;
  json["errors"] = report.error_count;
  json["schemas"] = Json::array();
  std::string_view rest = report.text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    std::vector<std::string> fields;
    // The last field may hold anything but a line end.
    const std::size_t count = line.starts_with("ok\t") ? 3 : 4;
    while (fields.size() + 1 < count && line.find('\t') != std::string_view::npos) {
      fields.emplace_back(line.substr(0, line.find('\t')));
      line.remove_prefix(line.find('\t') + 1);
    }
    fields.emplace_back(line);
    if (fields.size() != count) continue;
    Json entry;
    entry["verdict"] = fields[0];
    if (count == 3) {
      entry["kind"] = fields[1];
      entry["text"] = fields[2];
    } else {
      entry["column"] = std::stoul(fields[1]);
      entry["rule"] = fields[2];
      entry["message"] = fields[3];
    }
    json["schemas"].push_back(std::move(entry));
  }
  return text_of(json);
}

}  // namespace

Result<int> run_schema(const Arguments& arguments, Console& console) {
  const std::string& file = arguments.operands().front();
  auto text = file == "-" ? read_standard_input() : read_text_file(file);
  if (!text) return fail(std::move(text).error());
  const SchemaFileReport report = check_schema_lines(*text, arguments.has("lint"));
  console.out(arguments.json() ? report_json(report) : report.text);
  return report.error_count == 0 ? kExitOk : kExitFailed;
}

}  // namespace tenon::cli
