// Types and defaults of parameters in the notation of operator schemas.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tenon/core/error.hpp"
#include "tenon/core/schema.hpp"
#include "tenon/core/value.hpp"

namespace tenon::detail {

/// A parameter's type as a schema has it.
struct ParamSchemaType {
  SchemaType type;
  /// The value travels as a string that holds its YAML form.
  bool is_yaml = false;
};

/// The schema type of a manifest type text ("int | list[int] | None"), or why it has none.
Result<ParamSchemaType> param_schema_type(std::string_view type_text,
                                          std::span<const std::string> adt_names);

/// A default as a schema writes it, or why it cannot.
Result<std::string> schema_default(const Value& value, const ParamSchemaType& type);

}  // namespace tenon::detail
