// Diagnostics: what is wrong with a manifest, where, by which rule, and what to do about it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/op_decl.hpp"

namespace tenon::manifest {

/// How much a finding weighs.
enum class Severity : std::uint8_t {
  kError,     ///< the entry is not registered
  kAdvisory,  ///< reported, and nothing else fails
};
[[nodiscard]] std::string_view name_of(Severity severity) noexcept;

/// One finding. `text` is a whole sentence without the place; the other fields say the same in
/// parts.
struct Diagnostic {
  SourceLocation where;
  std::string entry;  ///< "RMSNormFwdOp"; empty for a fault of the file
  std::string field;  ///< path inside the entry: "signature.inputs.x.shape", "workloads[2].label"
  std::string rule;   ///< stable id of the rule: "key.unknown", "expr.kind"
  Severity severity = Severity::kError;
  std::string text;      ///< "unknown key 'dtpye'"
  std::string found;     ///< what stands there; may be empty
  std::string expected;  ///< what may stand there; may be empty
  std::string hint;      ///< what to do; may be empty
  std::string
      source;  ///< the source line, for the caret; filled when a file's diagnostics are finished

  /// Fluent setters, so that a finding is written in one statement.
  Diagnostic&& with_found(std::string v) && { return found = std::move(v), std::move(*this); }
  Diagnostic&& with_expected(std::string v) && { return expected = std::move(v), std::move(*this); }
  Diagnostic&& with_hint(std::string v) && { return hint = std::move(v), std::move(*this); }

  /// "norm.yaml:12:7: error: RMSNormFwdOp: signature.params: unknown key 'typ' [key.unknown]" on
  /// one line, with found, expected and hint appended where they are set.
  [[nodiscard]] std::string to_string() const;
};

/// Findings, kept until `finish` puts them into their one order: file, line, column, rule, text.
/// Of each file the first kMostPerFile are kept. Of the others it is known how many they are, and
/// which entries they fault: a hostile file costs no memory without bound. `finish` says in a last
/// finding of the file how many are not listed.
class DiagnosticList {
 public:
  static constexpr std::size_t kMostPerFile = 1000;

  /// The finding as kept; one that is not kept may be filled all the same, until the next.
  Diagnostic& add(Diagnostic diagnostic);
  /// An error at a place; fill the rest of the reference as needed.
  Diagnostic& error(SourceLocation where,
                    std::string entry,
                    std::string field,
                    std::string rule,
                    std::string text);
  Diagnostic& advisory(SourceLocation where,
                       std::string entry,
                       std::string field,
                       std::string rule,
                       std::string text);
  void append(const DiagnosticList& other);

  /// Sorts, and drops exact repetitions. Called by everything that returns a list; idempotent.
  void finish();
  /// Copies the source lines of `file` into its diagnostics.
  void attach_source(std::string_view file, std::string_view contents);

  [[nodiscard]] const std::vector<Diagnostic>& items() const { return items_; }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  /// Errors, those that are not listed included.
  [[nodiscard]] std::size_t error_count() const;
  /// Advisories likewise.
  [[nodiscard]] std::size_t advisory_count() const;
  /// Whether an error of an entry is among those that are not listed.
  [[nodiscard]] bool has_unlisted_error(std::string_view file, std::string_view entry) const;
  [[nodiscard]] bool has_errors() const { return error_count() != 0; }
  [[nodiscard]] auto begin() const { return items_.begin(); }
  [[nodiscard]] auto end() const { return items_.end(); }

  /// One block each: the line of Diagnostic::to_string, then the source line and a caret where
  /// known.
  [[nodiscard]] std::string to_text() const;
  /// {"schema": 1, "diagnostics": [{file, line, column, entry, field, rule, severity, text, hint,
  /// found, expected}]}
  [[nodiscard]] std::string to_json() const;

 private:
  /// What is known of a file's findings.
  struct File {
    std::size_t kept = 0;
    std::size_t errors = 0;  ///< not listed
    std::size_t advisories = 0;
    std::set<std::string, std::less<>> faulty;  ///< entries with an error that is not listed
  };
  [[nodiscard]] std::size_t count(Severity severity) const;
  void settle();

  std::vector<Diagnostic> items_;
  std::map<std::string, File, std::less<>> files_;
  std::optional<Diagnostic> unlisted_;  ///< the last one beyond the bound, until it is settled
};

}  // namespace tenon::manifest
