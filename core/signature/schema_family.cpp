// Compares operator schemas: the variants of one function, and two versions of one schema.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "signature/schema_internal.hpp"
#include "tenon/core/schema.hpp"

namespace tenon {
namespace {

// ---- Variants ------------------------------------------------------------------------------

std::string base_name_of(const Schema& schema) {
  std::string_view name = schema.name;
  if (schema.is_inplace_name()) {
    if (name.ends_with("__") && name.starts_with("__i") && name.size() > 5) {
      return "__" + std::string(name.substr(3));
    }
    name.remove_suffix(1);
  }
  constexpr std::string_view kFunctional = "_functional";
  if (name.ends_with(kFunctional)) name.remove_suffix(kFunctional.size());
  return std::string(name);
}

bool is_returned(const Schema& schema, const SchemaArg& arg) {
  return std::any_of(schema.returns.begin(), schema.returns.end(), [&](auto& ret) {
    return ret.alias == arg.alias;
  });
}

/// torchgen's FunctionSchema.signature().
Schema normalized(const Schema& schema) {
  Schema plain;
  plain.ns = schema.ns;
  plain.name = base_name_of(schema);
  const std::optional<std::size_t> options = detail::tensor_options_at(schema);
  std::vector<const SchemaArg*> written;  // self, then outs, then the positional ones behind self
  std::vector<const SchemaArg*> written_behind;
  const std::optional<std::size_t> self = schema.self_index();
  for (std::size_t i = 0; i < schema.args.size(); ++i) {
    const SchemaArg& arg = schema.args[i];
    const bool is_out = arg.is_kwarg_only && arg.is_written();
    if (arg.is_written() && !is_returned(schema, arg)) {
      const bool comes_first = is_out || (self && *self == i);
      (comes_first ? written : written_behind).push_back(&arg);
    }
    if (is_out || (options && i >= *options && i < *options + 4)) continue;
    SchemaArg kept = arg;
    kept.alias.reset();
    plain.args.push_back(std::move(kept));
  }
  for (const SchemaReturn& ret : schema.returns)
    plain.returns.push_back({ret.type, std::nullopt, {}, 0});
  written.insert(written.end(), written_behind.begin(), written_behind.end());
  for (const SchemaArg* arg : written) plain.returns.push_back({arg->type, std::nullopt, {}, 0});
  return plain;
}

template <class Items>
std::string item_at(const Items& items, std::size_t i) {
  return i < items.size() ? detail::shown(print(items[i])) : std::string("none");
}

/// Where two normalized schemas differ; empty: nowhere.
std::string difference(const Schema& first, const Schema& other) {
  if (first.ns != other.ns || first.name != other.name) {
    return "the base name is " + detail::shown(other.full_name()) + ", expected " +
           detail::shown(first.full_name());
  }
  for (std::size_t i = 0; i < std::max(first.args.size(), other.args.size()); ++i) {
    const std::string expected = item_at(first.args, i);
    const std::string found = item_at(other.args, i);
    const auto is_kwarg = [i](const Schema& s) {
      return i < s.args.size() && s.args[i].is_kwarg_only;
    };
    if (found != expected) {
      return fmt::format("argument {} is {}, expected {}", i + 1, found, expected);
    }
    if (is_kwarg(first) != is_kwarg(other)) {
      return fmt::format("argument {}, {}, is keyword-only in one of them", i + 1, found);
    }
  }
  for (std::size_t i = 0; i < std::max(first.returns.size(), other.returns.size()); ++i) {
    const std::string expected = item_at(first.returns, i);
    const std::string found = item_at(other.returns, i);
    if (found == expected) continue;
    return fmt::format(
        "return {} (written arguments included) is {}, expected {}", i + 1, found, expected);
  }
  return {};
}

// ---- Versions ------------------------------------------------------------------------------

bool base_fits(std::string_view from, std::string_view to) {
  if (from == to) return true;
  if (to == "SymInt") return from == "int";
  if (to == "Scalar") return from == "int" || from == "float" || from == "bool" || from == "SymInt";
  if (to == "SymBool") return from == "bool";
  return false;
}

/// Peels the outermost suffixes of both types that answer each other; false where `from` does not
/// fit. `i` and `j` count the suffixes that are left; at least one is.
bool peel(const SchemaType& from, const SchemaType& to, std::size_t& i, std::size_t& j) {
  const SchemaSuffix* have = i > 0 ? &from.suffixes[i - 1] : nullptr;
  const SchemaSuffix* want = j > 0 ? &to.suffixes[j - 1] : nullptr;
  if (want == nullptr) return false;
  --j;
  if (!want->is_list) {
    if (have != nullptr && !have->is_list) --i;
    return true;
  }
  // A length only says that a single value may stand for the list.
  if (have == nullptr) return want->list_length != 0;
  --i;
  return have->is_list && (have->list_length == 0 || have->list_length == want->list_length);
}

/// Whether every value of type `from` may be given where `to` is asked for.
bool fits(const SchemaType& from, const SchemaType& to) {
  std::size_t i = from.suffixes.size();
  std::size_t j = to.suffixes.size();
  while (i > 0 || j > 0) {
    if (!peel(from, to, i, j)) return false;
  }
  return base_fits(from.base, to.base);
}

class SchemaComparison {
 public:
  SchemaComparison(const Schema& older, const Schema& newer) : older_(older), newer_(newer) {}

