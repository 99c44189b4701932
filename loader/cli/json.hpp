// What the writers of JSON documents share. Includes the JSON library: for .cpp files that write
// documents only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "json_text.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/core/value.hpp"

namespace tenon::cli {

using Json = nlohmann::ordered_json;

/// A document with its version.
[[nodiscard]] Json document();
/// The text of a document: indented, its last line ended; bytes that are no UTF-8 are replaced.
[[nodiscard]] std::string text_of(const Json& json);
/// The same on one line.
[[nodiscard]] std::string line_of(const Json& json);

/// None, bools, numbers, texts and lists as they are; dtypes by name; numbers that JSON lacks
/// ("inf", "-inf", "nan") and whatever else as the manifest prints it.
[[nodiscard]] Json to_json(const Value& value);
[[nodiscard]] Json to_json(double value);
[[nodiscard]] Json to_json(const Dims& dims);
/// An object with the names as keys.
[[nodiscard]] Json to_json(std::span<const NamedValue> values);
/// {code, text, where, hint}
[[nodiscard]] Json to_json(const Error& error);
/// The text, or null where it is empty.
[[nodiscard]] Json text_or_null(const std::string& text);

}  // namespace tenon::cli
