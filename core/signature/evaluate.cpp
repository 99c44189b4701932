// Evaluates expressions by walking the tree: the meaning of the language, which the compiled
// programs repeat faster.
#include "tenon/core/signature/evaluate.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "signature/operations.hpp"

namespace tenon::signature {
namespace {

bool arithmetic(Env& env, Expr e, Op op, Cell& out) {
  Cell a;
  Cell b;
  if (!evaluate(env, env.pool->child(e, 0), a) || !evaluate(env, env.pool->child(e, 1), b))
    return false;
  return arithmetic(env, op, a, b, out);
}

bool negate(Env& env, Expr e, Cell& out) {
  Cell a;
  return evaluate(env, env.pool->child(e, 0), a) && negate(env, a, out);
}

bool compare(Env& env, Expr e, Cell& out) {
  Cell left;
  if (!evaluate(env, env.pool->child(e, 0), left)) return false;
  const std::size_t count = env.pool->at(e).count;
  for (std::size_t i = 1; i < count; ++i) {
    Cell right;
    bool holds = false;
    if (!evaluate(env, env.pool->child(e, i), right)) return false;
    if (!compare_pair(env, env.pool->compare_op(e, i - 1), left, right, holds)) return false;
    if (!holds) {
      out = Cell::boolean(false);
      return true;
    }
    left = right;
  }
  out = Cell::boolean(true);
  return true;
}

bool logic(Env& env, Expr e, bool stop_at, Cell& out) {
  for (std::size_t i = 0; i < env.pool->at(e).count; ++i) {
    bool value = false;
    if (!evaluate_bool(env, env.pool->child(e, i), value)) return false;
    if (value == stop_at) {
      out = Cell::boolean(stop_at);
      return true;
    }
  }
  out = Cell::boolean(!stop_at);
  return true;
}

bool tuple(Env& env, Expr e, Cell& out) {
  const std::size_t count = env.pool->at(e).count;
  Cell* items = env.arena->cells(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!evaluate(env, env.pool->child(e, i), items[i])) return false;
  }
  out = sequence_of(env, items, count);
  return true;
}

bool subscript(Env& env, Expr e, Cell& out) {
  Cell sequence;
  Cell index;
  if (!evaluate(env, env.pool->child(e, 0), sequence) ||
      !evaluate(env, env.pool->child(e, 1), index))
    return false;
  return subscript(env, sequence, index, out);
}

bool slice(Env& env, Expr e, Cell& out) {
  Cell sequence;
  std::array<Cell, 3> bounds;
  if (!evaluate(env, env.pool->child(e, 0), sequence)) return false;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const Expr bound = env.pool->child(e, i + 1);
    if (env.pool->at(bound).op != Op::kAbsent && !evaluate(env, bound, bounds[i])) return false;
  }
  return slice(env, sequence, bounds, out);
}

bool each(Env& env, Expr e, Cell& out) {
  const auto depth = static_cast<std::size_t>(env.pool->at(e).value);
  Cell source;
  if (!evaluate(env, env.pool->child(e, 1), source)) return false;
  if (!source.is_sequence()) return env.fail("a comprehension runs over a sequence");
  Cell* items = env.arena->cells(source.count);
  const Cell kept = env.bound[depth];
  for (std::size_t i = 0; i < source.count; ++i) {
    env.bound[depth] = source.item(i);
    if (!evaluate(env, env.pool->child(e, 0), items[i])) return false;
  }
  env.bound[depth] = kept;
  out = sequence_of(env, items, source.count);
  return true;
}

bool field(Env& env, Expr e, Cell& out) {
  Cell adt;
  return evaluate(env, env.pool->child(e, 0), adt) && field_of(env, adt, env.pool->text(e), out);
}

bool symbol(Env& env, Expr e, Cell& out) {
  const auto index = static_cast<std::size_t>(env.pool->at(e).value);
  if (index < env.symbols.size() && env.symbols[index].tag != Tag::kUnset) {
    out = env.symbols[index];
    return true;
  }
  if (!env.explains()) return false;
  return env.fail(index < env.symbol_names.size()
                      ? fmt::format("'{}' is not known here", env.symbol_names[index])
                      : std::string("a name is not known here"));
}

bool formal(Env& env, const Node& n, Cell& out) {
  const auto index = static_cast<std::size_t>(n.value);
  if (index >= env.formals.size() || env.formals[index].tag == Tag::kUnset)
    return env.fail("a name is not known here");
  out = env.formals[index];
  return true;
}

bool present(Env& env, Expr e, Cell& out) {
  const auto index = static_cast<std::size_t>(env.pool->at(env.pool->child(e, 0)).value);
  if (index >= env.presence.size() || env.presence[index] < 0)
    return env.fail("a presence is not known here");
  out = Cell::boolean(env.presence[index] != 0);
  return true;
}

