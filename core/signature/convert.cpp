// Converts given values by parameter types: members from left to right, the first that accepts
// wins.
#include "tenon/core/signature/convert.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "tenon/core/nearest.hpp"
#include "tenon/core/signature/evaluate.hpp"

namespace tenon::signature {
namespace {

bool accepts_item(const Value& item, bool may_be_none) {
  return item.get_if<std::int64_t>() != nullptr || (may_be_none && item.is_none());
}

bool accepts_list(const TypeMember& member, const ValueList& list) {
  if (list.is_tuple != member.is_tuple) return false;
  if (!member.variable && list.items.size() != member.optional_items.size()) return false;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const bool none = member.variable ? member.optional_items.front()
                                      : static_cast<bool>(member.optional_items[i]);
    if (!accepts_item(list.items[i], none)) return false;
  }
  return true;
}

/// A list where the type has only tuples, or the reverse, is taken as the other: rows, the command
/// line and C++ write both as lists.
std::optional<Value> as_sequence(const TypeMember& member, const Value& given, bool strict) {
  const auto* list = given.get_if<ValueList>();
  if (list == nullptr) return std::nullopt;
  if (strict) return accepts_list(member, *list) ? std::optional<Value>(given) : std::nullopt;
  ValueList other = *list;
  other.is_tuple = member.is_tuple;
  if (!accepts_list(member, other)) return std::nullopt;
  return Value(std::move(other));
}

bool is_text(const Value& v) { return v.get_if<std::string>() != nullptr; }

std::optional<Value> as_dtype(const TypeMember& member, const Value& given) {
  std::optional<DType> dtype;
  if (const auto* d = given.get_if<DType>()) dtype = *d;
  if (const auto* s = given.get_if<std::string>()) dtype = dtype_from_name(*s);
  if (!dtype || !member.dtypes.contains(*dtype)) return std::nullopt;
  return Value(*dtype);
}

std::optional<Value> accept(const TypeMember& member, const Value& given, bool strict) {
  const bool is_int = given.get_if<std::int64_t>() != nullptr;
  const bool is_bool = given.get_if<bool>() != nullptr;
  const bool is_real = given.get_if<double>() != nullptr;
  const auto when = [&](bool accepted) {
    return accepted ? std::optional<Value>(given) : std::nullopt;
  };
  switch (member.tag) {
    case TypeTag::kInt:
      return when(is_int);
    case TypeTag::kBool:
      return when(is_bool);
    case TypeTag::kFloat:
      return when(is_int || is_real);
    case TypeTag::kNumber:
      return when(is_int || is_real || is_bool);
    case TypeTag::kStr:
      return when(is_text(given));
    case TypeTag::kEnum: {
      const auto* text = given.get_if<std::string>();
      return when(text != nullptr &&
                  std::find(member.names.begin(), member.names.end(), *text) != member.names.end());
    }
    case TypeTag::kDType:
      return as_dtype(member, given);
    case TypeTag::kSeq:
      return as_sequence(member, given, strict);
    case TypeTag::kAdt:
      return std::nullopt;  // the caller's: it has the type
    case TypeTag::kObject:
      return when(!given.is_none());
  }
  return std::nullopt;
}

/// "1e-6" and "1.0e6" are texts in YAML 1.1: how such a number is written. Empty for any other
/// text.
std::string yaml_number(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const std::size_t at = text.find_first_of("eE");
  if (at == std::string_view::npos || std::from_chars(text.data(), end, value).ptr != end)
    return {};
  std::string mantissa(text.substr(0, at));
  std::string exponent(text.substr(at + 1));
  if (mantissa.find('.') == std::string::npos) mantissa += ".0";
  if (exponent.find_first_of("+-") == std::string::npos) exponent.insert(0, 1, '+');
  return fmt::format("{}e{}", mantissa, exponent);
}

bool accepts_field(const AdtFieldType& field, const Value& value) {
  switch (field.tag) {
    case TypeTag::kBool:
      return value.get_if<bool>() != nullptr;
    case TypeTag::kEnum: {
      const auto* text = value.get_if<std::string>();
      return text != nullptr &&
             std::find(field.names.begin(), field.names.end(), *text) != field.names.end();
    }
    default: {
      const auto* number = value.get_if<std::int64_t>();
      return number != nullptr && (!field.is_dim || *number >= 0);
    }
  }
}

std::string field_type(const AdtFieldType& field) {
  if (field.tag == TypeTag::kBool) return "a bool";
  if (field.tag != TypeTag::kEnum) return field.is_dim ? "an integer >= 0" : "an integer";
  std::string text;
  for (const std::string& n : field.names)
    text += fmt::format("{}'{}'", text.empty() ? "" : " or ", n);
  return text;
}

}  // namespace

