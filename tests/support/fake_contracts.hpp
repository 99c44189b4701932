// Contracts of the interfaces that fakes serve, written by hand, so that the kit needs no generated
// header. Their hash is 0, which equals no interface's: a host compares them field by field, as
// with an older plugin.
#pragma once

#include "tenon/plugin.h"

namespace tenon::test {

constexpr tenon_str fake_str(const char* text) {
  std::uint64_t size_bytes = 0;
  while (text[size_bytes] != '\0') ++size_bytes;
  return tenon_str{text, size_bytes};
}

inline constexpr tenon_dtype kFakeArithmetic[] = {{TENON_DTYPE_UINT, 8, 1},
                                                  {TENON_DTYPE_INT, 8, 1},
                                                  {TENON_DTYPE_INT, 16, 1},
                                                  {TENON_DTYPE_INT, 32, 1},
                                                  {TENON_DTYPE_INT, 64, 1},
                                                  {TENON_DTYPE_FLOAT, 16, 1},
                                                  {TENON_DTYPE_BFLOAT, 16, 1},
                                                  {TENON_DTYPE_FLOAT, 32, 1},
                                                  {TENON_DTYPE_FLOAT, 64, 1}};
inline constexpr std::uint64_t kFakeArithmeticCount =
    sizeof(kFakeArithmetic) / sizeof(kFakeArithmetic[0]);

/// add_fwd: shape, alpha, dtype; self, other, output.
inline constexpr tenon_field kFakeAddFields[] = {
    {fake_str("shape"), TENON_VALUE_INTS, 0, nullptr, 0},
    {fake_str("alpha"), TENON_FIELD_NUMBER, 0, nullptr, 0},
    {fake_str("dtype"), TENON_VALUE_DTYPE, 0, nullptr, 0}};
inline constexpr tenon_arg kFakeAddArgs[] = {
    {fake_str("self"), kFakeArithmetic, kFakeArithmeticCount, TENON_ROLE_IN, 0},
    {fake_str("other"), kFakeArithmetic, kFakeArithmeticCount, TENON_ROLE_IN, 0},
    {fake_str("output"), kFakeArithmetic, kFakeArithmeticCount, TENON_ROLE_OUT, 0}};
inline constexpr tenon_contract kFakeAddContract{
    sizeof(tenon_contract), 0, kFakeAddFields, 3, kFakeAddArgs, 3};

/// copy_fwd: shape, dtype; x, output.
inline constexpr tenon_dtype kFakeCopyable[] = {{TENON_DTYPE_BOOL, 8, 1},
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
inline constexpr std::uint64_t kFakeCopyableCount =
    sizeof(kFakeCopyable) / sizeof(kFakeCopyable[0]);
inline constexpr tenon_field kFakeCopyFields[] = {
    {fake_str("shape"), TENON_VALUE_INTS, 0, nullptr, 0},
    {fake_str("dtype"), TENON_VALUE_DTYPE, 0, nullptr, 0}};
inline constexpr tenon_arg kFakeCopyArgs[] = {
    {fake_str("x"), kFakeCopyable, kFakeCopyableCount, TENON_ROLE_IN, 0},
    {fake_str("output"), kFakeCopyable, kFakeCopyableCount, TENON_ROLE_OUT, 0}};
inline constexpr tenon_contract kFakeCopyContract{
    sizeof(tenon_contract), 0, kFakeCopyFields, 2, kFakeCopyArgs, 2};

/// add_fwd as a plugin from before `alpha` would have it: the host's other fields are at their
/// defaults.
inline constexpr tenon_field kFakeOldAddFields[] = {
    {fake_str("shape"), TENON_VALUE_INTS, 0, nullptr, 0},
    {fake_str("dtype"), TENON_VALUE_DTYPE, 0, nullptr, 0}};
inline constexpr tenon_contract kFakeOldAddContract{
    sizeof(tenon_contract), 0, kFakeOldAddFields, 2, kFakeAddArgs, 3};

/// add_fwd with a field that no host has.
inline constexpr tenon_field kFakeForeignFields[] = {
    {fake_str("shape"), TENON_VALUE_INTS, 0, nullptr, 0},
    {fake_str("gamma"), TENON_VALUE_FLOAT, 0, nullptr, 0}};
inline constexpr tenon_contract kFakeForeignContract{
    sizeof(tenon_contract), 0, kFakeForeignFields, 2, kFakeAddArgs, 3};

}  // namespace tenon::test
