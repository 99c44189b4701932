// Diagnostics: their order, and how they are printed.
#include "tenon/manifest/diagnostic.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tenon::manifest {
namespace {

/// Of the finding that stands for those that are not listed.
constexpr std::string_view kMore = "findings.more";

auto order_of(const Diagnostic& d) {
  return std::tie(
      d.where.file, d.where.line, d.where.column, d.rule, d.text, d.entry, d.field, d.severity);
}

/// What is not listed is told at the end of its file.
bool is_before(const Diagnostic& a, const Diagnostic& b) {
  if (a.where.file != b.where.file) return a.where.file < b.where.file;
  if ((a.rule == kMore) != (b.rule == kMore)) return b.rule == kMore;
  return order_of(a) < order_of(b);
}

Diagnostic more_findings(const std::string& file, std::size_t errors, std::size_t advisories) {
  Diagnostic d;
  d.where.file = file;
  d.rule = kMore;
  d.severity = errors > 0 ? Severity::kError : Severity::kAdvisory;
  if (errors + advisories == 1) {
    d.text =
        fmt::format("one more finding is not listed, {}", errors == 0 ? "an advisory" : "an error");
  } else {
    d.text = fmt::format("{} more findings are not listed, {} of them errors",
                         errors + advisories,
                         errors == 0       ? "none"
                         : advisories == 0 ? "all"
                                           : std::to_string(errors));
  }
  d.hint = "mend those above, and check the file again";
  return d;
}

}  // namespace

std::string_view name_of(Severity severity) noexcept {
  return severity == Severity::kError ? "error" : "advisory";
}

std::string Diagnostic::to_string() const {
  std::string out = fmt::format("{}: {}: ", where.to_string(), name_of(severity));
  if (!entry.empty()) out += entry + ": ";
  if (!field.empty()) out += field + ": ";
  out += fmt::format("{} [{}]", text, rule);
  if (!found.empty()) out += fmt::format("; found {}", found);
  if (!expected.empty()) out += fmt::format("; expected {}", expected);
  if (!hint.empty()) out += fmt::format("; {}", hint);
  return out;
}

Diagnostic& DiagnosticList::add(Diagnostic diagnostic) {
  settle();
  File& file = files_[diagnostic.where.file];
  if (file.kept >= kMostPerFile) return unlisted_.emplace(std::move(diagnostic));
  ++file.kept;
  items_.push_back(std::move(diagnostic));
  return items_.back();
}

/// Counts the last finding beyond the bound: until now its severity could change.
void DiagnosticList::settle() {
  if (!unlisted_) return;
  File& file = files_[unlisted_->where.file];
  if (unlisted_->severity == Severity::kError) {
    ++file.errors;
    file.faulty.insert(std::move(unlisted_->entry));
  } else {
    ++file.advisories;
  }
  unlisted_.reset();
}

Diagnostic& DiagnosticList::error(SourceLocation where,
                                  std::string entry,
                                  std::string field,
                                  std::string rule,
                                  std::string text) {
  Diagnostic d;
  d.where = std::move(where);
  d.entry = std::move(entry);
  d.field = std::move(field);
  d.rule = std::move(rule);
  d.text = std::move(text);
  return add(std::move(d));
}

Diagnostic& DiagnosticList::advisory(SourceLocation where,
                                     std::string entry,
                                     std::string field,
                                     std::string rule,
                                     std::string text) {
  Diagnostic& d =
      error(std::move(where), std::move(entry), std::move(field), std::move(rule), std::move(text));
  d.severity = Severity::kAdvisory;
  return d;
}

void DiagnosticList::append(const DiagnosticList& other) {
  for (const Diagnostic& d : other.items_) {
    if (d.rule != kMore) add(d);
  }
  if (other.unlisted_) add(*other.unlisted_);
  settle();
  for (const auto& [name, from] : other.files_) {
    File& file = files_[name];
    file.errors += from.errors;
    file.advisories += from.advisories;
    file.faulty.insert(from.faulty.begin(), from.faulty.end());
  }
}

