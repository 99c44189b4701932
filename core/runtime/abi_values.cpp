// Values of ours as they cross to plugins.
#include "runtime/abi_values.hpp"

#include <algorithm>

namespace tenon {

AbiValues::AbiValues(std::span<const Value> values) {
  values_.reserve(values.size());
  for (const Value& v : values) values_.push_back(convert(v));
}

tenon_value AbiValues::convert(const Value& value) {
  tenon_value out{};
  if (const auto* b = value.get_if<bool>()) {
    out.kind = TENON_VALUE_BOOL;
    out.i = *b ? 1 : 0;
  } else if (const auto* i = value.get_if<std::int64_t>()) {
    out.kind = TENON_VALUE_INT;
    out.i = *i;
  } else if (const auto* f = value.get_if<double>()) {
    out.kind = TENON_VALUE_FLOAT;
    out.f = *f;
  } else if (const auto* d = value.get_if<DType>()) {
    const tenon_dtype abi = to_abi(*d);
    out.kind = TENON_VALUE_DTYPE;
    out.i = abi.code | std::int64_t{abi.bits} << 8 | std::int64_t{abi.lanes} << 16;
  } else if (const auto* s = value.get_if<std::string>()) {
    texts_.push_back(*s);
    out.kind = TENON_VALUE_STR;
    out.count = texts_.back().size();
    out.data = texts_.back().data();
  } else if (const auto* list = value.get_if<ValueList>()) {
    out = convert_list(list->items);
  } else if (const auto* adt = value.get_if<AdtValue>()) {
    std::vector<Value> items{Value(adt->constructor)};
    items.reserve(adt->fields.size() + 1);
    for (const auto& [name, field] : adt->fields) items.push_back(field);
    std::vector<tenon_value> converted;
    converted.reserve(items.size());
    for (const Value& item : items) converted.push_back(convert(item));
    lists_.push_back(std::move(converted));
    out.kind = TENON_VALUE_LIST;
    out.count = lists_.back().size();
    out.data = lists_.back().data();
  }
  return out;
}

tenon_value AbiValues::convert_list(const std::vector<Value>& items) {
  tenon_value out{};
  out.count = items.size();
  if (std::all_of(items.begin(), items.end(), [](const Value& v) {
        return v.get_if<std::int64_t>() != nullptr;
      })) {
    ints_.emplace_back();
    for (const Value& v : items) ints_.back().push_back(*v.get_if<std::int64_t>());
    out.kind = TENON_VALUE_INTS;
    out.data = ints_.back().data();
  } else if (std::all_of(items.begin(), items.end(), [](const Value& v) {
               return v.get_if<double>() != nullptr;
             })) {
    floats_.emplace_back();
    for (const Value& v : items) floats_.back().push_back(*v.get_if<double>());
    out.kind = TENON_VALUE_FLOATS;
    out.data = floats_.back().data();
  } else {
    std::vector<tenon_value> converted;
    converted.reserve(items.size());
    for (const Value& v : items) converted.push_back(convert(v));
    lists_.push_back(std::move(converted));
    out.kind = TENON_VALUE_LIST;
    out.data = lists_.back().data();
  }
  return out;
}

}  // namespace tenon
