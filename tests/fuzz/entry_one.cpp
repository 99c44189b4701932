// The properties of the manifest reader and compiler that hold for any text.
#include "entry_one.hpp"

#include <algorithm>
#include <vector>

#include "tenon/core/signature/archive.hpp"
#include "tenon/manifest/check.hpp"

namespace tenon::fuzz {
namespace {

using manifest::CheckedSet;
using manifest::Diagnostic;
using manifest::DiagnosticList;
using manifest::NamedText;

constexpr std::string_view kTypes =
    "adts:\n"
    "  Layout:\n"
    "    sum:\n"
    "      contiguous: {python: a.b.C, fields: {alignment: Dim, packing: {type: \"'tight' | "
    "'aligned'\", python: a.b.P}}, invariant: \"packing == 'tight' or alignment > 0\"}\n"
    "      masked: {python: a.b.M, fields: {max_m: Dim}}\n";

CheckedSet checked(std::string_view text) {
  const std::vector<NamedText> files{{"demo.yaml", std::string(text)},
                                     {"types.yaml", std::string(kTypes)}};
  return manifest::check(manifest::load_texts(files));
}

std::string broken_diagnostic(const DiagnosticList& diagnostics, std::string_view text) {
  const auto is_break = [](char c) { return c == '\n' || c == '\r'; };  // YAML takes either alone
  const auto lines = static_cast<std::uint32_t>(std::ranges::count_if(text, is_break) + 2);
  const Diagnostic* last = nullptr;
  for (const Diagnostic& d : diagnostics) {
    if (d.rule.empty() || d.text.empty()) return "a diagnostic without rule or text";
    if (d.where.file != "demo.yaml" && d.where.file != "types.yaml")
      return "a diagnostic of no file: " + d.to_string();
    if (d.where.file == "demo.yaml" && (d.where.line == 0 || d.where.line > lines))
      return "a diagnostic outside of the text: " + d.to_string();
    if (last != nullptr && last->where.file == d.where.file && last->where.line > d.where.line)
      return "diagnostics out of order: " + d.to_string();
    last = &d;
  }
  return {};
}

/// What was compiled survives being written and read.
std::string broken_archive(const CheckedSet& set) {
  for (std::size_t i = 0; i < set.plans.size(); ++i) {
    if (set.plans[i] == nullptr) continue;
    DiagnosticList ignored;
    const auto data = manifest::compile_data(set.set.entries[i], set.set.adts, ignored);
    if (!data) return "an entry compiled once only";
    const std::string bytes = signature::write_plan(*data);
    const auto read = signature::read_plan(bytes);
    if (!read) return "a plan does not read back: " + read.error().to_string();
    if (signature::write_plan(*read) != bytes) return "a plan changes when it is read";
  }
  return {};
}

}  // namespace

std::string broken_entry_property(std::string_view text) {
  const CheckedSet set = checked(text);
  if (std::string broken = broken_diagnostic(set.diagnostics, text); !broken.empty()) return broken;
  if (set.plans.size() != set.set.entries.size()) return "plans and entries differ in number";
  if (set.diagnostics.to_text() != checked(text).diagnostics.to_text())
    return "the same text gives other diagnostics";
  return broken_archive(set);
}

}  // namespace tenon::fuzz
