// What nodes say of themselves: look-up, description, conversion to values and to flow text.
#include <fmt/format.h>

#include "tenon/manifest/scalar.hpp"
#include "tenon/manifest/yaml.hpp"

namespace tenon::manifest {
namespace {

/// True where a string may stand without quotes in flow context and still read as that string.
bool plain_in_flow(std::string_view text) {
  if (resolve_plain(text).kind != Scalar::Kind::kString) return false;
  if (text.front() == ' ' || text.back() == ' ' || text.back() == ':') return false;
  if (std::string_view("-?:,[]{}#&*!|>'\"%@`").find(text.front()) != std::string_view::npos)
    return false;
  if (text.find(": ") != std::string_view::npos || text.find(" #") != std::string_view::npos)
    return false;
  return text.find_first_of(",[]{}\n\t\"") == std::string_view::npos;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += c;
    }
  }
  return out + "\"";
}

void append_flow(std::string& out, const Node& node) {
  if (node.is_list()) {
    out += '[';
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      if (i != 0) out += ", ";
      append_flow(out, node.items[i]);
    }
    out += ']';
  } else if (node.is_map()) {
    out += '{';
    for (std::size_t i = 0; i < node.size(); ++i) {
      if (i != 0) out += ", ";
      append_flow(out, node.key(i));
      out += ": ";
      append_flow(out, node.mapped(i));
    }
    out += '}';
  } else if (node.is_null()) {
    out += "null";
  } else if (node.is_string() && !plain_in_flow(node.text)) {
    out += quoted(node.text);
  } else {
    out += node.text;
  }
}

}  // namespace

const Node* Node::find(std::string_view name) const {
  for (std::size_t i = 0; i < size() && is_map(); ++i) {
    if (key(i).text == name) return &mapped(i);
  }
  return nullptr;
}

std::string Node::describe() const {
  switch (kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return fmt::format("the bool {}", text);
    case Kind::kInt:
      return fmt::format("the int {}", text);
    case Kind::kFloat:
      return fmt::format("the float {}", text);
    case Kind::kString: {
      constexpr std::size_t kShown = 60;
      if (text.size() <= kShown) return fmt::format("'{}'", text);
      std::size_t cut = kShown;
      while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0u) == 0x80u) --cut;
      return fmt::format("'{}...'", text.substr(0, cut));
    }
    case Kind::kList:
      return items.empty() ? "an empty list" : "a list";
    case Kind::kMap:
      return items.empty() ? "an empty map" : "a map";
  }
  return {};
}

std::string to_flow_text(const Node& node) {
  std::string out;
  append_flow(out, node);
  return out;
}

Value value_from_yaml(const Node& node) {
  if (node.is_scalar()) return node.value;
  if (node.is_list()) {
    std::vector<Value> items;
    items.reserve(node.items.size());
    for (const Node& item : node.items) items.push_back(value_from_yaml(item));
    return Value::list(std::move(items));
  }
  if (node.size() == 1 && node.key(0).is_string() &&
      (node.mapped(0).is_map() || node.mapped(0).is_null())) {
    AdtValue adt;
    adt.constructor = node.key(0).text;
    const Node& fields = node.mapped(0);
    for (std::size_t i = 0; fields.is_map() && i < fields.size(); ++i) {
      adt.fields.emplace_back(fields.key(i).text, value_from_yaml(fields.mapped(i)));
    }
    return adt;
  }
  return OpaqueValue{to_flow_text(node)};
}

Result<Value> value_from_yaml(std::string_view text) {
  DiagnosticList diagnostics;
  const std::optional<Node> node =
      parse_yaml("value", text, diagnostics, YamlLimits{.size_bytes = 1u << 20, .nodes = 100'000});
  if (diagnostics.has_errors()) {
    diagnostics.finish();
    for (const Diagnostic& d : diagnostics) {
      if (d.severity != Severity::kError) continue;
      return fail(
          Error(ErrorCode::kUsageError,
                fmt::format("'{}' is no YAML value: at column {} {}", text, d.where.column, d.text))
              .with_hint(d.hint));
    }
  }
  if (!node) return fail(ErrorCode::kUsageError, fmt::format("'{}' is no YAML value", text));
  return value_from_yaml(*node);
}

}  // namespace tenon::manifest
