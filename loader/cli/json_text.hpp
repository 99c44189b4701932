// JSON documents as text. Only the files that build documents include the JSON library.
#pragma once

#include <string>

#include "tenon/core/error.hpp"

namespace tenon::cli {

/// Version of every document: {"schema": 1, ...}. Fields are only added.
inline constexpr int kJsonSchema = 1;

/// {schema, error: {code, text, where, hint}}
[[nodiscard]] std::string error_json(const Error& error);
/// The same for an error that ended the process of the command, with the fields `plugin` and
/// `stage`, the function of it that was running: {schema, error: {code, text, where, hint, plugin,
/// stage}}
[[nodiscard]] std::string ended_json(const Error& error);

}  // namespace tenon::cli