  std::vector<SchemaBreak> run() {
    if (older_.full_name() != newer_.full_name()) {
      both("the schema is named " + detail::shown(newer_.full_name()) + " now, was " +
           detail::shown(older_.full_name()));
      return std::move(breaks_);
    }
    // Letters are renamed in the order of the old arguments, in both, so that other letters for the
    // same sets are equal.
    std::vector<std::pair<std::size_t, std::size_t>> common;
    for (std::size_t i = 0; i < older_.args.size(); ++i) {
      const std::optional<std::size_t> j = find(newer_, older_.args[i].name);
      if (j) {
        common.emplace_back(i, *j);
      } else {
        gone(older_.args[i]);
      }
    }
    for (const auto& [i, j] : common) {
      compare_arg(i, j);
      compare_alias(
          "argument '" + older_.args[i].name + "'", older_.args[i].alias, newer_.args[j].alias);
    }
    for (const SchemaArg& arg : newer_.args) {
      if (!find(older_, arg.name)) added(arg);
    }
    compare_returns();
    return std::move(breaks_);
  }

 private:
  /// Letters of one schema in the order in which they were met.
  struct Letters {
    std::string met;
    std::string rename(std::string_view letters) {
      std::string renamed;
      for (const char letter : letters) {
        if (letter == '*') return "*";
        std::size_t at = met.find(letter);
        if (at == std::string::npos) {
          at = met.size();
          met += letter;
        }
        renamed += static_cast<char>('a' + static_cast<char>(at));
      }
      return renamed;
    }
    std::optional<SchemaAlias> rename(const std::optional<SchemaAlias>& alias) {
      if (!alias) return alias;
      SchemaAlias renamed = *alias;
      renamed.before = rename(alias->before);
      renamed.after = rename(alias->after);
      return renamed;
    }
  };

  void callers(std::string message) {
    breaks_.push_back({SchemaAffected::kCallers, std::move(message)});
  }
  void implementers(std::string message) {
    breaks_.push_back({SchemaAffected::kImplementers, std::move(message)});
  }
  void both(const std::string& message) {
    callers(message);
    implementers(message);
  }

  static std::optional<std::size_t> find(const Schema& schema, std::string_view name) {
    for (std::size_t i = 0; i < schema.args.size(); ++i) {
      if (schema.args[i].name == name) return i;
    }
    return std::nullopt;
  }

  void gone(const SchemaArg& arg) {
    callers("argument '" + arg.name + "' is gone");
    if (!arg.default_text)
      implementers("argument '" + arg.name + "', which has no default, is not passed any more");
  }