void DiagnosticList::finish() {
  settle();
  std::erase_if(items_, [](const Diagnostic& d) { return d.rule == kMore; });
  for (const auto& [name, file] : files_) {
    if (file.errors + file.advisories > 0)
      items_.push_back(more_findings(name, file.errors, file.advisories));
  }
  std::stable_sort(items_.begin(), items_.end(), is_before);
  const auto same = [](const Diagnostic& a, const Diagnostic& b) {
    return order_of(a) == order_of(b);
  };
  items_.erase(std::unique(items_.begin(), items_.end(), same), items_.end());
}

void DiagnosticList::attach_source(std::string_view file, std::string_view contents) {
  std::vector<std::string_view> lines;
  for (Diagnostic& d : items_) {
    if (d.where.file != file || d.where.line == 0 || !d.source.empty()) continue;
    if (lines.empty()) {
      if (contents.substr(0, 3) == "\xef\xbb\xbf") contents.remove_prefix(3);
      std::size_t begin = 0;
      for (std::size_t end = 0; end != std::string_view::npos; begin = end + 1) {
        end = contents.find('\n', begin);
        std::string_view line =
            contents.substr(begin, end == std::string_view::npos ? end : end - begin);
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        lines.push_back(line);
      }
    }
    constexpr std::size_t kLongest = 400;
    if (d.where.line <= lines.size() && lines[d.where.line - 1].size() <= kLongest)
      d.source = lines[d.where.line - 1];
  }
}

std::size_t DiagnosticList::count(Severity severity) const {
  auto total = static_cast<std::size_t>(
      std::count_if(items_.begin(), items_.end(), [&](const Diagnostic& d) {
        return d.severity == severity && d.rule != kMore;
      }));
  for (const auto& [name, file] : files_)
    total += severity == Severity::kError ? file.errors : file.advisories;
  return total + (unlisted_ && unlisted_->severity == severity ? 1 : 0);
}

std::size_t DiagnosticList::error_count() const { return count(Severity::kError); }

std::size_t DiagnosticList::advisory_count() const { return count(Severity::kAdvisory); }

bool DiagnosticList::has_unlisted_error(std::string_view file, std::string_view entry) const {
  const bool is_last = unlisted_ && unlisted_->severity == Severity::kError &&
                       unlisted_->entry == entry && unlisted_->where.file == file;
  const auto found = files_.find(file);
  return is_last || (found != files_.end() && found->second.faulty.contains(entry));
}

std::string DiagnosticList::to_text() const {
  std::string out;
  for (const Diagnostic& d : items_) {
    out += d.to_string() + '\n';
    if (d.source.empty() || d.where.column == 0 || d.where.column > d.source.size() + 1) continue;
    out += fmt::format("  {}\n  ", d.source);
    for (std::size_t i = 0; i + 1 < d.where.column; ++i) {
      const auto byte = static_cast<unsigned char>(d.source[i]);
      if (byte == '\t') {
        out += '\t';
      } else if ((byte & 0xc0u) != 0x80u) {  // one blank for each character, not for each byte
        out += ' ';
      }
    }
    out += "^\n";
  }
  return out;
}

std::string DiagnosticList::to_json() const {
  nlohmann::ordered_json document;
  document["schema"] = 1;
  document["diagnostics"] = nlohmann::ordered_json::array();
  for (const Diagnostic& d : items_) {
    document["diagnostics"].push_back({{"file", d.where.file},
                                       {"line", d.where.line},
                                       {"column", d.where.column},
                                       {"entry", d.entry},
                                       {"field", d.field},
                                       {"rule", d.rule},
                                       {"severity", std::string(name_of(d.severity))},
                                       {"text", d.text},
                                       {"found", d.found},
                                       {"expected", d.expected},
                                       {"hint", d.hint}});
  }
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace tenon::manifest
