// Values: lists, equality, the printed form.
#include "tenon/core/value.hpp"

#include <cmath>

#include <fmt/format.h>

namespace tenon {

bool operator==(const ValueList& a, const ValueList& b) {
  return a.is_tuple == b.is_tuple && a.items == b.items;
}
bool operator==(const AdtValue& a, const AdtValue& b) {
  return a.constructor == b.constructor && a.fields == b.fields;
}

Value::Value(std::initializer_list<std::int64_t> ints) {
  ValueList list;
  list.items.reserve(ints.size());
  for (std::int64_t i : ints) list.items.emplace_back(i);
  data_ = std::move(list);
}

namespace {

std::string print_double(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", v);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string print_list(const ValueList& list) {
  std::string text = list.is_tuple ? "(" : "[";
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    if (i != 0) text += ", ";
    text += list.items[i].to_string();
  }
  if (list.is_tuple && list.items.size() == 1) text += ",";
  return text + (list.is_tuple ? ")" : "]");
}

std::string print_adt(const AdtValue& adt) {
  std::string text = "{" + adt.constructor + ": {";
  for (std::size_t i = 0; i < adt.fields.size(); ++i) {
    if (i != 0) text += ", ";
    text += adt.fields[i].first + ": " + adt.fields[i].second.to_string();
  }
  return text + "}}";
}

}  // namespace

std::string Value::to_string() const {
  struct Printer {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return print_double(v); }
    std::string operator()(DType v) const { return std::string(name_of(v)); }
    std::string operator()(const std::string& v) const { return "'" + v + "'"; }
    std::string operator()(const ValueList& v) const { return print_list(v); }
    std::string operator()(const AdtValue& v) const { return print_adt(v); }
    std::string operator()(const OpaqueValue& v) const { return v.text; }
  };
  return std::visit(Printer{}, data_);
}

}  // namespace tenon
