// YAML documents as a plain tree with places, read within bounds; the YAML library stays behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/error.hpp"
#include "tenon/core/op_decl.hpp"
#include "tenon/core/value.hpp"
#include "tenon/manifest/diagnostic.hpp"

namespace tenon::manifest {

/// A node of a YAML document. Scalars are resolved by PyYAML's rules.
struct Node {
  enum class Kind : std::uint8_t { kNull, kBool, kInt, kFloat, kString, kList, kMap };
  Kind kind = Kind::kNull;
  bool quoted = false;       ///< a scalar in quotes or a block scalar
  bool verbatim = false;     ///< the text stands in the file character by character, on one line
  std::uint8_t lead = 0;     ///< characters before the text: 1 for an opening quote
  std::uint32_t line = 0;    ///< from 1
  std::uint32_t column = 0;  ///< from 1, in bytes
  std::string text;          ///< of a scalar, as written (quotes and escapes resolved, folds done)
  Value value;               ///< of a scalar
  std::vector<Node> items;   ///< of a list; of a map: key, value, key, value, ...

  [[nodiscard]] bool is_scalar() const { return kind != Kind::kList && kind != Kind::kMap; }
  [[nodiscard]] bool is_string() const { return kind == Kind::kString; }
  [[nodiscard]] bool is_list() const { return kind == Kind::kList; }
  [[nodiscard]] bool is_map() const { return kind == Kind::kMap; }
  [[nodiscard]] bool is_null() const { return kind == Kind::kNull; }
  [[nodiscard]] std::size_t size() const { return is_map() ? items.size() / 2 : items.size(); }
  [[nodiscard]] const Node& key(std::size_t i) const { return items[2 * i]; }
  [[nodiscard]] const Node& mapped(std::size_t i) const { return items[2 * i + 1]; }
  /// The value under a key of a map, by the key's text; null where there is none.
  [[nodiscard]] const Node* find(std::string_view name) const;

  /// "the string 'abc'", "the int 3", "a list", "null": what stands here, for messages.
  [[nodiscard]] std::string describe() const;
};

/// Bounds of what is read at all. No manifest comes near them; they keep hostile text from costing
/// more than a message.
struct YamlLimits {
  std::size_t size_bytes = 8u << 20;
  std::size_t depth = 64;
  std::size_t nodes = 500'000;  ///< after aliases are expanded
};

/// Parses one document. Reports every fault with `file` as its name; nothing where the text is not
/// YAML. A duplicate key is reported, and its first value kept. An empty document is a null node.
/// Never throws, never recurses deeper than the limit.
[[nodiscard]] std::optional<Node> parse_yaml(std::string_view file,
                                             std::string_view text,
                                             DiagnosticList& diagnostics,
                                             const YamlLimits& limits = {});

/// A node as a value, for defaults, rows and arguments of a program: lists become lists (never
/// tuples), a map with one key that is a name and a map or null under it an AdtValue, any other map
/// an OpaqueValue.
[[nodiscard]] Value value_from_yaml(const Node& node);
/// One YAML flow value, as a command line or a configuration gives it: "[1, 2]", "1.0e-6",
/// "{masked: {max_m: 8}}".
/// @errors UsageError with the column.
[[nodiscard]] Result<Value> value_from_yaml(std::string_view text);

/// The node as one line of flow YAML.
[[nodiscard]] std::string to_flow_text(const Node& node);

}  // namespace tenon::manifest
