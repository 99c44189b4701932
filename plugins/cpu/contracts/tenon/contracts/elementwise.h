// Contracts of the elementwise interfaces, by hand until the build generates them: hash 0, so a
// host compares field by field.
#pragma once

#include <array>

#include "tenon/plugin.hpp"

namespace tenon::contracts::add_fwd {

inline constexpr tenon_dtype kDtypes[] = {{TENON_DTYPE_UINT, 8, 1},
                                          {TENON_DTYPE_INT, 8, 1},
                                          {TENON_DTYPE_INT, 16, 1},
                                          {TENON_DTYPE_INT, 32, 1},
                                          {TENON_DTYPE_INT, 64, 1},
                                          {TENON_DTYPE_FLOAT, 16, 1},
                                          {TENON_DTYPE_BFLOAT, 16, 1},
                                          {TENON_DTYPE_FLOAT, 32, 1},
                                          {TENON_DTYPE_FLOAT, 64, 1}};
inline constexpr tenon_field kFields[] = {{{"shape", 5}, TENON_VALUE_INTS, 0, nullptr, 0},
                                          {{"alpha", 5}, TENON_FIELD_NUMBER, 0, nullptr, 0},
                                          {{"dtype", 5}, TENON_VALUE_DTYPE, 0, nullptr, 0}};
inline constexpr tenon_arg kArgs[] = {
    {{"self", 4}, kDtypes, std::size(kDtypes), TENON_ROLE_IN, 0},
    {{"other", 5}, kDtypes, std::size(kDtypes), TENON_ROLE_IN, 0},
    {{"output", 6}, kDtypes, std::size(kDtypes), TENON_ROLE_OUT, 0}};
inline constexpr tenon_contract kContract{
    sizeof(tenon_contract), 0, kFields, std::size(kFields), kArgs, std::size(kArgs)};

struct Call {
  Span<const std::int64_t> shape{};
  Number alpha{};
  ElementType dtype{};
  static const tenon_contract& contract() { return kContract; }
  static Call from(const tenon_call& raw) {
    return {read<Span<const std::int64_t>>(raw, 0, "shape"),
            read<Number>(raw, 1, "alpha"),
            read<ElementType>(raw, 2, "dtype")};
  }
};

}  // namespace tenon::contracts::add_fwd

namespace tenon::contracts::mul_fwd {

inline constexpr tenon_dtype kDtypes[] = {{TENON_DTYPE_UINT, 8, 1},
                                          {TENON_DTYPE_INT, 8, 1},
                                          {TENON_DTYPE_INT, 16, 1},
                                          {TENON_DTYPE_INT, 32, 1},
                                          {TENON_DTYPE_INT, 64, 1},
                                          {TENON_DTYPE_FLOAT, 16, 1},
                                          {TENON_DTYPE_BFLOAT, 16, 1},
                                          {TENON_DTYPE_FLOAT, 32, 1},
                                          {TENON_DTYPE_FLOAT, 64, 1}};
inline constexpr tenon_field kFields[] = {{{"shape", 5}, TENON_VALUE_INTS, 0, nullptr, 0},
                                          {{"dtype", 5}, TENON_VALUE_DTYPE, 0, nullptr, 0}};
inline constexpr tenon_arg kArgs[] = {
    {{"self", 4}, kDtypes, std::size(kDtypes), TENON_ROLE_IN, 0},
    {{"other", 5}, kDtypes, std::size(kDtypes), TENON_ROLE_IN, 0},
    {{"output", 6}, kDtypes, std::size(kDtypes), TENON_ROLE_OUT, 0}};
inline constexpr tenon_contract kContract{
    sizeof(tenon_contract), 0, kFields, std::size(kFields), kArgs, std::size(kArgs)};

struct Call {
  Span<const std::int64_t> shape{};
  ElementType dtype{};
  static const tenon_contract& contract() { return kContract; }
  static Call from(const tenon_call& raw) {
    return {read<Span<const std::int64_t>>(raw, 0, "shape"), read<ElementType>(raw, 1, "dtype")};
  }
};

}  // namespace tenon::contracts::mul_fwd

