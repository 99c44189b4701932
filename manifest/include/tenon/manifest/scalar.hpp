// Plain YAML scalars as PyYAML's safe loader resolves them (YAML 1.1), from tag and text, never by
// trial.
#pragma once

#include <string_view>

#include "tenon/core/value.hpp"

namespace tenon::manifest {

/// What a plain (unquoted) scalar is.
struct Scalar {
  enum class Kind : std::uint8_t {
    kNull,
    kBool,
    kInt,
    kFloat,
    kString,
    kMerge,        ///< `<<`: a merge key where it stands as a key
    kTimestamp,    ///< refused: 2025-01-01
    kSexagesimal,  ///< refused: 1:30
    kOutOfRange,   ///< an integer that does not fit 64 bits
    kReserved,     ///< `=`, which PyYAML cannot construct
  };
  Kind kind = Kind::kString;
  Value value;  ///< of null, bool, int, float; of a string the text itself
};

/// Source: PyYAML 6.0.3, lib/yaml/resolver.py (the implicit resolvers) and constructor.py.
[[nodiscard]] Scalar resolve_plain(std::string_view text);

}  // namespace tenon::manifest
