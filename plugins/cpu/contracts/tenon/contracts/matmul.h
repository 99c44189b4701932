// Contracts of the matmul interfaces, by hand until the build generates them: hash 0, so a host
// compares field by field.
#pragma once

#include <array>

#include "tenon/plugin.hpp"

namespace tenon::contracts::matmul_fwd {

inline constexpr tenon_dtype kDtypes[] = {{TENON_DTYPE_FLOAT, 16, 1},
                                          {TENON_DTYPE_BFLOAT, 16, 1},
                                          {TENON_DTYPE_FLOAT, 32, 1},
                                          {TENON_DTYPE_FLOAT, 64, 1}};
inline constexpr tenon_field kFields[] = {{{"batch", 5}, TENON_VALUE_INTS, 0, nullptr, 0},
                                          {{"m", 1}, TENON_VALUE_INT, 0, nullptr, 0},
                                          {{"k", 1}, TENON_VALUE_INT, 0, nullptr, 0},
                                          {{"n", 1}, TENON_VALUE_INT, 0, nullptr, 0},
                                          {{"dtype", 5}, TENON_VALUE_DTYPE, 0, nullptr, 0}};
inline constexpr tenon_arg kArgs[] = {
    {{"a", 1}, kDtypes, std::size(kDtypes), TENON_ROLE_IN, 0},
    {{"b", 1}, kDtypes, std::size(kDtypes), TENON_ROLE_IN, 0},
    {{"output", 6}, kDtypes, std::size(kDtypes), TENON_ROLE_OUT, 0}};
inline constexpr tenon_contract kContract{
    sizeof(tenon_contract), 0, kFields, std::size(kFields), kArgs, std::size(kArgs)};

struct Call {
  Span<const std::int64_t> batch{};
  std::int64_t m{};
  std::int64_t k{};
  std::int64_t n{};
  ElementType dtype{};
  static const tenon_contract& contract() { return kContract; }
  static Call from(const tenon_call& raw) {
    return {read<Span<const std::int64_t>>(raw, 0, "batch"),
            read<std::int64_t>(raw, 1, "m"),
            read<std::int64_t>(raw, 2, "k"),
            read<std::int64_t>(raw, 3, "n"),
            read<ElementType>(raw, 4, "dtype")};
  }
};

}  // namespace tenon::contracts::matmul_fwd