namespace tenon::contracts::gelu_fwd {

inline constexpr tenon_dtype kDtypes[] = {{TENON_DTYPE_FLOAT, 16, 1},
                                          {TENON_DTYPE_BFLOAT, 16, 1},
                                          {TENON_DTYPE_FLOAT, 32, 1},
                                          {TENON_DTYPE_FLOAT, 64, 1}};
enum class Approximate { kNone, kTanh };
inline constexpr std::array<std::string_view, 2> kApproximateMembers{"none", "tanh"};
inline constexpr tenon_str kApproximateTexts[] = {{"none", 4}, {"tanh", 4}};
inline constexpr tenon_field kFields[] = {
    {{"shape", 5}, TENON_VALUE_INTS, 0, nullptr, 0},
    {{"approximate", 11}, TENON_FIELD_ENUM, 0, kApproximateTexts, 2},
    {{"dtype", 5}, TENON_VALUE_DTYPE, 0, nullptr, 0}};
inline constexpr tenon_arg kArgs[] = {
    {{"x", 1}, kDtypes, std::size(kDtypes), TENON_ROLE_IN, 0},
    {{"output", 6}, kDtypes, std::size(kDtypes), TENON_ROLE_OUT, 0}};
inline constexpr tenon_contract kContract{
    sizeof(tenon_contract), 0, kFields, std::size(kFields), kArgs, std::size(kArgs)};

struct Call {
  Span<const std::int64_t> shape{};
  Approximate approximate{};
  ElementType dtype{};
  static const tenon_contract& contract() { return kContract; }
  static Call from(const tenon_call& raw) {
    return {read<Span<const std::int64_t>>(raw, 0, "shape"),
            read_enum<Approximate>(raw, 1, "approximate", kApproximateMembers),
            read<ElementType>(raw, 2, "dtype")};
  }
};

}  // namespace tenon::contracts::gelu_fwd

namespace tenon::contracts::copy_fwd {

inline constexpr tenon_dtype kDtypes[] = {{TENON_DTYPE_BOOL, 8, 1},
                                          {TENON_DTYPE_UINT, 8, 1},
                                          {TENON_DTYPE_INT, 8, 1},
                                          {TENON_DTYPE_INT, 16, 1},
                                          {TENON_DTYPE_INT, 32, 1},
                                          {TENON_DTYPE_INT, 64, 1},
                                          {TENON_DTYPE_FLOAT, 16, 1},
                                          {TENON_DTYPE_BFLOAT, 16, 1},
                                          {TENON_DTYPE_FLOAT, 32, 1},
                                          {TENON_DTYPE_FLOAT, 64, 1},
                                          {TENON_DTYPE_FLOAT8_E4M3FN, 8, 1},
                                          {TENON_DTYPE_FLOAT8_E5M2, 8, 1},
                                          {TENON_DTYPE_COMPLEX, 64, 1},
                                          {TENON_DTYPE_COMPLEX, 128, 1}};
inline constexpr tenon_field kFields[] = {{{"shape", 5}, TENON_VALUE_INTS, 0, nullptr, 0},
                                          {{"dtype", 5}, TENON_VALUE_DTYPE, 0, nullptr, 0}};
inline constexpr tenon_arg kArgs[] = {
    {{"x", 1}, kDtypes, std::size(kDtypes), TENON_ROLE_IN, 0},
    {{"output", 6}, kDtypes, std::size(kDtypes), TENON_ROLE_OUT, 0}};
inline constexpr tenon_contract kContract{
    sizeof(tenon_contract), 0, kFields, std::size(kFields), kArgs, std::size(kArgs)};

struct Call {
  Span<const std::int64_t> shape{};
  ElementType dtype{};
  static const tenon_contract& contract() { return kContract; }
  static Call from(const tenon_call& raw) {
    return {read<Span<const std::int64_t>>(raw, 0, "shape"), read<ElementType>(raw, 1, "dtype")};
  }
};

}  // namespace tenon::contracts::copy_fwd
