// Every configuration key with its kind; nothing else knows what keys there are.
#include "config_keys.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "tenon/core/device.hpp"
#include "tenon/core/nearest.hpp"

namespace tenon::loader {
namespace {

// clang-format off
constexpr std::array<KeySpec, 26> kKeys{{
    {"manifest.paths",                KeyKind::kPaths,   "shipped", "",                  ""},
    {"plugins.paths",                 KeyKind::kPaths,   "",      "",                  ""},
    {"plugins.enable",                KeyKind::kTexts,   "*",     "",                  "TENON_PLUGINS_ENABLE"},
    {"plugins.disable",               KeyKind::kTexts,   "",      "",                  "TENON_PLUGINS_DISABLE"},
    {"plugins.required",              KeyKind::kTexts,   "",      "",                  ""},
    {"plugins.options.*.*",           KeyKind::kScalar,  "",      "",                  ""},
    {"plugins.probe",                 KeyKind::kEnum,    "auto",  "auto|always|never", ""},
    {"plugins.strict",                KeyKind::kBool,    "false", "",                  ""},
    {"plugins.allow_insecure",        KeyKind::kBool,    "false", "",                  ""},
    {"target",                        KeyKind::kText,    "",      "",                  ""},
    {"prefer",                        KeyKind::kTexts,   "",      "",                  ""},
    {"selection.reference",           KeyKind::kEnum,    "warn",  "allow|warn|error",  ""},
    {"selection.copies",              KeyKind::kEnum,    "allow", "allow|never",       ""},
    {"selection.deterministic",       KeyKind::kBool,    "false", "",                  ""},
    {"ops.*.target",                  KeyKind::kText,    "",      "",                  ""},
    {"ops.*.prefer",                  KeyKind::kTexts,   "",      "",                  ""},
    {"ops.*.kernel.*",                KeyKind::kText,    "",      "",                  ""},
    {"ops.*.disable",                 KeyKind::kTexts,   "",      "",                  ""},
    {"devices.default",               KeyKind::kDevice,  "",      "",                  ""},
    {"devices.visible.*",             KeyKind::kIndices, "",      "",                  ""},
    {"caches.call_keys_per_instance", KeyKind::kCount,   "256",   "",                  ""},
    {"caches.entries",                KeyKind::kCount,   "4096",  "",                  ""},
    {"caches.directory",              KeyKind::kPath,    "",      "",                  ""},
    {"tuning.mode",                   KeyKind::kEnum,    "off",   "off|use|tune",      ""},
    {"log.level",                     KeyKind::kEnum,    "warn",  "error|warn|info|debug", ""},
    {"log.file",                      KeyKind::kPath,    "",      "",                  ""},
}};
// clang-format on

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = std::min(text.find(at), text.size());
    parts.emplace_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

/// True where the first segments of a pattern take these.
bool begins_with(const std::vector<std::string>& pattern, std::span<const std::string> segments) {
  if (pattern.size() < segments.size()) return false;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (pattern[i] != "*" && pattern[i] != segments[i]) return false;
  }
  return true;
}

tl::unexpected<Error> wrong(std::string_view key,
                            std::string_view expected,
                            std::string_view found) {
  return fail(ErrorCode::kConfigInvalid,
              fmt::format("{} must be {}, found {}", key, expected, found));
}

std::string or_list(std::string_view values) {
  std::vector<std::string> names = split(values, '|');
  std::string last = std::move(names.back());
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

Result<Value> check_enum(const KeySpec& spec, std::string_view key, const manifest::Node& node) {
  const std::vector<std::string> names = split(spec.values, '|');
  // YAML 1.1 reads an unquoted off as false; where `off` is a member it is meant.
  if (node.is_scalar() && std::find(names.begin(), names.end(), node.text) != names.end()) {
    return Value(node.text);
  }
  Error error(ErrorCode::kConfigInvalid,
              fmt::format("{} must be {}, found {}", key, or_list(spec.values), node.describe()));
  if (node.is_scalar()) error.with_hint(did_you_mean(node.text, names));
  return fail(std::move(error));
}

Result<Value> check_list(const KeySpec& spec, std::string_view key, const manifest::Node& node) {
  const bool indices = spec.kind == KeyKind::kIndices;
  const std::string_view expected =
      indices ? "a list of device indices (integers from 0)" : "a list of texts";
  if (!node.is_list()) return wrong(key, expected, node.describe());
  std::vector<Value> items;
  for (const manifest::Node& item : node.items) {
    const auto* number = item.value.get_if<std::int64_t>();
    const bool good = indices ? item.kind == manifest::Node::Kind::kInt && number != nullptr &&
                                    *number >= 0 && *number <= INT16_MAX
                              : item.is_string() && !item.text.empty();
    if (!good) return wrong(key, expected, "in it " + item.describe());
    items.push_back(indices ? Value(*number) : Value(item.text));
  }
  return Value::list(std::move(items));
}

}  // namespace

std::span<const KeySpec> key_table() { return kKeys; }

const KeySpec* find_key(std::span<const std::string> segments) {
  for (const KeySpec& spec : key_table()) {
    const auto pattern = split(spec.pattern, '.');
    if (pattern.size() == segments.size() && begins_with(pattern, segments)) return &spec;
  }
  return nullptr;
}

std::vector<std::string> names_behind(std::span<const std::string> segments) {
  std::vector<std::string> names;
  for (const KeySpec& spec : key_table()) {
    const auto pattern = split(spec.pattern, '.');
    if (pattern.size() <= segments.size() || !begins_with(pattern, segments)) continue;
    const std::string& next = pattern[segments.size()];
    if (std::find(names.begin(), names.end(), next) == names.end()) names.push_back(next);
  }
  return names;
}

std::vector<std::string> split_key(std::string_view key) {
  std::vector<std::string> segments = split(key, '.');
  while (find_key(segments) == nullptr && segments.size() > 1) {
    const std::string tail = std::move(segments.back());
    segments.pop_back();
    segments.back() += "." + tail;
  }
  // No row takes it however its tail is joined: the plain split serves messages best.
  return find_key(segments) != nullptr ? segments : split(key, '.');
}

std::string join_key(std::span<const std::string> segments) {
  return fmt::format("{}", fmt::join(segments, "."));
}

Result<Value> check_value(const KeySpec& spec, std::string_view key, const manifest::Node& node) {
  using Kind = manifest::Node::Kind;
  switch (spec.kind) {
    case KeyKind::kEnum:
      return check_enum(spec, key, node);
    case KeyKind::kTexts:
    case KeyKind::kPaths:
    case KeyKind::kIndices:
      return check_list(spec, key, node);
    case KeyKind::kBool:
      if (node.kind != Kind::kBool) return wrong(key, "true or false", node.describe());
      return node.value;
    case KeyKind::kCount: {
      const auto* number = node.value.get_if<std::int64_t>();
      if (node.kind != Kind::kInt || *number < 1 || *number > INT32_MAX) {
        return wrong(key, "an integer from 1 to 2147483647", node.describe());
      }
      return node.value;
    }
    case KeyKind::kText:
    case KeyKind::kPath:
      if (!node.is_string() || node.text.empty()) return wrong(key, "a text", node.describe());
      return Value(node.text);
    case KeyKind::kDevice: {
      if (!node.is_string()) return wrong(key, "a device", node.describe());
      auto device = Device::parse(node.text);
      if (device) return Value(node.text);
      return fail(
          Error(ErrorCode::kConfigInvalid, fmt::format("{}: {}", key, device.error().message()))
              .with_hint(device.error().hint()));
    }
    case KeyKind::kScalar:
      if (!node.is_scalar() || node.is_null()) {
        return wrong(key, "a bool, a number or a text", node.describe());
      }
      return node.value;
  }
  return wrong(key, "a value", node.describe());
}

Result<Value> check_text(const KeySpec& spec, std::string_view key, std::string_view text) {
  manifest::Node node;
  node.text = text;
  node.kind = manifest::Node::Kind::kString;
  node.value = Value(text);
  // Texts are taken as they are: a device called `on` or a path with a colon is no YAML there.
  const bool plain = spec.kind == KeyKind::kText || spec.kind == KeyKind::kPath ||
                     spec.kind == KeyKind::kEnum || spec.kind == KeyKind::kDevice;
  if (plain) return check_value(spec, key, node);
  if (spec.is_list() && !text.starts_with('[')) {
    node.kind = manifest::Node::Kind::kList;
    for (const std::string& part : split(text, ',')) {
      std::string_view item = part;
      while (item.starts_with(' ')) item.remove_prefix(1);
      while (item.ends_with(' ')) item.remove_suffix(1);
      if (item.empty()) continue;
      manifest::DiagnosticList ignored;
      auto parsed = manifest::parse_yaml("value", item, ignored);
      manifest::Node scalar;
      scalar.kind = manifest::Node::Kind::kString;
      scalar.text = item;
      scalar.value = Value(item);
      const bool number = spec.kind == KeyKind::kIndices && parsed && !ignored.has_errors();
      node.items.push_back(number ? std::move(*parsed) : std::move(scalar));
    }
    return check_value(spec, key, node);
  }
  manifest::DiagnosticList diagnostics;
  auto parsed = manifest::parse_yaml("value", text, diagnostics);
  if (!parsed || diagnostics.has_errors()) {
    diagnostics.finish();
    for (const manifest::Diagnostic& found : diagnostics) {
      if (found.severity != manifest::Severity::kError) continue;
      return fail(Error(ErrorCode::kConfigInvalid,
                        fmt::format("{} is '{}', no YAML value: {}", key, text, found.text))
                      .with_hint(found.hint));
    }
    return wrong(key, "a YAML value", fmt::format("'{}'", text));
  }
  return check_value(spec, key, *parsed);
}

}  // namespace tenon::loader
