// Contracts of the reduction interfaces, by hand until the build generates them: hash 0, so a host
// compares field by field.
#pragma once

#include <array>

#include "tenon/plugin.hpp"

namespace tenon::contracts::softmax_fwd {

inline constexpr tenon_dtype kDtypes[] = {{TENON_DTYPE_FLOAT, 16, 1},
                                          {TENON_DTYPE_BFLOAT, 16, 1},
                                          {TENON_DTYPE_FLOAT, 32, 1},
                                          {TENON_DTYPE_FLOAT, 64, 1}};
inline constexpr tenon_field kFields[] = {{{"outer", 5}, TENON_VALUE_INT, 0, nullptr, 0},
                                          {{"n", 1}, TENON_VALUE_INT, 0, nullptr, 0},
                                          {{"inner", 5}, TENON_VALUE_INT, 0, nullptr, 0},
                                          {{"dtype", 5}, TENON_VALUE_DTYPE, 0, nullptr, 0}};
inline constexpr tenon_arg kArgs[] = {
    {{"x", 1}, kDtypes, std::size(kDtypes), TENON_ROLE_IN, 0},
    {{"output", 6}, kDtypes, std::size(kDtypes), TENON_ROLE_OUT, 0}};
inline constexpr tenon_contract kContract{
    sizeof(tenon_contract), 0, kFields, std::size(kFields), kArgs, std::size(kArgs)};

struct Call {
  std::int64_t outer{};
  std::int64_t n{};
  std::int64_t inner{};
  ElementType dtype{};
  static const tenon_contract& contract() { return kContract; }
  static Call from(const tenon_call& raw) {
    return {read<std::int64_t>(raw, 0, "outer"),
            read<std::int64_t>(raw, 1, "n"),
            read<std::int64_t>(raw, 2, "inner"),
            read<ElementType>(raw, 3, "dtype")};
  }
};

}  // namespace tenon::contracts::softmax_fwd

namespace tenon::contracts::sum_fwd {

inline constexpr tenon_dtype kDtypes[] = {{TENON_DTYPE_UINT, 8, 1},
                                          {TENON_DTYPE_INT, 8, 1},
                                          {TENON_DTYPE_INT, 16, 1},
                                          {TENON_DTYPE_INT, 32, 1},
                                          {TENON_DTYPE_INT, 64, 1},
                                          {TENON_DTYPE_FLOAT, 16, 1},
                                          {TENON_DTYPE_BFLOAT, 16, 1},
                                          {TENON_DTYPE_FLOAT, 32, 1},
                                          {TENON_DTYPE_FLOAT, 64, 1}};
inline constexpr tenon_field kFields[] = {{{"kept", 4}, TENON_VALUE_INTS, 0, nullptr, 0},
                                          {{"axes", 4}, TENON_VALUE_INTS, 0, nullptr, 0},
                                          {{"dtype", 5}, TENON_VALUE_DTYPE, 0, nullptr, 0}};
inline constexpr tenon_arg kArgs[] = {
    {{"x", 1}, kDtypes, std::size(kDtypes), TENON_ROLE_IN, 0},
    {{"output", 6}, kDtypes, std::size(kDtypes), TENON_ROLE_OUT, 0}};
inline constexpr tenon_contract kContract{
    sizeof(tenon_contract), 0, kFields, std::size(kFields), kArgs, std::size(kArgs)};

struct Call {
  Span<const std::int64_t> kept{};
  Span<const std::int64_t> axes{};
  ElementType dtype{};
  static const tenon_contract& contract() { return kContract; }
  static Call from(const tenon_call& raw) {
    return {read<Span<const std::int64_t>>(raw, 0, "kept"),
            read<Span<const std::int64_t>>(raw, 1, "axes"),
            read<ElementType>(raw, 2, "dtype")};
  }
};

}  // namespace tenon::contracts::sum_fwd