Result<Value> convert_adt(const AdtType& type, const Pool& pool, const AdtValue& given) {
  const auto constructor = std::find_if(
      type.constructors.begin(), type.constructors.end(), [&](const AdtConstructorType& c) {
        return c.name == given.constructor;
      });
  const auto mismatch = [](std::string text) {
    return fail(ErrorCode::kSignatureMismatch, std::move(text));
  };
  if (constructor == type.constructors.end()) {
    std::vector<std::string> names;
    for (const AdtConstructorType& c : type.constructors) names.push_back(c.name);
    return fail(Error(ErrorCode::kSignatureMismatch,
                      fmt::format("{} has no constructor '{}'", type.name, given.constructor))
                    .with_hint(did_you_mean(given.constructor, names)));
  }
  AdtValue out;
  out.constructor = given.constructor;
  for (const auto& [name, value] : given.fields) {
    if (std::none_of(constructor->fields.begin(),
                     constructor->fields.end(),
                     [&n = name](const AdtFieldType& f) { return f.name == n; })) {
      std::vector<std::string> names;
      for (const AdtFieldType& f : constructor->fields) names.push_back(f.name);
      return fail(
          Error(ErrorCode::kSignatureMismatch,
                fmt::format("{} of {} has no field '{}'", given.constructor, type.name, name))
              .with_hint(did_you_mean(name, names)));
    }
  }
  Arena arena(512);
  std::vector<Cell> cells;
  for (const AdtFieldType& field : constructor->fields) {
    const auto found = std::find_if(given.fields.begin(),
                                    given.fields.end(),
                                    [&](const NamedValue& v) { return v.first == field.name; });
    if (found == given.fields.end())
      return mismatch(
          fmt::format("{} of {} lacks its field '{}'", given.constructor, type.name, field.name));
    if (!accepts_field(field, found->second)) {
      return mismatch(fmt::format("field '{}' of {} is {}, expected {}",
                                  field.name,
                                  given.constructor,
                                  found->second.to_string(),
                                  field_type(field)));
    }
    out.fields.emplace_back(field.name, found->second);
    cells.push_back(cell_of(found->second, arena));
  }
  if (constructor->invariant.given()) {
    std::string text;
    bool holds = false;
    Env env;
    env.pool = &pool;
    env.formals = cells;
    env.arena = &arena;
    env.error = &text;
    if (!evaluate_bool(env, constructor->invariant.root, holds) || !holds) {
      return fail(Error(ErrorCode::kSignatureMismatch,
                        fmt::format("'{}', the invariant of {}, does not hold for {}",
                                    constructor->invariant.text,
                                    given.constructor,
                                    Value(out).to_string()))
                      .with_where(constructor->invariant.where.to_string()));
    }
  }
  return Value(std::move(out));
}

Result<Value> convert(const ParamType& type,
                      std::string_view type_text,
                      const PlanData& data,
                      const Value& given) {
  if (given.is_none() && type.maybe) return given;
  for (const bool strict : {true, false}) {
    for (const TypeMember& member : type.members) {
      if (member.tag == TypeTag::kAdt) {
        if (const auto* adt = given.get_if<AdtValue>())
          return convert_adt(data.adts[member.adt], data.pool, *adt);
        continue;
      }
      if (auto taken = accept(member, given, strict)) return *std::move(taken);
    }
  }
  std::string hint;
  for (const TypeMember& member : type.members) {
    if (!is_text(given)) break;
    const std::string& text = *given.get_if<std::string>();
    if (member.tag == TypeTag::kEnum) hint = did_you_mean(text, member.names);
    if (member.tag != TypeTag::kFloat && member.tag != TypeTag::kNumber) continue;
    if (const std::string number = yaml_number(text); !number.empty())
      hint = fmt::format("YAML reads it as a string: write {}", number);
  }
  return fail(
      Error(ErrorCode::kSignatureMismatch, fmt::format("{} is no {}", given.to_string(), type_text))
          .with_hint(hint));
}

}  // namespace tenon::signature
