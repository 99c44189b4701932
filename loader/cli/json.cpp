// Values, dimensions and errors as JSON.
#include "json.hpp"

#include "tenon/manifest/value_json.hpp"

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

Json to_json(double value) { return manifest::json_of<Json>(value); }
Json to_json(const Value& value) { return manifest::json_of<Json>(value); }
Json to_json(std::span<const NamedValue> values) { return manifest::json_of<Json>(values); }

Json to_json(const Dims& dims) {
  Json list = Json::array();
  for (const std::int64_t size : dims.span()) list.push_back(size);
  return list;
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

std::string ended_json(const Error& error) {
  Json json = document();
  json["error"] = to_json(error);
  for (const auto& [name, value] : error.fields()) json["error"][name] = text_or_null(value);
  return text_of(json);
}

}  // namespace tenon::cli
