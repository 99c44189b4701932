// The reader's ways of taking keys, names and texts from nodes.
#include "reader_scope.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tenon/core/nearest.hpp"
#include "tenon/manifest/reader.hpp"

namespace tenon::manifest {
namespace {

std::string quoted_list(std::span<const std::string_view> words) {
  std::string out;
  for (const std::string_view word : words) out += (out.empty() ? "" : ", ") + std::string(word);
  return out;
}

constexpr std::string_view kWords[] = {"and",
                                       "or",
                                       "not",
                                       "in",
                                       "if",
                                       "else",
                                       "for",
                                       "is",
                                       "lambda",
                                       "True",
                                       "False",
                                       "None",
                                       "inf",
                                       "def",
                                       "return",
                                       "import"};

}  // namespace

bool is_identifier(std::string_view name) noexcept {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !letter(name.front())) return false;
  if (!std::all_of(
          name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); }))
    return false;
  return std::find(std::begin(kWords), std::end(kWords), name) == std::end(kWords);
}

void Scope::wrong_kind(const Node& node, std::string_view expected, std::string_view hint) const {
  Diagnostic& d =
      error(node, "value.kind", fmt::format("expected {}, found {}", expected, node.describe()));
  d.found = node.describe();
  d.expected = std::string(expected);
  d.hint = std::string(hint);
}

void Scope::wrong_word(const SourceLocation& where,
                       std::string_view what,
                       std::string_view found,
                       std::span<const std::string_view> legal) const {
  Diagnostic& d = error(where, "value.choice", fmt::format("'{}' is no {}", found, what));
  d.found = fmt::format("'{}'", found);
  d.expected = "one of " + quoted_list(legal);
  d.hint = did_you_mean(found, legal, 1);
}

Text Scope::as_text(const Node& node) const {
  return {node.text, at(node), node.lead, node.verbatim};
}

Text Scope::text(const Node& node, std::string_view expected) const {
  if (!node.is_string()) {
    wrong_kind(
        node,
        expected,
        node.is_scalar() && !node.is_null() ? fmt::format("quote it: \"{}\"", node.text) : "");
    return {};
  }
  if (node.text.find_first_not_of(" \n\t") == std::string::npos) {
    Diagnostic& d =
        error(node, "value.empty", fmt::format("expected {}, found an empty string", expected));
    d.found = "an empty string";
    d.expected = std::string(expected);
    return {};
  }
  return as_text(node);
}

std::optional<bool> Scope::boolean(const Node& node) const {
  if (const bool* value = node.value.get_if<bool>();
      node.kind == Node::Kind::kBool && value != nullptr)
    return *value;
  wrong_kind(node, "true or false");
  return std::nullopt;
}

std::optional<std::int64_t> Scope::integer(const Node& node) const {
  if (node.kind == Node::Kind::kInt) return *node.value.get_if<std::int64_t>();
  wrong_kind(node, "an integer");
  return std::nullopt;
}

std::vector<Text> Scope::texts(const Node& node, std::string_view expected) const {
  std::vector<Text> out;
  if (node.is_null()) return out;
  if (!node.is_list()) {
    wrong_kind(node,
               expected,
               node.is_string() ? fmt::format("write a list: [{}]", to_flow_text(node)) : "");
    return out;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    Text t = item(i).text(node.items[i]);
    if (!t.empty()) out.push_back(std::move(t));
  }
  return out;
}

bool Scope::name(const Node& key, std::string_view what) const {
  if (!key.is_string()) {
    Diagnostic& d =
        error(key, "name.kind", fmt::format("the name of {} reads as {}", what, key.describe()));
    d.found = key.describe();
    d.expected = "a name";
    d.hint = key.is_scalar() && !key.is_null()
                 ? fmt::format("quote it (\"{}\"), or choose another name", key.text)
                 : "give it a name";
    return false;
  }
  if (!is_identifier(key.text)) {
    Diagnostic& d =
        error(key, "name.form", fmt::format("'{}' cannot be the name of {}", key.text, what));
    d.found = fmt::format("'{}'", key.text);
    d.expected =
        "letters, digits and '_', not beginning with a digit, and no word of the expression "
        "language";
    d.hint = "choose another name";
    return false;
  }
  if (key.text == "out") {
    Diagnostic& d = error(
        key,
        "name.reserved",
        fmt::format("'out' cannot be the name of {}: it means the caller's output buffer", what));
    d.found = "'out'";
    if (what == "an input") {
      d.expected = "'mutated: true, write_only: true, kw_only: true' at an input called 'out'";
      d.hint = "add them where every call passes this buffer, or choose another name";
      return false;
    }
    d.hint = "choose another name, such as 'output'";
    return false;
  }
  return true;
}

Fields::Fields(const Scope& scope,
               const Node& node,
               std::span<const KeySpec> keys,
               std::string_view what)
    : node_(node) {
  if (!node.is_map()) {
    scope.wrong_kind(node, fmt::format("{} as a map", what));
    return;
  }
  std::vector<std::string_view> legal;
  for (const KeySpec& key : keys) legal.push_back(key.name);
  for (std::size_t i = 0; i < node.size(); ++i) {
    const Node& key = node.key(i);
    if (std::find(legal.begin(), legal.end(), key.text) != legal.end()) continue;
    Diagnostic& d =
        scope.error(key, "key.unknown", fmt::format("{} has no key '{}'", what, key.text));
    d.found = fmt::format("'{}'", key.text);
    d.expected = "one of " + quoted_list(legal);
    d.hint = did_you_mean(key.text, legal, 1);
    if (d.hint.empty()) d.hint = "remove it";
  }
  for (const KeySpec& key : keys) {
    if (!key.required || node.find(key.name) != nullptr) continue;
    Diagnostic& d =
        scope.error(node, "key.missing", fmt::format("{} needs the key '{}'", what, key.name));
    d.expected = fmt::format("the key '{}'", key.name);
    d.hint = fmt::format("add '{}: ...'", key.name);
  }
}

const Node* Fields::get(std::string_view key) const { return node_.find(key); }

const Node* Fields::section(std::string_view key) const {
  const Node* node = node_.find(key);
  return node == nullptr || node->is_null() ? nullptr : node;
}

bool is_section(const Scope& scope, const Node& node, std::string_view what) {
  if (node.is_map()) return true;
  if (!node.is_null()) scope.wrong_kind(node, fmt::format("{} as a map", what));
  return false;
}

}  // namespace tenon::manifest