bool bytes(Env& env, Expr e, Cell& out) {
  const auto index = static_cast<std::size_t>(env.pool->at(env.pool->child(e, 0)).value);
  if (index >= env.tensor_bytes.size() || env.tensor_bytes[index] < 0) {
    return env.fail("the size of a tensor is not known here");
  }
  out = Cell::integer(env.tensor_bytes[index]);
  return true;
}

bool primitive(Env& env, Expr e, Cell& out) {
  const Node& n = env.pool->at(e);
  Cell* arguments = env.arena->cells(n.count);
  for (std::size_t i = 0; i < n.count; ++i) {
    const Expr kid = env.pool->child(e, i);
    if (env.pool->at(kid).op != Op::kAbsent && !evaluate(env, kid, arguments[i])) return false;
  }
  return run_primitive(env, static_cast<std::size_t>(n.value), {arguments, n.count}, out);
}

bool payload_or_kind(Env& env, Expr e, Op op, Cell& out) {
  Cell whole;
  if (!evaluate(env, env.pool->child(e, 0), whole)) return false;
  return op == Op::kPayload ? payload_of(env, whole, out) : kind_of(env, whole, out);
}

/// Axes of a shape, splices included, as one sequence.
bool list(Env& env, Expr e, Cell& out) {
  std::size_t used = 0;
  std::int64_t* sizes = env.arena->ints(256);
  for (std::size_t i = 0; i < env.pool->at(e).count; ++i) {
    const Expr kid = env.pool->child(e, i);
    const bool splice = env.pool->at(kid).op == Op::kSplice;
    Cell cell;
    if (!evaluate(env, splice ? env.pool->child(kid, 0) : kid, cell)) return false;
    const std::size_t count = splice ? cell.count : 1;
    if (splice ? cell.tag != Tag::kInts : cell.tag != Tag::kInt)
      return env.fail("an axis is not an integer");
    if (used + count > 256) return env.fail("a shape has too many axes");
    for (std::size_t k = 0; k < count; ++k) sizes[used++] = splice ? cell.ints[k] : cell.i;
  }
  out = Cell::int_list(sizes, used);
  out.is_tuple = true;
  return true;
}

}  // namespace

bool evaluate_bool(Env& env, Expr e, bool& out) {
  Cell cell;
  if (!evaluate(env, e, cell)) return false;
  if (cell.tag != Tag::kBool) return env.fail("a truth value is needed");
  out = cell.i != 0;
  return true;
}

bool evaluate(Env& env, Expr e, Cell& out) {
  const Node& n = env.pool->at(e);
  switch (n.op) {
    case Op::kNone:
      out = Cell::none();
      return true;
    case Op::kBool:
      out = Cell::boolean(n.value != 0);
      return true;
    case Op::kInt:
      out = Cell::integer(n.value);
      return true;
    case Op::kFloat:
      out = Cell::real(n.number);
      return true;
    case Op::kString:
      out = Cell::string(env.pool->text(e));
      return true;
    case Op::kTuple:
      return tuple(env, e, out);
    case Op::kSymbol:
      return symbol(env, e, out);
    case Op::kFormal:
      return formal(env, n, out);
    case Op::kBound:
      out = env.bound[static_cast<std::size_t>(n.value)];
      return true;
    case Op::kPayload:
    case Op::kKind:
      return payload_or_kind(env, e, n.op, out);
    case Op::kField:
      return field(env, e, out);
    case Op::kPresent:
      return present(env, e, out);
    case Op::kBytes:
      return bytes(env, e, out);
    case Op::kPrimitive:
      return primitive(env, e, out);
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kFloorDiv:
    case Op::kMod:
      return arithmetic(env, e, n.op, out);
    case Op::kNeg:
      return negate(env, e, out);
    case Op::kCompare:
      return compare(env, e, out);
    case Op::kAnd:
      return logic(env, e, false, out);
    case Op::kOr:
      return logic(env, e, true, out);
    case Op::kNot: {
      bool value = false;
      if (!evaluate_bool(env, env.pool->child(e, 0), value)) return false;
      out = Cell::boolean(!value);
      return true;
    }
    case Op::kCond: {
      bool test = false;
      if (!evaluate_bool(env, env.pool->child(e, 0), test)) return false;
      return evaluate(env, env.pool->child(e, test ? 1 : 2), out);
    }
    case Op::kSubscript:
      return subscript(env, e, out);
    case Op::kSlice:
      return slice(env, e, out);
    case Op::kEach:
      return each(env, e, out);
    case Op::kList:
      return list(env, e, out);
    default:
      return env.fail("an expression that was not resolved");
  }
}

}  // namespace tenon::signature
