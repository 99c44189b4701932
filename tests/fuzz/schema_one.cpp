// The properties of the schema parser that hold for any text.
#include "schema_one.hpp"

#include <vector>

#include "tenon/core/schema.hpp"

namespace tenon::fuzz {
namespace {

bool is_printable(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) return false;
  }
  return true;
}

std::string broken_issue(const std::vector<SchemaIssue>& issues, std::string_view text) {
  std::uint32_t last = 1;
  for (const SchemaIssue& issue : issues) {
    if (issue.column < last || issue.column > text.size() + 1)
      return "a column is out of order or out of the text";
    if (issue.rule.empty() || !issue.message.starts_with("expected "))
      return "an issue without rule or expectation";
    if (!is_printable(issue.message)) return "a message that is not printable";
    last = issue.column;
  }
  return {};
}

}  // namespace

std::string broken_schema_property(std::string_view text) {
  const SchemaVerdict verdict = check_schema(text, true);
  if (std::string broken = broken_issue(verdict.errors, text); !broken.empty()) return broken;
  if (std::string broken = broken_issue(verdict.lint, text); !broken.empty()) return broken;
  if (verdict.is_valid() != parse_schema(text).has_value())
    return "check_schema and parse_schema disagree";
  if (!verdict.is_valid() && !verdict.lint.empty()) return "lint of a schema that is not valid";
  if (!verdict.schema) {
    return verdict.is_valid() ? "valid without a schema" : "";
  }

  const Schema& schema = *verdict.schema;
  if (print(schema) != text) return "the schema does not print back";
  if (!compare_schemas(schema, schema).empty() && lint_schema(schema).empty())
    return "a schema differs from itself";
  const std::vector<Schema> twice{schema, schema};
  if (!check_family(twice).empty()) return "a schema is no variant of itself";
  if (signature_of(schema).empty()) return "no signature";
  const SchemaFileReport report = check_schema_lines(text, false);
  if (report.ok_count + report.error_count > 1) return "one line was judged twice";
  return {};
}

}  // namespace tenon::fuzz
