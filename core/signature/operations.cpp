// Operators of the language on values: Python's, checked. What the tree and the programs share.
#include "signature/operations.hpp"

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

}  // namespace

bool arithmetic(Env& env, Op op, const Cell& a, const Cell& b, Cell& out) {
  if (!a.is_number() || !b.is_number()) {
    return env.explains() ? env.fail(fmt::format(
                                "{} {} {}: not numbers", print(a), operator_text(op), print(b)))
                          : false;
  }
  if (a.tag == Tag::kFloat || b.tag == Tag::kFloat)
    return real_arithmetic(env, op, as_real(a), as_real(b), out);
  return int_arithmetic(env, op, a.i, b.i, out);
}

bool negate(Env& env, const Cell& a, Cell& out) {
  if (a.tag == Tag::kFloat) {
    out = Cell::real(-a.f);
    return true;
  }
  if (!a.is_number()) return env.fail("unary minus of something that is not a number");
  return int_arithmetic(env, Op::kSub, 0, a.i, out);
}

namespace {

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

}  // namespace

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

bool subscript(Env& env, const Cell& sequence, const Cell& index, Cell& out) {
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

namespace {

/// Python's clamping of one slice bound.
std::int64_t clamp_bound(std::int64_t v, std::int64_t count, bool backwards) {
  if (v < 0) {
    v = v < -count ? -1 : v + count;
    return v < 0 ? (backwards ? -1 : 0) : v;
  }
  if (v >= count) return backwards ? count - 1 : count;
  return v;
}

bool slice_bound(Env& env, const Cell& cell, std::int64_t& value, bool& given) {
  given = cell.tag != Tag::kUnset && cell.tag != Tag::kNone;
  if (!given) return true;
  if (cell.tag != Tag::kInt) return env.fail("slice bounds are integers");
  value = cell.i;
  return true;
}

}  // namespace

bool slice(Env& env, const Cell& sequence, std::span<const Cell, 3> bounds, Cell& out) {
  std::int64_t start = 0;
  std::int64_t stop = 0;
  std::int64_t step = 1;
  bool has_start = false;
  bool has_stop = false;
  bool has_step = false;
  if (!slice_bound(env, bounds[0], start, has_start) ||
      !slice_bound(env, bounds[1], stop, has_stop) ||
      !slice_bound(env, bounds[2], step, has_step)) {
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

bool field_of(Env& env, const Cell& adt, std::string_view name, Cell& out) {
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

bool kind_of(Env& env, const Cell& adt, Cell& out) {
  if (adt.tag != Tag::kAdt) return env.fail("'.kind' of a value that is absent");
  out = adt.cells[0];
  return true;
}

bool payload_of(Env& env, const Cell& maybe, Cell& out) {
  out = maybe;
  return maybe.tag != Tag::kNone || env.fail("'.value' of a parameter that is None");
}

bool run_primitive(Env& env, std::size_t number, std::span<const Cell> arguments, Cell& out) {
  const Primitive& row = primitives()[number];
  if (row.run(env, arguments, out)) return true;
  if (env.explains() && env.error->find(row.name) != 0)
    *env.error = fmt::format("{}: {}", row.name, *env.error);
  return false;
}

}  // namespace tenon::signature
