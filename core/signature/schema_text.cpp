// The verdicts on a file of schemas, a line each.
#include <string>

#include "signature/schema_internal.hpp"
#include "tenon/core/schema.hpp"

namespace tenon {
namespace {

/// Bytes before the schema: blanks and `- func: `.
std::size_t prefix_length(std::string_view line) {
  std::size_t at = line.find_first_not_of(' ');
  if (at == std::string_view::npos) return line.size();
  if (line.substr(at).starts_with("- ")) at += 2;
  constexpr std::string_view kFunc = "func: ";
  // Without `func: ` the line is the schema itself, in which leading blanks are a mistake.
  return line.substr(at).starts_with(kFunc) ? at + kFunc.size() : 0;
}

}  // namespace

SchemaFileReport check_schema_lines(std::string_view text, bool with_lint) {
  SchemaFileReport report;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(' ') == std::string_view::npos) continue;

    const std::size_t prefix = prefix_length(line);
    const SchemaVerdict verdict = check_schema(line.substr(prefix), with_lint);
    const std::vector<SchemaIssue>& issues = verdict.errors.empty() ? verdict.lint : verdict.errors;
    if (issues.empty()) {
      ++report.ok_count;
      report.text += "ok\t";
      report.text += name_of(verdict.schema->kind());
      report.text += '\t' + print(*verdict.schema) + '\n';
    } else {
      ++report.error_count;
      const SchemaIssue& issue = issues.front();
      report.text += "error\t" + std::to_string(issue.column + prefix) + '\t';
      report.text += issue.rule;
      report.text += '\t' + issue.message + '\n';
    }
  }
  return report;
}

}  // namespace tenon
