// Operators of the language on values: Python's, checked. A failure is told by `false`, and by
// Env::error where that is wanted.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "tenon/core/signature/evaluate.hpp"

namespace tenon::signature {

[[nodiscard]] bool arithmetic(Env& env, Op op, const Cell& a, const Cell& b, Cell& out);
[[nodiscard]] bool negate(Env& env, const Cell& a, Cell& out);
/// One link of a chain of comparisons.
[[nodiscard]] bool compare_pair(Env& env, CompareOp op, const Cell& a, const Cell& b, bool& out);
/// A sequence of these cells, which it borrows, or in the arena where they are all ints.
[[nodiscard]] Cell sequence_of(Env& env, const Cell* items, std::size_t count);
[[nodiscard]] bool subscript(Env& env, const Cell& sequence, const Cell& index, Cell& out);
/// `bounds`: start, stop, step; unset or None where not given.
[[nodiscard]] bool slice(Env& env,
                         const Cell& sequence,
                         std::span<const Cell, 3> bounds,
                         Cell& out);
[[nodiscard]] bool field_of(Env& env, const Cell& adt, std::string_view name, Cell& out);
[[nodiscard]] bool kind_of(Env& env, const Cell& adt, Cell& out);
[[nodiscard]] bool payload_of(Env& env, const Cell& maybe, Cell& out);
/// A primitive by its number in the table; arguments in formal order, unset where not given.
[[nodiscard]] bool run_primitive(Env& env,
                                 std::size_t number,
                                 std::span<const Cell> arguments,
                                 Cell& out);

}  // namespace tenon::signature
