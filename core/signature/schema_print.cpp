// Prints operator schemas, and answers what their names and arguments say.
#include <algorithm>
#include <array>

#include "tenon/core/schema.hpp"

namespace tenon {
namespace {

// torchgen's AUGMENTED_ASSIGNMENT_NAMES.
constexpr std::array<std::string_view, 11> kAugmented{
    "add", "sub", "mul", "div", "mod", "pow", "lshift", "rshift", "and", "xor", "or"};

void append_letters(std::string& text, std::string_view letters) {
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if (i > 0) text += '|';
    text += letters[i];
  }
}

}  // namespace

std::string_view name_of(SchemaKind kind) noexcept {
  switch (kind) {
    case SchemaKind::kFunctional:
      return "functional";
    case SchemaKind::kInplace:
      return "inplace";
    case SchemaKind::kOut:
      return "out";
    case SchemaKind::kMutable:
      return "mutable";
    case SchemaKind::kScratch:
      return "scratch";
  }
  return "functional";
}

std::string_view name_of(SchemaAffected affected) noexcept {
  return affected == SchemaAffected::kCallers ? "callers" : "implementers";
}

bool Schema::is_inplace_name() const {
  const std::string_view whole = name;
  // A dunder name has no other underscore between its two pairs.
  if (whole.size() > 4 && whole.starts_with("__") && whole.ends_with("__") &&
      whole.substr(2, whole.size() - 4).find('_') == std::string_view::npos) {
    const std::string_view inner = whole.substr(2, whole.size() - 4);
    if (!inner.starts_with('i')) return false;
    return std::find(kAugmented.begin(), kAugmented.end(), inner.substr(1)) != kAugmented.end();
  }
  return whole.ends_with('_');
}

std::string Schema::full_name() const {
  std::string text;
  if (!ns.empty()) text += ns + "::";
  text += name;
  if (!overload.empty()) text += "." + overload;
  return text;
}

std::optional<std::size_t> Schema::self_index() const {
  for (std::size_t i = 0; i < args.size() && !args[i].is_kwarg_only; ++i) {
    if (!ns.empty() || args[i].name == "self") return i;
  }
  return std::nullopt;
}

SchemaKind Schema::kind() const {
  if (is_inplace_name()) return SchemaKind::kInplace;
  const auto is_out = [](const SchemaArg& arg) { return arg.is_kwarg_only && arg.is_written(); };
  const auto is_scratch = [&](const SchemaArg& arg) {
    return is_out(arg) && arg.name.starts_with("_scratch_");
  };
  if (std::any_of(args.begin(), args.end(), is_scratch)) return SchemaKind::kScratch;
  if (std::any_of(args.begin(), args.end(), is_out)) return SchemaKind::kOut;
  const std::optional<std::size_t> self = self_index();
  for (std::size_t i = self ? *self + 1 : 0; i < args.size() && !args[i].is_kwarg_only; ++i) {
    if (args[i].is_written()) return SchemaKind::kMutable;
  }
  return SchemaKind::kFunctional;
}

std::string print(const SchemaType& type, const std::optional<SchemaAlias>& alias) {
  std::string text = type.base;
  if (alias) {
    text += '(';
    append_letters(text, alias->before);
    if (alias->is_write) text += '!';
    if (!alias->after.empty()) {
      text += " -> ";
      append_letters(text, alias->after);
    }
    text += ')';
  }
  for (const SchemaSuffix& suffix : type.suffixes) {
    if (!suffix.is_list) {
      text += '?';
    } else if (suffix.list_length == 0) {
      text += "[]";
    } else {
      text += '[' + std::to_string(suffix.list_length) + ']';
    }
  }
  return text;
}

std::string print(const SchemaArg& arg) {
  std::string text = print(arg.type, arg.alias) + ' ' + arg.name;
  if (arg.default_text) text += '=' + *arg.default_text;
  return text;
}

std::string print(const SchemaReturn& ret) {
  std::string text = print(ret.type, ret.alias);
  if (!ret.name.empty()) text += ' ' + ret.name;
  return text;
}

std::string print(const Schema& schema) {
  std::string text = schema.full_name() + '(';
  bool seen_star = false;
  for (std::size_t i = 0; i < schema.args.size(); ++i) {
    if (i > 0) text += ", ";
    if (schema.args[i].is_kwarg_only && !seen_star) {
      text += "*, ";
      seen_star = true;
    }
    text += print(schema.args[i]);
  }
  text += ") -> ";
  if (schema.returns.size() == 1) return text + print(schema.returns[0]);
  text += '(';
  for (std::size_t i = 0; i < schema.returns.size(); ++i) {
    if (i > 0) text += ", ";
    text += print(schema.returns[i]);
  }
  return text + ')';
}

}  // namespace tenon
