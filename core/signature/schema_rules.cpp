// The validity rules of torchgen, and what lint finds beyond them.
#include <algorithm>
#include <array>
#include <utility>

#include "signature/schema_internal.hpp"
#include "tenon/core/schema.hpp"

namespace tenon {
namespace {

using Issues = std::vector<SchemaIssue>;

std::string quoted(std::string_view text) { return detail::shown(text); }

std::string annotation_of(const std::optional<SchemaAlias>& alias) {
  if (!alias) return "no annotation";
  // Printed behind an empty type: "(a!)".
  return quoted(print(SchemaType{}, alias));
}

/// The arguments by their part in the rules. Pointers into the schema.
struct Parts {
  const SchemaArg* self = nullptr;
  std::vector<const SchemaArg*> before_self;
  std::vector<const SchemaArg*> after_self;
  std::vector<const SchemaArg*> outs;  ///< keyword-only and written
};

Parts parts_of(const Schema& schema) {
  Parts parts;
  const std::optional<std::size_t> self = schema.self_index();
  for (std::size_t i = 0; i < schema.args.size(); ++i) {
    const SchemaArg& arg = schema.args[i];
    if (arg.is_kwarg_only) {
      if (arg.is_written()) parts.outs.push_back(&arg);
    } else if (self && i == *self) {
      parts.self = &arg;
    } else if (self && i < *self) {
      parts.before_self.push_back(&arg);
    } else {
      parts.after_self.push_back(&arg);
    }
  }
  return parts;
}

void check_names(const Schema& schema, Issues& errors) {
  const std::string_view name = schema.name;
  const auto column = static_cast<std::uint32_t>(schema.ns.empty() ? 1 : schema.ns.size() + 3);
  if (name.ends_with("_out")) {
    errors.push_back({column,
                      "NAME_OUT_SUFFIX",
                      "expected a name that does not end in '_out', found " + quoted(name) +
                          "; 'out' is an overload: 'f.out'"});
  }
  if (name.ends_with("_functional_")) {
    errors.push_back({column,
                      "FUNCTIONAL_NAME",
                      "expected no in-place name on '_functional', found " + quoted(name) +
                          "; the suffix marks the functional form of a mutable operator"});
  }
  const bool is_dunder = name.size() > 4 && name.starts_with("__") && name.ends_with("__");
  if (is_dunder && name[2] == 'i' && !schema.is_inplace_name() &&
      name.substr(2, name.size() - 4).find('_') == std::string_view::npos) {
    errors.push_back({column,
                      "DUNDER_I",
                      "expected an in-place operator such as '__iadd__', found " + quoted(name) +
                          "; names that start with '__i' are reserved for these"});
  }
  if (schema.overload.find("functional") != std::string::npos &&
      schema.kind() != SchemaKind::kFunctional) {
    errors.push_back({static_cast<std::uint32_t>(column + name.size() + 1),
                      "FUNCTIONAL_OVERLOAD",
                      "expected an overload without 'functional' in it on a schema of kind " +
                          std::string(name_of(schema.kind())) + ", found " +
                          quoted(schema.overload)});
  }
}

void check_outs(const Schema& schema, const Parts& parts, Issues& errors) {
  bool seen_out = false;
  for (const SchemaArg& arg : schema.args) {
    if (seen_out && !arg.is_written()) {
      errors.push_back({arg.column,
                        "OUT_NOT_LAST",
                        "expected only written arguments behind the first out argument, found " +
                            quoted(print(arg))});
      break;
    }
    seen_out = seen_out || (arg.is_kwarg_only && arg.is_written());
  }
  for (std::size_t i = 0; i < std::min(parts.outs.size(), schema.returns.size()); ++i) {
    const SchemaArg& out = *parts.outs[i];
    const SchemaReturn& ret = schema.returns[i];
    if (out.alias == ret.alias) continue;
    errors.push_back({ret.column,
                      "OUT_RETURN_MISMATCH",
                      "expected a return annotated " + annotation_of(out.alias) +
                          " like the out argument " + quoted(out.name) + ", found " +
                          annotation_of(ret.alias)});
  }
  if (parts.outs.empty()) return;
  const auto plain = [](const SchemaArg* out) { return out->type.is_plain_tensor(); };
  const auto special = std::find_if_not(parts.outs.begin(), parts.outs.end(), plain);
  if (special != parts.outs.end()) {
    if (!schema.returns.empty()) {
      errors.push_back({schema.returns[0].column,
                        "OUT_LIST_RETURNS",
                        "expected '()', since the out argument " + quoted((*special)->name) +
                            " is no plain Tensor, found " + quoted(print(schema.returns[0]))});
    }
    return;
  }
  const auto counted = [](const SchemaArg* out) { return !out->name.starts_with("_scratch_"); };
  const auto count =
      static_cast<std::size_t>(std::count_if(parts.outs.begin(), parts.outs.end(), counted));
  if (count != schema.returns.size()) {
    errors.push_back({parts.outs[0]->column,
                      "OUT_RETURN_COUNT",
                      "expected one return for each of the " + std::to_string(count) +
                          " out arguments, found " + std::to_string(schema.returns.size())});
  }
}

void check_inplace(const Schema& schema, const Parts& parts, Issues& errors) {
  if (!schema.is_inplace_name()) return;
  if (!parts.outs.empty()) {
    errors.push_back({parts.outs[0]->column,
                      "OUT_AND_INPLACE",
                      "expected no out argument on the in-place operator " +
                          quoted(schema.full_name()) + ", found " + quoted(print(*parts.outs[0]))});
  }
  if (parts.self == nullptr || !parts.self->is_written()) {
    errors.push_back(
        {parts.self != nullptr ? parts.self->column : 1,
         "INPLACE_SELF",
         "expected a written argument 'self', as in 'Tensor(a!) self', since the name " +
             quoted(schema.name) + " is in-place; found " +
             (parts.self != nullptr ? quoted(print(*parts.self)) : "none")});
    return;
  }
  const std::uint32_t column =
      schema.returns.empty() ? parts.self->column : schema.returns[0].column;
  if (!parts.self->type.is_plain_tensor()) {
    if (!schema.returns.empty()) {
      errors.push_back({column,
                        "INPLACE_LIST_RETURNS",
                        "expected '()', since " + quoted(print(*parts.self)) +
                            " is no plain Tensor, found " + std::to_string(schema.returns.size()) +
                            " returns"});
    }
  } else if (schema.returns.size() != 1 || schema.returns[0].alias != parts.self->alias) {
    errors.push_back(
        {column,
         "INPLACE_RETURN",
         "expected one return annotated " + annotation_of(parts.self->alias) +
             ", which is self; found " +
             (schema.returns.size() == 1 ? annotation_of(schema.returns[0].alias)
                                         : std::to_string(schema.returns.size()) + " returns")});
  }
}

void check_written(const Schema& schema, const Parts& parts, Issues& errors) {
  for (const SchemaArg* arg : parts.before_self) {
    if (!arg->is_written()) continue;
    errors.push_back({arg->column,
                      "MUTABLE_BEFORE_SELF",
                      "expected nothing written before self, found " + quoted(print(*arg))});
  }
  for (const SchemaArg* arg : parts.after_self) {
    if (!arg->is_written()) continue;
    const auto returned =
        std::find_if(schema.returns.begin(), schema.returns.end(), [&](const SchemaReturn& ret) {
          return ret.alias == arg->alias;
        });
    if (returned == schema.returns.end()) continue;
    errors.push_back({returned->column,
                      "MUTABLE_POSITIONAL_RETURNED",
                      "expected no return of the written positional argument " + quoted(arg->name) +
                          ", found " + quoted(print(*returned)) +
                          "; out arguments stand behind '*'"});
  }
  const auto written = [](const SchemaReturn& ret) { return ret.is_written(); };
  const auto fresh = std::find_if_not(schema.returns.begin(), schema.returns.end(), written);
  const auto first = std::find_if(schema.returns.begin(), schema.returns.end(), written);
  if (fresh != schema.returns.end() && first != schema.returns.end()) {
    errors.push_back({std::max(fresh, first)->column,
                      "MIXED_RETURNS",
                      "expected that all returns are written arguments or none is, found " +
                          quoted(print(*first)) + " beside " + quoted(print(*fresh))});
  }
  for (const SchemaReturn& ret : schema.returns) {
    if (!ret.is_written()) continue;
    const bool is_self = parts.self != nullptr && parts.self->alias == ret.alias;
    const bool is_out = std::any_of(parts.outs.begin(),
                                    parts.outs.end(),
                                    [&](const SchemaArg* out) { return out->alias == ret.alias; });
    if (is_self || is_out) continue;
    errors.push_back({ret.column,
                      "MUTABLE_RETURN_UNBOUND",
                      "expected the annotation of self or of an out argument behind '*', found " +
                          annotation_of(ret.alias)});
  }
}

bool is_option(const SchemaArg& arg, std::string_view name, std::string_view base) {
  const bool one_optional = arg.type.suffixes.size() == 1 && !arg.type.suffixes[0].is_list;
  return arg.is_kwarg_only && !arg.is_written() && arg.name == name && arg.type.base == base &&
         (arg.type.suffixes.empty() || one_optional);
}

void check_tensor_options(const Schema& schema, Issues& errors) {
  if (schema.kind() == SchemaKind::kFunctional) return;
  if (const std::optional<std::size_t> at = detail::tensor_options_at(schema)) {
    errors.push_back({schema.args[*at].column,
                      "TENSOR_OPTIONS_NOT_FUNCTIONAL",
                      "expected a functional schema, since it takes dtype, layout, device, "
                      "pin_memory; this one is " +
                          std::string(name_of(schema.kind()))});
  }
}

// ---- Lint ----------------------------------------------------------------------------------

void lint_arguments(const Schema& schema, Issues& issues) {
  std::vector<std::pair<std::string_view, const SchemaArg*>> by_name;
  for (const SchemaArg& arg : schema.args) by_name.emplace_back(arg.name, &arg);
  std::stable_sort(
      by_name.begin(), by_name.end(), [](auto& a, auto& b) { return a.first < b.first; });
  for (std::size_t i = 1; i < by_name.size(); ++i) {
    if (by_name[i].first != by_name[i - 1].first) continue;
    issues.push_back(
        {by_name[i].second->column,
         "DUPLICATE_ARGUMENT",
         "expected a new argument name, found " + quoted(by_name[i].first) + " a second time"});
  }

  const SchemaArg* with_default = nullptr;
  for (const SchemaArg& arg : schema.args) {
    if (arg.is_kwarg_only) break;
    if (arg.default_text) {
      with_default = &arg;
    } else if (with_default != nullptr && !arg.type.is_list()) {
      issues.push_back({arg.column,
                        "DEFAULT_ORDER",
                        "expected a default for " + quoted(arg.name) + ", since " +
                            quoted(with_default->name) + " before it has one"});
    }
  }
  for (const SchemaArg& arg : schema.args) {
    if (arg.is_kwarg_only && arg.is_written() && arg.default_text) {
      issues.push_back({arg.column,
                        "OUT_DEFAULT",
                        "expected an out argument without a default, found " + quoted(print(arg))});
    }
  }
}

void lint_types(const Schema& schema, Issues& issues) {
  const auto look = [&](const SchemaType& type, std::uint32_t column) {
    const auto& suffixes = type.suffixes;
    for (std::size_t i = 1; i < suffixes.size(); ++i) {
      if (suffixes[i].is_list || suffixes[i - 1].is_list) continue;
      issues.push_back(
          {column, "DOUBLE_OPTIONAL", "expected one '?', found " + quoted(print(type))});
      return;
    }
  };
  for (const SchemaArg& arg : schema.args) look(arg.type, arg.column);
  for (const SchemaReturn& ret : schema.returns) look(ret.type, ret.column);
}

void lint_aliases(const Schema& schema, Issues& issues) {
  std::string known;  // every letter of the arguments' sets
  std::array<const SchemaArg*, 256> writers{};
  for (const SchemaArg& arg : schema.args) {
    if (!arg.alias) continue;
    known += arg.alias->before + arg.alias->after;
    if (!arg.alias->is_write || arg.alias->before.empty()) continue;
    const SchemaArg*& writer = writers[static_cast<unsigned char>(arg.alias->before[0])];
    if (writer != nullptr) {
      issues.push_back({arg.column,
                        "SHARED_WRITTEN_SET",
                        "expected a set of its own for " + quoted(arg.name) + ", found that of " +
                            quoted(writer->name)});
    }
    writer = &arg;
  }
  for (const SchemaReturn& ret : schema.returns) {
    if (!ret.alias) continue;
    for (const char letter : ret.alias->before) {
      if (known.find(letter) != std::string::npos) continue;
      issues.push_back(
          {ret.column,
           "ALIAS_UNBOUND",
           "expected a set that an argument has, found " + quoted(std::string(1, letter))});
      break;
    }
  }
}

void lint_kind(const Schema& schema, Issues& issues) {
  const SchemaKind kind = schema.kind();
  const bool says_so =
      schema.overload.starts_with("mut_") || schema.overload.find("_mut_") != std::string::npos;
  if (kind == SchemaKind::kFunctional && !says_so) {
    const auto written = std::find_if(
        schema.args.begin(), schema.args.end(), [](auto& arg) { return arg.is_written(); });
    if (written != schema.args.end()) {
      issues.push_back({written->column,
                        "WRITES_UNSAID",
                        "expected an in-place name ending in '_', since " +
                            quoted(print(*written)) +
                            " is written; torchgen takes this for functional"});
    }
  }
  const bool named_out = schema.overload == "out" || schema.overload.ends_with("_out");
  if (named_out && kind != SchemaKind::kOut && kind != SchemaKind::kScratch) {
    const std::size_t column = schema.full_name().size() - schema.overload.size() + 1;
    issues.push_back({static_cast<std::uint32_t>(column),
                      "OVERLOAD_OUT",
                      "expected a written argument behind '*', since the overload is named " +
                          quoted(schema.overload) + "; this schema is " +
                          std::string(name_of(kind))});
  }
}

}  // namespace

namespace detail {

std::optional<std::size_t> tensor_options_at(const Schema& schema) {
  const auto& args = schema.args;
  for (std::size_t i = 0; i + 4 <= args.size(); ++i) {
    if (is_option(args[i], "dtype", "ScalarType") && is_option(args[i + 1], "layout", "Layout") &&
        is_option(args[i + 2], "device", "Device") &&
        is_option(args[i + 3], "pin_memory", "bool")) {
      return i;
    }
  }
  return std::nullopt;
}

void check_schema_rules(const Schema& schema, std::vector<SchemaIssue>& errors) {
  const Parts parts = parts_of(schema);
  check_names(schema, errors);
  check_inplace(schema, parts, errors);
  check_outs(schema, parts, errors);
  check_written(schema, parts, errors);
  check_tensor_options(schema, errors);
  sort_by_column(errors);
}

}  // namespace detail

std::vector<SchemaIssue> lint_schema(const Schema& schema) {
  Issues issues;
  lint_kind(schema, issues);
  lint_arguments(schema, issues);
  lint_types(schema, issues);
  lint_aliases(schema, issues);
  detail::sort_by_column(issues);
  return issues;
}

}  // namespace tenon
