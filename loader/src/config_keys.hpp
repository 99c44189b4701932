// The one table of configuration keys, and the check of a value against its row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/error.hpp"
#include "tenon/core/value.hpp"
#include "tenon/manifest/yaml.hpp"

namespace tenon::loader {

enum class KeyKind : std::uint8_t {
  kBool,
  kCount,  ///< an integer of at least 1
  kText,
  kDevice,  ///< a kind, or KIND:INDEX
  kPath,    ///< relative to the file that says it
  kEnum,
  kTexts,
  kPaths,
  kIndices,  ///< a list of integers of at least 0
  kScalar,   ///< whatever the plugin's declaration says
};

/// One key. In a pattern `*` stands for one name: an op, an interface, a plugin, a device kind.
struct KeySpec {
  std::string_view pattern;
  KeyKind kind = KeyKind::kText;
  std::string_view default_text;  ///< as YAML; empty: none
  std::string_view values;        ///< of an enum, with | between
  std::string_view variable;      ///< of a list that has one all the same

  [[nodiscard]] bool has_names() const { return pattern.find('*') != std::string_view::npos; }
  [[nodiscard]] bool has_variable() const {
    return !has_names() && (!is_list() || !variable.empty());
  }
  [[nodiscard]] bool is_list() const {
    return kind == KeyKind::kTexts || kind == KeyKind::kPaths || kind == KeyKind::kIndices;
  }
};

/// The word among manifest.paths that stands for the ops that are linked in.
inline constexpr std::string_view kShipped = "shipped";

[[nodiscard]] std::span<const KeySpec> key_table();
/// The row of a key's segments; null where there is none.
[[nodiscard]] const KeySpec* find_key(std::span<const std::string> segments);
/// What may stand behind these segments: names, with "*" for a name of the user's. Empty: nothing.
[[nodiscard]] std::vector<std::string> names_behind(std::span<const std::string> segments);
/// "a.b.c" into its segments, as many as the key's row has; the last one keeps further dots.
[[nodiscard]] std::vector<std::string> split_key(std::string_view key);
[[nodiscard]] std::string join_key(std::span<const std::string> segments);

/// The value of a node for a key, or why it is none, without a place.
[[nodiscard]] Result<Value> check_value(const KeySpec& spec,
                                        std::string_view key,
                                        const manifest::Node& node);
/// The same of a text from the environment or the command line; lists are YAML, or split at commas.
[[nodiscard]] Result<Value> check_text(const KeySpec& spec,
                                       std::string_view key,
                                       std::string_view text);

}  // namespace tenon::loader
