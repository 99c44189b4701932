// Values, dimensions and errors as JSON.
#include "json.hpp"

#include <cmath>
#include <type_traits>
#include <variant>

namespace tenon::cli {

Json document() {
  Json json;
  json["schema"] = kJsonSchema;
  return json;
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

Json to_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return value;
}

Json to_json(const Value& value) {
  return std::visit(
      [&](const auto& held) -> Json {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<Held, double>) {
          return to_json(held);
        } else if constexpr (std::is_same_v<Held, DType>) {
          return name_of(held);
        } else if constexpr (std::is_same_v<Held, ValueList>) {
          Json list = Json::array();
          for (const Value& item : held.items) list.push_back(to_json(item));
          return list;
        } else if constexpr (std::is_same_v<Held, AdtValue>) {
          Json fields = Json::object();
          for (const auto& [name, field] : held.fields) fields[name] = to_json(field);
          return Json{{held.constructor, std::move(fields)}};
        } else if constexpr (std::is_same_v<Held, OpaqueValue>) {
          return held.text;
        } else {
          return held;
        }
      },
      value.data());
}

Json to_json(const Dims& dims) {
  Json list = Json::array();
  for (const std::int64_t size : dims.span()) list.push_back(size);
  return list;
}

Json to_json(std::span<const NamedValue> values) {
  Json object = Json::object();
  for (const auto& [name, value] : values) object[name] = to_json(value);
  return object;
}

Json to_json(const Error& error) {
  Json json;
  json["code"] = name_of(error.code());
  json["text"] = error.message();
  json["where"] = text_or_null(error.where());
  json["hint"] = text_or_null(error.hint());
  return json;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string error_json(const Error& error) {
  Json json = document();
  json["error"] = to_json(error);
  return text_of(json);
}

}  // namespace tenon::cli