  void added(const SchemaArg& arg) {
    if (!arg.default_text) callers("argument '" + arg.name + "' is new and has no default");
    implementers("argument '" + arg.name + "' is new and may be passed");
  }

  void compare_arg(std::size_t i, std::size_t j) {
    const SchemaArg& older = older_.args[i];
    const SchemaArg& newer = newer_.args[j];
    const std::string which = "argument '" + older.name + "'";
    if (!older.is_kwarg_only && newer.is_kwarg_only) callers(which + " is keyword-only now");
    if (older.is_kwarg_only && !newer.is_kwarg_only)
      implementers(which + " may be passed by position now");
    if (!older.is_kwarg_only && !newer.is_kwarg_only && i != j) {
      both(which + " is argument " + std::to_string(j + 1) + " now, was " + std::to_string(i + 1));
    }
    const std::string types =
        " has type '" + print(newer.type) + "' now, was '" + print(older.type) + "'";
    if (!fits(older.type, newer.type)) callers(which + types);
    if (!fits(newer.type, older.type)) implementers(which + types);
    if (older.default_text == newer.default_text) return;
    if (!newer.default_text) {
      callers(which + " has lost its default " + *older.default_text);
    } else if (!older.default_text) {
      implementers(which + " may be left out now");
    } else {
      both(which + " has default " + *newer.default_text + " now, was " + *older.default_text);
    }
  }

  void compare_alias(const std::string& which,
                     const std::optional<SchemaAlias>& older,
                     const std::optional<SchemaAlias>& newer) {
    if (older_letters_.rename(older) == newer_letters_.rename(newer)) return;
    const bool was_written = older && older->is_write;
    const bool is_written = newer && newer->is_write;
    if (was_written != is_written) {
      both(which + (is_written ? " is written now" : " is not written any more"));
    } else {
      const auto text = [](const std::optional<SchemaAlias>& alias) {
        return alias ? fmt::format("'{}'", print(SchemaType{}, alias)) : std::string("no set");
      };
      both(which + " shares storage by " + text(newer) + " now, was " + text(older));
    }
  }

  void compare_returns() {
    if (older_.returns.size() != newer_.returns.size()) {
      both("there are " + std::to_string(newer_.returns.size()) + " returns now, were " +
           std::to_string(older_.returns.size()));
      return;
    }
    for (std::size_t i = 0; i < older_.returns.size(); ++i) {
      const SchemaReturn& older = older_.returns[i];
      const SchemaReturn& newer = newer_.returns[i];
      const std::string which = "return " + std::to_string(i + 1);
      const std::string types =
          " has type '" + print(newer.type) + "' now, was '" + print(older.type) + "'";
      if (!fits(newer.type, older.type)) callers(which + types);
      if (!fits(older.type, newer.type)) implementers(which + types);
      if (older.name != newer.name && !older.name.empty())
        callers(which + " has lost its name '" + older.name + "'");
      compare_alias(which, older.alias, newer.alias);
    }
  }

  const Schema& older_;
  const Schema& newer_;
  Letters older_letters_;
  Letters newer_letters_;
  std::vector<SchemaBreak> breaks_;
};

}  // namespace

std::string signature_of(const Schema& schema) { return print(normalized(schema)); }

std::vector<std::string> check_family(std::span<const Schema> variants) {
  std::vector<std::string> messages;
  if (variants.empty()) return messages;
  const Schema first = normalized(variants[0]);
  for (const Schema& variant : variants.subspan(1)) {
    const std::string where = difference(first, normalized(variant));
    if (where.empty()) continue;
    messages.push_back(detail::shown(variant.full_name()) + " differs from " +
                       detail::shown(variants[0].full_name()) + ": " + where);
  }
  return messages;
}

std::vector<SchemaBreak> compare_schemas(const Schema& older, const Schema& newer) {
  return SchemaComparison(older, newer).run();
}

}  // namespace tenon
