// Where the reader is, and how it takes keys, names and texts from nodes: one report per fault,
// then on.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/manifest/diagnostic.hpp"
#include "tenon/manifest/entry.hpp"
#include "tenon/manifest/yaml.hpp"

namespace tenon::manifest {

/// A legal key of a map.
struct KeySpec {
  std::string_view name;
  bool required = false;
};

/// A place in an entry while it is read: file, entry, field path. Cheap to derive, never outlives
/// the file.
class Scope {
 public:
  Scope(std::string_view file, DiagnosticList& diagnostics)
      : file_(file), diagnostics_(&diagnostics) {}

  [[nodiscard]] Scope entry(std::string_view name) const {
    Scope s = *this;
    s.entry_ = name;
    s.path_.clear();
    return s;
  }
  [[nodiscard]] Scope in(std::string_view key) const {
    Scope s = *this;
    s.path_ += (path_.empty() ? "" : ".") + std::string(key);
    return s;
  }
  [[nodiscard]] Scope item(std::size_t i) const {
    Scope s = *this;
    s.path_ += "[" + std::to_string(i) + "]";
    return s;
  }

  [[nodiscard]] const std::string& entry_name() const { return entry_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] DiagnosticList& diagnostics() const { return *diagnostics_; }
  [[nodiscard]] SourceLocation at(const Node& node) const {
    return {file_, node.line, node.column};
  }

  Diagnostic& error(const Node& node, std::string rule, std::string text) const {
    return error(at(node), std::move(rule), std::move(text));
  }
  Diagnostic& error(const SourceLocation& where, std::string rule, std::string text) const {
    return diagnostics_->error(where, entry_, path_, std::move(rule), std::move(text));
  }
  Diagnostic& advisory(const SourceLocation& where, std::string rule, std::string text) const {
    return diagnostics_->advisory(where, entry_, path_, std::move(rule), std::move(text));
  }
  /// "expected X, found Y" under rule `value.kind`.
  void wrong_kind(const Node& node, std::string_view expected, std::string_view hint = {}) const;
  /// A word that is none of the legal ones, with the nearest of them.
  void wrong_word(const SourceLocation& where,
                  std::string_view what,
                  std::string_view found,
                  std::span<const std::string_view> legal) const;

  /// The node as a Text without judging it.
  [[nodiscard]] Text as_text(const Node& node) const;
  /// A string that is not empty, else a report and an empty Text.
  [[nodiscard]] Text text(const Node& node, std::string_view expected = "a string") const;
  [[nodiscard]] std::optional<bool> boolean(const Node& node) const;
  [[nodiscard]] std::optional<std::int64_t> integer(const Node& node) const;
  /// The items of a list of strings.
  [[nodiscard]] std::vector<Text> texts(const Node& node, std::string_view expected) const;
  /// True where the key is a name that expressions can use and that is not reserved.
  bool name(const Node& key, std::string_view what) const;

 private:
  std::string file_;
  std::string entry_;
  std::string path_;
  DiagnosticList* diagnostics_;
};

/// A map with known keys: reports what is no map, unknown keys with the nearest legal one, and
/// missing ones.
class Fields {
 public:
  Fields(const Scope& scope,
         const Node& node,
         std::span<const KeySpec> keys,
         std::string_view what);
  /// The value, or null where the key is absent.
  [[nodiscard]] const Node* get(std::string_view key) const;
  /// The value, or null where the key is absent or its value null: an empty section.
  [[nodiscard]] const Node* section(std::string_view key) const;
  [[nodiscard]] bool is_map() const { return node_.is_map(); }

 private:
  const Node& node_;
};

/// The members of a map with free keys, or nothing but a report. Null counts as empty.
[[nodiscard]] bool is_section(const Scope& scope, const Node& node, std::string_view what);

}  // namespace tenon::manifest
