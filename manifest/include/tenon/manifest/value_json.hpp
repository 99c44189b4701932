// Parameter values as JSON, the same in every document. For whoever includes nlohmann/json.hpp.
#pragma once

#include <cmath>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "tenon/core/value.hpp"

namespace tenon::manifest {

/// Numbers that JSON lacks as texts: "inf", "-inf", "nan". `Json` is an nlohmann::basic_json.
template <class Json>
[[nodiscard]] Json json_of(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return value;
}

/// None, bools, numbers, texts and lists as they are; dtypes by name; a value of an algebraic type
/// as {constructor: {field: value, ...}}; whatever else as the manifest prints it.
template <class Json>
[[nodiscard]] Json json_of(const Value& value) {
  return std::visit(
      [](const auto& held) -> Json {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<Held, double>) {
          return json_of<Json>(held);
        } else if constexpr (std::is_same_v<Held, DType>) {
          return name_of(held);
        } else if constexpr (std::is_same_v<Held, ValueList>) {
          Json list = Json::array();
          for (const Value& item : held.items) list.push_back(json_of<Json>(item));
          return list;
        } else if constexpr (std::is_same_v<Held, AdtValue>) {
          Json fields = Json::object();
          for (const auto& [name, field] : held.fields) fields[name] = json_of<Json>(field);
          return Json{{held.constructor, std::move(fields)}};
        } else if constexpr (std::is_same_v<Held, OpaqueValue>) {
          return held.text;
        } else {
          return held;
        }
      },
      value.data());
}

/// An object with the names as keys.
template <class Json>
[[nodiscard]] Json json_of(std::span<const NamedValue> values) {
  Json object = Json::object();
  for (const auto& [name, value] : values) object[name] = json_of<Json>(value);
  return object;
}

}  // namespace tenon::manifest
