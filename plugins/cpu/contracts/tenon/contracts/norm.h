// Contracts of the norm interfaces, by hand until the build generates them: hash 0, so a host
// compares field by field.
#pragma once

#include <array>

#include "tenon/plugin.hpp"

namespace tenon::contracts::rms_norm_fwd {

inline constexpr tenon_dtype kDtypes[] = {{TENON_DTYPE_FLOAT, 16, 1},
                                          {TENON_DTYPE_BFLOAT, 16, 1},
                                          {TENON_DTYPE_FLOAT, 32, 1},
                                          {TENON_DTYPE_FLOAT, 64, 1}};
inline constexpr tenon_field kFields[] = {
    {{"m", 1}, TENON_VALUE_INT, 0, nullptr, 0},
    {{"n", 1}, TENON_VALUE_INT, 0, nullptr, 0},
    {{"eps", 3}, TENON_VALUE_FLOAT, TENON_FIELD_OPTIONAL, nullptr, 0},
    {{"dtype", 5}, TENON_VALUE_DTYPE, 0, nullptr, 0},
    {{"affine", 6}, TENON_VALUE_BOOL, 0, nullptr, 0}};
inline constexpr tenon_arg kArgs[] = {
    {{"x", 1}, kDtypes, std::size(kDtypes), TENON_ROLE_IN, 0},
    {{"weight", 6}, kDtypes, std::size(kDtypes), TENON_ROLE_IN, TENON_ARG_OPTIONAL},
    {{"output", 6}, kDtypes, std::size(kDtypes), TENON_ROLE_OUT, 0}};
inline constexpr tenon_contract kContract{
    sizeof(tenon_contract), 0, kFields, std::size(kFields), kArgs, std::size(kArgs)};

struct Call {
  std::int64_t m{};
  std::int64_t n{};
  std::optional<double> eps{};
  ElementType dtype{};
  bool affine{};
  static const tenon_contract& contract() { return kContract; }
  static Call from(const tenon_call& raw) {
    return {read<std::int64_t>(raw, 0, "m"),
            read<std::int64_t>(raw, 1, "n"),
            read<std::optional<double>>(raw, 2, "eps"),
            read<ElementType>(raw, 3, "dtype"),
            read<bool>(raw, 4, "affine")};
  }
};

}  // namespace tenon::contracts::rms_norm_fwd

namespace tenon::contracts::layer_norm_fwd {

inline constexpr tenon_dtype kDtypes[] = {{TENON_DTYPE_FLOAT, 16, 1},
                                          {TENON_DTYPE_BFLOAT, 16, 1},
                                          {TENON_DTYPE_FLOAT, 32, 1},
                                          {TENON_DTYPE_FLOAT, 64, 1}};
inline constexpr tenon_field kFields[] = {{{"m", 1}, TENON_VALUE_INT, 0, nullptr, 0},
                                          {{"n", 1}, TENON_VALUE_INT, 0, nullptr, 0},
                                          {{"eps", 3}, TENON_VALUE_FLOAT, 0, nullptr, 0},
                                          {{"dtype", 5}, TENON_VALUE_DTYPE, 0, nullptr, 0},
                                          {{"has_weight", 10}, TENON_VALUE_BOOL, 0, nullptr, 0},
                                          {{"has_bias", 8}, TENON_VALUE_BOOL, 0, nullptr, 0}};
inline constexpr tenon_arg kArgs[] = {
    {{"x", 1}, kDtypes, std::size(kDtypes), TENON_ROLE_IN, 0},
    {{"weight", 6}, kDtypes, std::size(kDtypes), TENON_ROLE_IN, TENON_ARG_OPTIONAL},
    {{"bias", 4}, kDtypes, std::size(kDtypes), TENON_ROLE_IN, TENON_ARG_OPTIONAL},
    {{"output", 6}, kDtypes, std::size(kDtypes), TENON_ROLE_OUT, 0}};
inline constexpr tenon_contract kContract{
    sizeof(tenon_contract), 0, kFields, std::size(kFields), kArgs, std::size(kArgs)};

struct Call {
  std::int64_t m{};
  std::int64_t n{};
  double eps{};
  ElementType dtype{};
  bool has_weight{};
  bool has_bias{};
  static const tenon_contract& contract() { return kContract; }
  static Call from(const tenon_call& raw) {
    return {read<std::int64_t>(raw, 0, "m"),
            read<std::int64_t>(raw, 1, "n"),
            read<double>(raw, 2, "eps"),
            read<ElementType>(raw, 3, "dtype"),
            read<bool>(raw, 4, "has_weight"),
            read<bool>(raw, 5, "has_bias")};
  }
};

}  // namespace tenon::contracts::layer_norm_fwd
