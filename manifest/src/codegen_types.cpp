// Parameter types of the manifest as C++ types.
#include "codegen_types.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "cpp_text.hpp"
#include "tenon/manifest/contracts.hpp"

namespace tenon::manifest {
namespace {

using signature::TypeMember;
using signature::TypeTag;

constexpr std::string_view kDeviceType = "torch.device | str | None";

std::string_view dtype_enumerator(DType dtype) {
  constexpr std::array<std::string_view, kDTypeCount> kNames{
      "kBool",          "kUInt8",         "kInt8",       "kInt16",          "kInt32",
      "kInt64",         "kFloat16",       "kBFloat16",   "kFloat32",        "kFloat64",
      "kFloat8E4M3FN",  "kFloat8E5M2",    "kFloat8E4M3", "kFloat8E5M2FNUZ", "kFloat8E4M3FNUZ",
      "kComplex64",     "kComplex128",    "kUInt16",     "kUInt32",         "kUInt64",
      "kFloat8E8M0FNU", "kFloat4E2M1FNx2"};
  return kNames[static_cast<std::size_t>(dtype)];
}

bool has_tag(const signature::ParamType& type, TypeTag tag) {
  return std::any_of(
      type.members.begin(), type.members.end(), [&](const TypeMember& m) { return m.tag == tag; });
}

/// The alternatives of a type in C++, each once, in an order that does not depend on how the
/// manifest spells it where that makes no difference.
class Alternatives {
 public:
  Alternatives(const signature::PlanData& data, const signature::ParamType& type) {
    const bool items_may_be_none =
        std::any_of(type.members.begin(), type.members.end(), [](const TypeMember& m) {
          return std::find(m.optional_items.begin(), m.optional_items.end(), true) !=
                 m.optional_items.end();
        });
    for (const TypeMember& member : type.members) {
      switch (member.tag) {
        case TypeTag::kBool:
          add("bool");
          break;
        case TypeTag::kInt:
          add("std::int64_t");
          break;
        case TypeTag::kFloat:
          add("double");
          break;
        case TypeTag::kNumber:
          for (const char* each : {"bool", "std::int64_t", "double"}) add(each);
          break;
        case TypeTag::kEnum:
          if (!has_tag(type, TypeTag::kStr)) {
            enum_members_ = member.names;
            add("enum");
          }
          break;
        case TypeTag::kStr:
          add("std::string");
          break;
        case TypeTag::kDType:
          add("DType");
          break;
        case TypeTag::kSeq:
          has_list_ = true;
          add(items_may_be_none ? "OptionalInts" : "Ints");
          break;
        case TypeTag::kAdt:
          add(cpp_name(data.adts[member.adt].name));
          break;
        case TypeTag::kObject:
          is_object_ = true;
          break;
      }
    }
  }

  [[nodiscard]] const std::vector<std::string>& enum_members() const { return enum_members_; }

  [[nodiscard]] std::string cpp_type(bool maybe, const std::string& enum_type) const {
    if (is_object_ || names_.empty()) return "Value";
    std::vector<std::string> names = names_;
    std::replace(names.begin(), names.end(), std::string("enum"), enum_type);
    if (names.size() == 1 && !(maybe && has_list_))
      return maybe ? fmt::format("std::optional<{}>", names.front()) : names.front();
    if (names == std::vector<std::string>{"bool", "std::int64_t", "double"})
      return maybe ? "OptionalScalar" : "Scalar";
    if (maybe) names.insert(names.begin(), "std::monostate");
    return fmt::format("OneOf<{}>", fmt::join(names, ", "));
  }

