// Maps the types and defaults of manifest parameters to the notation of operator schemas.
#include "signature/schema_of_types.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/core/dtype.hpp"

namespace tenon::detail {
namespace {

constexpr int kDeepestList = 16;

enum class Member : std::uint8_t {
  kInt,
  kFloat,
  kBool,
  kNumber,
  kText,
  kDType,
  kDevice,
  kList,
  kAdt
};

struct ListShape {
  std::uint64_t fixed_length = 0;  // of a tuple that gives each item; 0: any
  SchemaType item;
};

struct Union {
  std::vector<Member> members;
  std::vector<ListShape> lists;
  bool has_none = false;
  [[nodiscard]] bool only(std::initializer_list<Member> allowed) const {
    return std::all_of(members.begin(), members.end(), [&](Member member) {
      return std::find(allowed.begin(), allowed.end(), member) != allowed.end();
    });
  }
  [[nodiscard]] bool has(Member member) const {
    return std::find(members.begin(), members.end(), member) != members.end();
  }
};

std::string_view trimmed(std::string_view text) {
  const std::size_t start = text.find_first_not_of(' ');
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(' ') - start + 1);
}

/// Splits at a separator outside brackets and quotes.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  char quote = '\0';
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[') {
      ++depth;
    } else if (c == ']') {
      --depth;
    } else if (c == separator && depth == 0) {
      parts.push_back(trimmed(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  parts.push_back(trimmed(text.substr(start)));
  return parts;
}

/// The inside of `name[...]`.
std::optional<std::string_view> bracketed(std::string_view text, std::string_view name) {
  if (!text.starts_with(name) || !text.ends_with(']') || text.size() < name.size() + 2 ||
      text[name.size()] != '[') {
    return std::nullopt;
  }
  return text.substr(name.size() + 1, text.size() - name.size() - 2);
}

class TypeMapper {
 public:
  explicit TypeMapper(std::span<const std::string> adt_names) : adt_names_(adt_names) {}

  Result<ParamSchemaType> map(std::string_view text, int depth) {
    if (depth > kDeepestList)
      return fail(ErrorCode::kManifestInvalid, "lists are nested too deeply for a schema");
    Union members;
    for (const std::string_view member : split(text, '|')) TENON_TRY(add(member, depth, members));
    return merge(members, text);
  }

 private:
  Result<void> add(std::string_view member, int depth, Union& into) {
    static constexpr std::array<std::pair<std::string_view, Member>, 7> kNames{{
        {"int", Member::kInt},
        {"float", Member::kFloat},
        {"bool", Member::kBool},
        {"Number", Member::kNumber},
        {"str", Member::kText},
        {"torch.dtype", Member::kDType},
        {"torch.device", Member::kDevice},
    }};
    if (member == "None") {
      into.has_none = true;
      return {};
    }
    const auto* known = std::find_if(
        kNames.begin(), kNames.end(), [&](auto& entry) { return entry.first == member; });
    if (known != kNames.end()) {
      into.members.push_back(known->second);
    } else if (!member.empty() && (member[0] == '\'' || member[0] == '"')) {
      into.members.push_back(Member::kText);
    } else if (dtype_from_name(member)) {
      into.members.push_back(Member::kDType);
    } else if (std::find(adt_names_.begin(), adt_names_.end(), member) != adt_names_.end()) {
      into.members.push_back(Member::kAdt);
    } else if (const auto item = bracketed(member, "list")) {
      return add_list(std::vector<std::string_view>{*item}, 0, depth, into);
    } else if (const auto items = bracketed(member, "tuple")) {
      std::vector<std::string_view> types = split(*items, ',');
      std::uint64_t length = types.size();
      if (types.back() == "...") {
        types.pop_back();
        length = 0;
      }
      return add_list(types, length, depth, into);
    } else {
      return fail(ErrorCode::kManifestInvalid,
                  "type '" + std::string(member) + "' has no schema type");
    }
    return {};
  }

  Result<void> add_list(const std::vector<std::string_view>& items,
                        std::uint64_t length,
                        int depth,
                        Union& into) {
    // The items of a tuple are mapped as one union: tuple[int, int | None] is int?[].
    std::string joined;
    for (const std::string_view item : items)
      joined += (joined.empty() ? "" : " | ") + std::string(item);
    ParamSchemaType item;
    TENON_TRY_ASSIGN(item, map(joined, depth + 1));
    if (item.is_yaml)
      return fail(ErrorCode::kManifestInvalid, "a list of '" + joined + "' has no schema type");
    into.members.push_back(Member::kList);
    into.lists.push_back({length, std::move(item.type)});
    return {};
  }

  static Result<ParamSchemaType> merge(const Union& of, std::string_view text) {
    ParamSchemaType result;
    SchemaType& type = result.type;
    if (of.members.empty()) {
      return fail(ErrorCode::kManifestInvalid,
                  "type '" + std::string(text) + "' has no schema type");
    }
    if (of.only({Member::kText})) {
      type.base = "str";
    } else if (of.only({Member::kDType})) {
      type.base = "ScalarType";
    } else if (of.only({Member::kDevice, Member::kText})) {
      type.base = "Device";
    } else if (of.only({Member::kInt})) {
      type.base = "int";
    } else if (of.only({Member::kFloat})) {
      type.base = "float";
    } else if (of.only({Member::kBool})) {
      type.base = "bool";
    } else if (of.only({Member::kInt, Member::kFloat, Member::kBool, Member::kNumber})) {
      type.base = "Scalar";
    } else if (!merge_lists(of, type)) {
      type.base = "str";
      result.is_yaml = true;
    }
    if (of.has_none) type.suffixes.push_back({false, 0});
    return result;
  }

  /// Lists of one base, and ints beside them.
  static bool merge_lists(const Union& of, SchemaType& type) {
    if (of.lists.empty() || !of.only({Member::kInt, Member::kList})) return false;
    SchemaType item = of.lists[0].item;
    std::uint64_t length = of.lists[0].fixed_length;
    for (const ListShape& list : of.lists) {
      SchemaType other = list.item;
      if (list.fixed_length != length) length = 0;
      const bool is_optional = item.is_optional() || other.is_optional();
      if (item.is_optional()) item.suffixes.pop_back();
      if (other.is_optional()) other.suffixes.pop_back();
      if (item != other) return false;
      if (is_optional) item.suffixes.push_back({false, 0});
    }
    if (of.has(Member::kInt) && item.base != "int") return false;
    type = std::move(item);
    // A length says that one int may stand for the list.
    const std::uint64_t spread = length == 0 ? 1 : length;
    type.suffixes.push_back({true, of.has(Member::kInt) ? spread : 0});
    return true;
  }

  std::span<const std::string> adt_names_;
};

std::string quoted_text(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else {
      if (c == '\'' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + '\'';
}

/// Python's repr of a float: the shortest digits that read back, with a point or an exponent.
std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const double magnitude = std::fabs(value);
  const bool plain = value == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  std::array<char, 64> digits{};
  const auto end = std::to_chars(digits.data(),
                                 digits.data() + digits.size(),
                                 value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific)
                       .ptr;
  std::string text(digits.data(), end);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

Result<std::string> item_text(const Value& value) {
  if (value.is_none()) return std::string("None");
  if (const auto* flag = value.get_if<bool>()) return std::string(*flag ? "True" : "False");
  if (const auto* number = value.get_if<std::int64_t>()) return std::to_string(*number);
  if (const auto* real = value.get_if<double>()) return float_text(*real);
  if (const auto* dtype = value.get_if<DType>()) return std::string(name_of(*dtype));
  if (const auto* text = value.get_if<std::string>()) return quoted_text(*text);
  return fail(ErrorCode::kManifestInvalid,
              "the default " + value.to_string() + " has no spelling in a schema");
}

/// Whether YAML 1.1 reads a plain scalar as this very string: a word that is no bool and no null.
bool is_plain_yaml(std::string_view text) {
  static constexpr std::array<std::string_view, 7> kTaken{
      "null", "true", "false", "yes", "no", "on", "off"};
  std::string folded;
  for (const char c : text) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    const char lower = is_upper ? static_cast<char>(c - 'A' + 'a') : c;
    const bool is_letter = (lower >= 'a' && lower <= 'z') || c == '_';
    const bool goes_on = !folded.empty() && ((c >= '0' && c <= '9') || c == '-');
    if (!is_letter && !goes_on) return false;
    folded += lower;
  }
  return !folded.empty() && std::find(kTaken.begin(), kTaken.end(), folded) == kTaken.end();
}

/// YAML 1.1 has a point in every float, and a dot before the words.
std::string yaml_float(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  std::string text = float_text(value);
  const std::size_t exponent = text.find('e');
  if (exponent != std::string::npos && text.find('.') == std::string::npos) {
    text.insert(exponent, ".0");
  }
  return text;
}

/// A value in YAML's flow style, so that a manifest row could hold it.
std::string yaml_text(const Value& value) {
  if (value.is_none()) return "null";
  if (const auto* real = value.get_if<double>()) return yaml_float(*real);
  if (const auto* text = value.get_if<std::string>()) {
    if (is_plain_yaml(*text)) return *text;
    std::string quoted = "'";
    for (const char c : *text) quoted.append(c == '\'' ? 2 : 1, c);
    return quoted + '\'';
  }
  if (const auto* list = value.get_if<ValueList>()) {
    std::string text = "[";
    for (const Value& item : list->items) {
      if (text.size() > 1) text += ", ";
      text += yaml_text(item);
    }
    return text + ']';
  }
  if (const auto* adt = value.get_if<AdtValue>()) {
    std::string text = "{" + adt->constructor + ": {";
    bool is_first = true;
    for (const auto& [name, field] : adt->fields) {
      if (!is_first) text += ", ";
      is_first = false;
      text += name;
      text += ": ";
      text += yaml_text(field);
    }
    return text + "}}";
  }
  return value.to_string();
}

/// An absent Maybe is None in the notation itself.
bool is_yaml_form(const Value& value, const ParamSchemaType& type) {
  return !value.is_none() && (type.is_yaml || value.get_if<AdtValue>() != nullptr);
}

}  // namespace

Result<ParamSchemaType> param_schema_type(std::string_view type_text,
                                          std::span<const std::string> adt_names) {
  return TypeMapper(adt_names).map(type_text, 0);
}

Result<std::string> schema_default(const Value& value, const ParamSchemaType& type) {
  if (is_yaml_form(value, type)) return quoted_text(yaml_text(value));
  if (const auto* name = value.get_if<std::string>();
      name != nullptr && type.type.base == "ScalarType") {
    return *name;  // a default as written: dtypes are words in both notations
  }
  const auto* list = value.get_if<ValueList>();
  if (list == nullptr) return item_text(value);
  std::string text = "[";
  for (const Value& item : list->items) {
    std::string part;
    TENON_TRY_ASSIGN(part, item_text(item));
    if (text.size() > 1) text += ',';
    text += part;
  }
  return text + ']';
}

}  // namespace tenon::detail
