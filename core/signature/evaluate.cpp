// Evaluates expressions by walking the tree: the meaning of the language, which the compiled
// programs repeat faster.
#include "tenon/core/signature/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "tenon/core/signature/primitives.hpp"

namespace tenon::signature {

bool floor_div(std::int64_t a, std::int64_t b, std::int64_t& out) {
  if (b == 0 || (a == std::numeric_limits<std::int64_t>::min() && b == -1)) return false;
  out = a / b;
  if (a % b != 0 && (a < 0) != (b < 0)) --out;
  return true;
}

bool floor_mod(std::int64_t a, std::int64_t b, std::int64_t& out) {
  if (b == 0) return false;
  if (b == -1) {
    out = 0;
    return true;
  }
  out = a % b;
  if (out != 0 && (out < 0) != (b < 0)) out += b;
  return true;
}

namespace {

double as_real(const Cell& c) { return c.tag == Tag::kFloat ? c.f : static_cast<double>(c.i); }

std::string_view operator_text(Op op) {
  switch (op) {
    case Op::kAdd:
      return "+";
    case Op::kSub:
      return "-";
    case Op::kMul:
      return "*";
    case Op::kFloorDiv:
      return "//";
    default:
      return "%";
  }
}

bool int_arithmetic(Env& env, Op op, std::int64_t a, std::int64_t b, Cell& out) {
  std::int64_t v = 0;
  bool good = false;
  switch (op) {
    case Op::kAdd:
      good = !__builtin_add_overflow(a, b, &v);
      break;
    case Op::kSub:
      good = !__builtin_sub_overflow(a, b, &v);
      break;
    case Op::kMul:
      good = !__builtin_mul_overflow(a, b, &v);
      break;
    case Op::kFloorDiv:
      good = floor_div(a, b, v);
      break;
    default:
      good = floor_mod(a, b, v);
      break;
  }
  if (!good) {
    if (!env.explains()) return false;
    const bool by_zero = b == 0 && (op == Op::kFloorDiv || op == Op::kMod);
    return env.fail(fmt::format("{} {} {} {}",
                                a,
                                operator_text(op),
                                b,
                                by_zero ? "divides by zero" : "does not fit a 64-bit integer"));
  }
  out = Cell::integer(v);
  return true;
}

bool real_arithmetic(Env& env, Op op, double a, double b, Cell& out) {
  switch (op) {
    case Op::kAdd:
      out = Cell::real(a + b);
      return true;
    case Op::kSub:
      out = Cell::real(a - b);
      return true;
    case Op::kMul:
      out = Cell::real(a * b);
      return true;
    case Op::kFloorDiv:
      if (b == 0) return env.fail("floating-point division by zero");
      out = Cell::real(std::floor(a / b));
      return true;
    default: {
      if (b == 0) return env.fail("floating-point modulo by zero");
      double m = std::fmod(a, b);
      if (m != 0 && (m < 0) != (b < 0)) m += b;
      out = Cell::real(m);
      return true;
    }
  }
}

bool arithmetic(Env& env, Expr e, Op op, Cell& out) {
  Cell a;
  Cell b;
  if (!evaluate(env, env.pool->child(e, 0), a) || !evaluate(env, env.pool->child(e, 1), b))
    return false;
  if (!a.is_number() || !b.is_number()) {
    return env.explains() ? env.fail(fmt::format(
                                "{} {} {}: not numbers", print(a), operator_text(op), print(b)))
                          : false;
  }
  if (a.tag == Tag::kFloat || b.tag == Tag::kFloat)
    return real_arithmetic(env, op, as_real(a), as_real(b), out);
  return int_arithmetic(env, op, a.i, b.i, out);
}

bool negate(Env& env, Expr e, Cell& out) {
  Cell a;
  if (!evaluate(env, env.pool->child(e, 0), a)) return false;
  if (a.tag == Tag::kFloat) {
    out = Cell::real(-a.f);
    return true;
  }
  if (!a.is_number()) return env.fail("unary minus of something that is not a number");
  return int_arithmetic(env, Op::kSub, 0, a.i, out);
}

Order order_sequences(const Cell& a, const Cell& b, bool& comparable) {
  for (std::size_t i = 0; i < std::min(a.count, b.count); ++i) {
    const Cell x = a.item(i);
    const Cell y = b.item(i);
    if (equal(x, y)) continue;
    if (x.is_sequence() && y.is_sequence()) return order_sequences(x, y, comparable);
    comparable = comparable && x.is_number() && y.is_number();
    return comparable ? order_numbers(x, y) : Order::kUnordered;
  }
  if (a.count == b.count) return Order::kEqual;
  return a.count < b.count ? Order::kLess : Order::kGreater;
}

bool contains(const Cell& sequence, const Cell& item) {
  for (std::size_t i = 0; i < sequence.count; ++i) {
    if (equal(sequence.item(i), item)) return true;
  }
  return false;
}

bool ordered(Env& env, CompareOp op, const Cell& a, const Cell& b, bool& out) {
  bool comparable = true;
  Order order = Order::kUnordered;
  if (a.is_number() && b.is_number()) {
    order = order_numbers(a, b);
  } else if (a.is_sequence() && b.is_sequence()) {
    order = order_sequences(a, b, comparable);
  } else {
    comparable = false;
  }
  if (!comparable) {
    return env.explains() ? env.fail(fmt::format("{} and {} have no order", print(a), print(b)))
                          : false;
  }
  switch (op) {
    case CompareOp::kLt:
      out = order == Order::kLess;
      return true;
    case CompareOp::kLe:
      out = order == Order::kLess || order == Order::kEqual;
      return true;
    case CompareOp::kGt:
      out = order == Order::kGreater;
      return true;
    default:
      out = order == Order::kGreater || order == Order::kEqual;
      return true;
  }
}

bool compare_pair(Env& env, CompareOp op, const Cell& a, const Cell& b, bool& out) {
  switch (op) {
    case CompareOp::kEq:
      out = equal(a, b);
      return true;
    case CompareOp::kNe:
      out = !equal(a, b);
      return true;
    case CompareOp::kIn:
    case CompareOp::kNotIn:
      if (!b.is_sequence()) return env.fail("'in' needs a sequence on its right");
      out = contains(b, a) == (op == CompareOp::kIn);
      return true;
    default:
      return ordered(env, op, a, b, out);
  }
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

/// A sequence out of `count` cells in the arena; ints are kept dense.
Cell sequence_of(Env& env, const Cell* items, std::size_t count) {
  const bool all_ints =
      std::all_of(items, items + count, [](const Cell& c) { return c.tag == Tag::kInt; });
  Cell out;
  if (all_ints) {
    std::int64_t* memory = env.arena->ints(count);
    for (std::size_t i = 0; i < count; ++i) memory[i] = items[i].i;
    out = Cell::int_list(memory, count);
  } else {
    out = Cell::list(items, count);
  }
  out.is_tuple = true;
  return out;
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
  if (!sequence.is_sequence() || index.tag != Tag::kInt)
    return env.fail("a subscript needs a sequence and an integer");
  const auto count = static_cast<std::int64_t>(sequence.count);
  const std::int64_t at = index.i < 0 && index.i >= -count ? index.i + count : index.i;
  if (at < 0 || at >= count) {
    return env.explains() ? env.fail(fmt::format("index {} is out of range for {} of {} items",
                                                 index.i,
                                                 print(sequence),
                                                 count))
                          : false;
  }
  out = sequence.item(static_cast<std::size_t>(at));
  return true;
}

/// Python's clamping of one slice bound.
std::int64_t clamp_bound(std::int64_t v, std::int64_t count, bool backwards) {
  if (v < 0) {
    v = v < -count ? -1 : v + count;
    return v < 0 ? (backwards ? -1 : 0) : v;
  }
  if (v >= count) return backwards ? count - 1 : count;
  return v;
}

bool slice_bound(Env& env, Expr e, std::int64_t& value, bool& given) {
  given = env.pool->at(e).op != Op::kAbsent;
  if (!given) return true;
  Cell cell;
  if (!evaluate(env, e, cell)) return false;
  given = cell.tag != Tag::kNone;
  if (!given) return true;
  if (cell.tag != Tag::kInt) return env.fail("slice bounds are integers");
  value = cell.i;
  return true;
}

bool slice(Env& env, Expr e, Cell& out) {
  Cell sequence;
  std::int64_t start = 0;
  std::int64_t stop = 0;
  std::int64_t step = 1;
  bool has_start = false;
  bool has_stop = false;
  bool has_step = false;
  if (!evaluate(env, env.pool->child(e, 0), sequence) ||
      !slice_bound(env, env.pool->child(e, 1), start, has_start) ||
      !slice_bound(env, env.pool->child(e, 2), stop, has_stop) ||
      !slice_bound(env, env.pool->child(e, 3), step, has_step)) {
    return false;
  }
  if (!sequence.is_sequence()) return env.fail("only a sequence can be sliced");
  if (step == 0) return env.fail("the step of a slice is zero");
  const auto count = static_cast<std::int64_t>(sequence.count);
  const bool backwards = step < 0;
  start = has_start ? clamp_bound(start, count, backwards) : (backwards ? count - 1 : 0);
  stop = has_stop ? clamp_bound(stop, count, backwards) : (backwards ? -1 : count);
  if (step == 1) {  // a part of what is there
    const auto length = static_cast<std::size_t>(std::max<std::int64_t>(stop - start, 0));
    out = sequence;
    out.count = static_cast<std::uint32_t>(length);
    if (length == 0) return true;
    if (sequence.tag == Tag::kInts) {
      out.ints = sequence.ints + start;
    } else {
      out.cells = sequence.cells + start;
    }
    return true;
  }
  Cell* items = env.arena->cells(sequence.count);
  std::size_t taken = 0;
  // A step beyond the sequence takes one item at most, so clamping it keeps `at` from overflowing.
  step = std::clamp(step, -count - 1, count + 1);
  for (std::int64_t at = start; backwards ? at > stop : at < stop; at += step) {
    items[taken++] = sequence.item(static_cast<std::size_t>(at));
  }
  out = sequence_of(env, items, taken);
  return true;
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
  if (!evaluate(env, env.pool->child(e, 0), adt)) return false;
  const std::string& name = env.pool->text(e);
  if (adt.tag != Tag::kAdt)
    return env.explains() ? env.fail(fmt::format("'.{}' of a value that is absent", name)) : false;
  for (std::size_t i = 1; i + 1 < adt.count; i += 2) {
    if (adt.cells[i].str() == name) {
      out = adt.cells[i + 1];
      return true;
    }
  }
  return env.explains()
             ? env.fail(fmt::format("constructor '{}' has no field '{}'", adt.cells[0].str(), name))
             : false;
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
  const Primitive& row = primitives()[static_cast<std::size_t>(n.value)];
  if (row.run(env, {arguments, n.count}, out)) return true;
  if (env.explains() && env.error->find(row.name) != 0)
    *env.error = fmt::format("{}: {}", row.name, *env.error);
  return false;
}

bool payload_or_kind(Env& env, Expr e, Op op, Cell& out) {
  if (!evaluate(env, env.pool->child(e, 0), out)) return false;
  if (op == Op::kPayload)
    return out.tag != Tag::kNone || env.fail("'.value' of a parameter that is None");
  if (out.tag != Tag::kAdt) return env.fail("'.kind' of a value that is absent");
  out = out.cells[0];
  return true;
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
