// Evaluation of expressions over cells: laziness, checked arithmetic, errors without exceptions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "tenon/core/signature/cell.hpp"
#include "tenon/core/signature/expr.hpp"

namespace tenon::signature {

/// Comprehensions nest at most this deep.
inline constexpr std::size_t kMaxBound = 8;

/// What an expression is evaluated in. Where `error` is null a failure is reported by `false`
/// alone, and nothing is allocated beside the arena.
struct Env {
  const Pool* pool = nullptr;
  /// By symbol number; kUnset: unknown.
  std::span<const Cell> symbols = {};
  /// By symbol number: 1 present, 0 absent, -1 unknown. May be empty where presence is folded.
  std::span<const std::int8_t> presence = {};
  /// By number, for expressions over formals: a call's fields, a constructor's fields.
  std::span<const Cell> formals = {};
  Arena* arena = nullptr;
  std::string* error = nullptr;
  /// Bytes of tensors, by symbol number; only the roofline reads them.
  std::span<const std::int64_t> tensor_bytes = {};
  std::span<const std::string> symbol_names = {};
  std::array<Cell, kMaxBound> bound = {};

  /// Records why there is no value; returns false.
  bool fail(std::string_view text) {
    if (error != nullptr && error->empty()) error->assign(text);
    return false;
  }
  /// True where messages are wanted, so that building one is worth its cost.
  [[nodiscard]] bool explains() const { return error != nullptr; }
};

/// The value of an expression; false where it has none (a zero divisor, an overflow, an unknown
/// name).
[[nodiscard]] bool evaluate(Env& env, Expr e, Cell& out);
/// The same for a Bool: false in `ok` where it has no value.
[[nodiscard]] bool evaluate_bool(Env& env, Expr e, bool& out);

/// Python's floor division and modulo, checked.
[[nodiscard]] bool floor_div(std::int64_t a, std::int64_t b, std::int64_t& out);
[[nodiscard]] bool floor_mod(std::int64_t a, std::int64_t b, std::int64_t& out);

}  // namespace tenon::signature