 private:
  void add(std::string name) {
    if (std::find(names_.begin(), names_.end(), name) == names_.end())
      names_.push_back(std::move(name));
  }
  std::vector<std::string> names_;
  std::vector<std::string> enum_members_;
  bool has_list_ = false;
  bool is_object_ = false;
};

std::string double_text(double value) {
  if (std::isnan(value)) return "std::numeric_limits<double>::quiet_NaN()";
  if (std::isinf(value)) {
    return value < 0 ? "-std::numeric_limits<double>::infinity()"
                     : "std::numeric_limits<double>::infinity()";
  }
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

/// A default as C++ writes it.
std::string default_text(const Value& value,
                         const CppParam& param,
                         const signature::PlanData& data);

/// A value of an algebraic type.
std::string adt_text(const AdtValue& value, const signature::PlanData& data) {
  for (const signature::AdtType& type : data.adts) {
    for (const signature::AdtConstructorType& constructor : type.constructors) {
      if (constructor.name != value.constructor) continue;
      const std::string name = type.name + pascal_case(constructor.name);
      std::vector<std::string> fields;
      for (std::size_t i = 0; i < constructor.fields.size(); ++i) {
        const signature::AdtFieldType& field = constructor.fields[i];
        CppParam inner;
        inner.enum_type = name + pascal_case(field.name);
        inner.enum_members = field.names;
        fields.push_back(fmt::format(
            ".{} = {}", cpp_name(field.name), default_text(value.fields[i].second, inner, data)));
      }
      return fmt::format("{}{{{}}}", name, fmt::join(fields, ", "));
    }
  }
  return "{}";
}

std::string list_text(const ValueList& list, const CppParam& param) {
  std::vector<std::string> items;
  items.reserve(list.items.size());
  for (const Value& item : list.items)
    items.push_back(item.is_none() ? "std::nullopt" : item.to_string());
  const bool may_be_none = param.type.find("OptionalInts") != std::string::npos;
  return fmt::format("{}{{{}}}", may_be_none ? "OptionalInts" : "Ints", fmt::join(items, ", "));
}

std::string default_text(const Value& value,
                         const CppParam& param,
                         const signature::PlanData& data) {
  if (value.is_none()) return param.type == "Value" ? "{}" : "std::nullopt";
  if (const auto* flag = value.get_if<bool>()) return *flag ? "true" : "false";
  if (const auto* integer = value.get_if<std::int64_t>()) return std::to_string(*integer);
  if (const auto* real = value.get_if<double>()) return double_text(*real);
  if (const auto* dtype = value.get_if<DType>())
    return fmt::format("DType::{}", dtype_enumerator(*dtype));
  if (const auto* text = value.get_if<std::string>()) {
    const auto at = std::find(param.enum_members.begin(), param.enum_members.end(), *text);
    if (at == param.enum_members.end()) return c_string(*text);
    return fmt::format(
        "{}::{}",
        param.enum_type,
        enumerators(param.enum_members)[static_cast<std::size_t>(at - param.enum_members.begin())]);
  }
  if (const auto* list = value.get_if<ValueList>()) return list_text(*list, param);
  if (const auto* adt = value.get_if<AdtValue>()) return adt_text(*adt, data);
  return fmt::format("OpaqueValue{{{}}}", c_string(value.to_string()));
}

}  // namespace

std::vector<std::string> enumerators(const std::vector<std::string>& members) {
  Names names;
  std::vector<std::string> out;
  out.reserve(members.size());
  for (const std::string& member : members) out.push_back(names.take("k" + pascal_case(member)));
  return out;
}

std::string enum_definition(const std::string& type,
                            const std::vector<std::string>& members,
                            std::string_view comment) {
  std::vector<std::string> texts;
  texts.reserve(members.size());
  for (const std::string& member : members) texts.push_back(c_string(member));
  return fmt::format(
      "/// {1}\nenum class {0} : std::uint8_t {{ {2} }};\n"
      "/// As the manifest spells it.\n"
      "inline Value to_value({0} v) {{\n"
      "  constexpr std::string_view kTexts[] = {{{3}}};\n"
      "  return kTexts[static_cast<std::size_t>(v)];\n}}\n\n",
      type,
      comment,
      fmt::join(enumerators(members), ", "),
      fmt::join(texts, ", "));
}

CppParam cpp_param(const signature::PlanData& data,
                   std::size_t ordinal,
                   std::string_view class_name) {
  const ParamDecl& decl = data.decl.params[ordinal];
  const signature::ParamType& type = data.param_types[ordinal];
  CppParam param;
  param.name = cpp_name(decl.name);
  param.manifest_name = decl.name;
  const Alternatives alternatives(data, type);
  if (!alternatives.enum_members().empty()) {
    param.enum_type = fmt::format("{}{}", class_name, pascal_case(decl.name));
    param.enum_members = alternatives.enum_members();
  }
  param.type = decl.name == "device" && decl.type_text == kDeviceType
                   ? "std::optional<Device>"
                   : alternatives.cpp_type(type.maybe, param.enum_type);
  param.comment = decl.type_text;
  if (decl.default_value) {
    param.default_text = default_text(*decl.default_value, param, data);
    param.comment += ", default " + decl.default_value->to_string();
  } else {
    param.type = fmt::format("Required<{}>", param.type);
  }
  return param;
}

std::string cpp_value(const signature::PlanData& data,
                      std::size_t ordinal,
                      std::string_view class_name,
                      const Value& value) {
  return default_text(value, cpp_param(data, ordinal, class_name), data);
}

std::string adt_definition(const signature::AdtType& type) {
  std::string out;
  std::vector<std::string> names;
  for (const signature::AdtConstructorType& constructor : type.constructors) {
    const std::string name = type.name + pascal_case(constructor.name);
    names.push_back(name);
    std::string members;
    std::vector<std::string> values;
    std::vector<std::string> equal;
    for (const signature::AdtFieldType& field : constructor.fields) {
      std::string field_type = field.tag == TypeTag::kBool ? "bool" : "std::int64_t";
      if (field.tag == TypeTag::kEnum) {
        field_type = name + pascal_case(field.name);
        out += enum_definition(
            field_type, field.names, fmt::format("The field {} of {}.", field.name, name));
      }
      const std::string member = cpp_name(field.name);
      members += fmt::format("  Required<{}> {};\n", field_type, member);
      values.push_back(fmt::format("{{{}, to_value(v.{})}}", c_string(field.name), member));
      equal.push_back(fmt::format("same_param(a.{0}, b.{0})", member));
    }
    out += fmt::format(
        "/// {} of {}.{}\nstruct {} {{\n{}}};\n",
        constructor.name,
        type.name,
        constructor.invariant.given() ? fmt::format(" Holds: {}", constructor.invariant.text) : "",
        name,
        members);
    out += fmt::format(
        "/// As the manifest spells it.\n"
        "inline Value to_value([[maybe_unused]] const {0}& v) {{\n"
        "  return AdtValue{{{1}, {{{2}}}}};\n}}\n"
        "/// True where they make the same instance.\n"
        "inline bool same_param([[maybe_unused]] const {0}& a, [[maybe_unused]] const {0}& b) {{\n"
        "  return {3};\n}}\n\n",
        name,
        c_string(constructor.name),
        fmt::join(values, ", "),
        equal.empty() ? "true" : fmt::format("{}", fmt::join(equal, " && ")));
  }
  return out + fmt::format("/// {}\nusing {} = OneOf<{}>;\n\n",
                           fmt::format("One of the constructors of {}.", type.name),
                           cpp_name(type.name),
                           fmt::join(names, ", "));
}

}  // namespace tenon::manifest
