// Interval evaluation of expressions.
#include "signature/ranges.hpp"

#include <algorithm>
#include <limits>

#include "tenon/core/signature/primitives.hpp"

namespace tenon::signature {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
__extension__ using Wide = __int128;  // products of two 64-bit ends

std::int64_t clamped(Wide v) {
  if (v < kLeast) return kLeast;
  return v > kMost ? kMost : static_cast<std::int64_t>(v);
}

SizeRange corners(Wide a, Wide b, Wide c, Wide d) {
  return {clamped(std::min(std::min(a, b), std::min(c, d))),
          clamped(std::max(std::max(a, b), std::max(c, d)))};
}

std::int64_t floor_of(std::int64_t a, std::int64_t b) {
  std::int64_t v = 0;
  return floor_div(a, b, v) ? v : kMost;
}

/// A comparison of two intervals, where it is decided.
std::optional<bool> decided(CompareOp op, SizeRange a, SizeRange b) {
  switch (op) {
    case CompareOp::kLt:
      return a.high < b.low    ? std::optional(true)
             : a.low >= b.high ? std::optional(false)
                               : std::nullopt;
    case CompareOp::kLe:
      return a.high <= b.low  ? std::optional(true)
             : a.low > b.high ? std::optional(false)
                              : std::nullopt;
    case CompareOp::kGt:
      return decided(CompareOp::kLt, b, a);
    case CompareOp::kGe:
      return decided(CompareOp::kLe, b, a);
    case CompareOp::kEq:
      if (a.high < b.low || b.high < a.low) return false;
      return a.low == a.high && b.low == b.high ? std::optional(true) : std::nullopt;
    case CompareOp::kNe: {
      const auto same = decided(CompareOp::kEq, a, b);
      return same ? std::optional(!*same) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

SizeRange hull(SizeRange a, SizeRange b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

Ranged Ranged::of(const Cell& cell) {
  if (cell.tag == Tag::kUnset) return unknown();
  Ranged r = with(Kind::kExact);
  r.exact = cell;
  return r;
}
Ranged Ranged::of(SizeRange range) {
  if (range.low == range.high) return of(Cell::integer(range.low));
  Ranged r = with(Kind::kInterval);
  r.interval = range;
  return r;
}
Ranged Ranged::of(std::vector<SizeRange> sizes) {
  Ranged r = with(Kind::kSizes);
  r.sizes = std::move(sizes);
  return r;
}
std::optional<SizeRange> Ranged::as_interval() const {
  if (kind == Kind::kInterval) return interval;
  if (kind == Kind::kExact && exact.tag == Tag::kInt) return SizeRange{exact.i, exact.i};
  return std::nullopt;
}
std::optional<std::vector<SizeRange>> Ranged::as_sizes() const {
  if (kind == Kind::kSizes) return sizes;
  if (kind != Kind::kExact || !exact.is_sequence()) return std::nullopt;
  std::vector<SizeRange> out;
  for (std::size_t i = 0; i < exact.count; ++i) {
    const Cell item = exact.item(i);
    if (item.tag != Tag::kInt) return std::nullopt;
    out.push_back({item.i, item.i});
  }
  return out;
}
std::optional<bool> Ranged::as_bool() const {
  if (kind == Kind::kExact && exact.tag == Tag::kBool) return exact.i != 0;
  return std::nullopt;
}

namespace {

bool fits(Wide v) { return v >= kLeast && v <= kMost; }

/// True where every value of an addition, subtraction or product fits 64 bits.
bool fits(Op op, SizeRange a, SizeRange b) {
  const auto wide = [](std::int64_t v) { return static_cast<Wide>(v); };
  if (op == Op::kAdd) return fits(wide(a.low) + b.low) && fits(wide(a.high) + b.high);
  if (op == Op::kSub) return fits(wide(a.low) - b.high) && fits(wide(a.high) - b.low);
  if (op != Op::kMul) return true;
  return fits(wide(a.low) * b.low) && fits(wide(a.low) * b.high) && fits(wide(a.high) * b.low) &&
         fits(wide(a.high) * b.high);
}

/// Primitives that have a value whatever ints they are given.
bool is_total(std::string_view name) {
  static constexpr std::string_view kTotal[] = {
      "len", "all", "valid_axes", "category", "representable", "promote_int_to_float"};
  return std::find(std::begin(kTotal), std::end(kTotal), name) != std::end(kTotal);
}

}  // namespace

void RangeEvaluator::leave_open(Expr e) {
  if (std::find(open_.begin(), open_.end(), e) == open_.end()) open_.push_back(e);
}

Ranged RangeEvaluator::arithmetic(Op op, const Ranged& left, const Ranged& right) {
  const auto a = left.as_interval();
  const auto b = right.as_interval();
  overflowed_ = false;
  if (!a || !b) return Ranged::unknown();
  overflowed_ = !fits(op, *a, *b);
  const auto wide = [](std::int64_t v) { return static_cast<Wide>(v); };
  switch (op) {
    case Op::kAdd:
      return Ranged::of(
          SizeRange{clamped(wide(a->low) + b->low), clamped(wide(a->high) + b->high)});
    case Op::kSub:
      return Ranged::of(
          SizeRange{clamped(wide(a->low) - b->high), clamped(wide(a->high) - b->low)});
    case Op::kMul:
      return Ranged::of(corners(wide(a->low) * b->low,
                                wide(a->low) * b->high,
                                wide(a->high) * b->low,
                                wide(a->high) * b->high));
    default:
      break;
  }
  // Where the divisor is 0 there is no value: what is told holds for the others.
  const std::int64_t least = b->low == 0 && b->high > 0 ? 1 : b->low;
  if (least <= 0) return Ranged::of(SizeRange{kLeast, kMost});
  if (op == Op::kFloorDiv)
    return Ranged::of(corners(floor_of(a->low, least),
                              floor_of(a->low, b->high),
                              floor_of(a->high, least),
                              floor_of(a->high, b->high)));
  if (a->low >= 0 && a->high < least) return left;
  return Ranged::of(SizeRange{0, b->high - 1});
}

/// An operation all of whose operands are exact: the one evaluator does it.
Ranged RangeEvaluator::exact(Expr e, const std::vector<Ranged>& kids) {
  Pool pool;
  std::vector<Cell> cells;
  std::vector<Expr> names;
  for (std::size_t i = 0; i < kids.size(); ++i) {
    cells.push_back(kids[i].exact);
    const bool absent = pool_.at(pool_.child(e, i)).op == Op::kAbsent;
    names.push_back(absent ? pool.add(Op::kAbsent, 0)
                           : pool.add(Op::kSymbol, 0, {}, static_cast<std::int64_t>(i)));
  }
  Node node = pool_.at(e);
  if (node.op == Op::kField) node.value = pool.intern(pool_.text(e));
  const Expr root = pool.add(node, names);
  Env env;
  env.pool = &pool;
  env.symbols = cells;
  env.arena = &arena_;
  std::string text;
  env.error = &text;
  Cell out;
  if (tenon::signature::evaluate(env, root, out)) return Ranged::of(out);
  if (failure_.empty()) failure_ = text;
  return Ranged::unknown();
}

namespace {

/// A comparison of two values that are known; nothing where they have no order.
std::optional<bool> decided_exact(CompareOp op, const Ranged& left, const Ranged& right) {
  const auto a = left.as_interval();
  const auto b = right.as_interval();
  if (a && b && op < CompareOp::kIn) {
    if (const auto one = decided(op, *a, *b)) return one;
  }
  const bool same = equal(left.exact, right.exact);
  if (op == CompareOp::kEq) return same;
  if (op == CompareOp::kNe) return !same;
  const bool membership = op == CompareOp::kIn || op == CompareOp::kNotIn;
  if (!membership || !right.exact.is_sequence()) return std::nullopt;
  bool found = false;
  for (std::size_t k = 0; k < right.exact.count; ++k)
    found = found || equal(right.exact.item(k), left.exact);
  return found == (op == CompareOp::kIn);
}

/// Whether two sequences of sizes are the same, where it is decided.
std::optional<bool> same_sizes(const std::vector<SizeRange>& x, const std::vector<SizeRange>& y) {
  std::optional<bool> same = x.size() == y.size();
  for (std::size_t k = 0; k < std::min(x.size(), y.size()) && same != false; ++k) {
    const auto item = decided(CompareOp::kEq, x[k], y[k]);
    same = item == false ? item : item && same ? same : std::nullopt;
  }
  return same;
}

/// A comparison of two values, where it is decided.
std::optional<bool> decided(CompareOp op, const Ranged& left, const Ranged& right) {
  if (left.is_exact() && right.is_exact()) return decided_exact(op, left, right);
  if (const auto a = left.as_interval(), b = right.as_interval(); a && b)
    return decided(op, *a, *b);
  if (op != CompareOp::kEq && op != CompareOp::kNe) return std::nullopt;
  const auto x = left.as_sizes();
  const auto y = right.as_sizes();
  if (!x || !y) return std::nullopt;
  const std::optional<bool> same = same_sizes(*x, *y);
  return same ? std::optional(*same == (op == CompareOp::kEq)) : std::nullopt;
}

}  // namespace

Ranged RangeEvaluator::compare(Expr e) {
  std::optional<bool> all = true;
  Ranged left = evaluate(pool_.child(e, 0));
  for (std::size_t i = 1; i < pool_.at(e).count; ++i) {
    Ranged right = evaluate(pool_.child(e, i));
    const CompareOp op = pool_.compare_op(e, i - 1);
    const std::optional<bool> one = decided(op, left, right);
    if (one == false) return Ranged::of(Cell::boolean(false));
    if (!one) all = std::nullopt;
    left = std::move(right);
  }
  return all ? Ranged::of(Cell::boolean(true)) : Ranged::open_bool();
}

Ranged RangeEvaluator::tentative(Expr e, Expr whole) {
  const std::string kept = failure_;
  const std::size_t open_count = open_.size();
  Ranged result = evaluate(e);
  const bool open = failure_ != kept || open_.size() != open_count;
  failure_ = kept;
  open_.resize(open_count);
  if (open) leave_open(whole);
  return result;
}

Ranged RangeEvaluator::logic(Expr e, bool decides) {
  bool open = false;
  for (const Expr kid : pool_.children(e)) {
    // What follows an open operand may never be reached: it cannot fail the call.
    const auto value = (open ? tentative(kid, e) : evaluate(kid)).as_bool();
    if (value == decides) return Ranged::of(Cell::boolean(decides));
    open = open || !value;
  }
  return open ? Ranged::open_bool() : Ranged::of(Cell::boolean(!decides));
}

Ranged RangeEvaluator::conditional(Expr e) {
  const auto test = evaluate(pool_.child(e, 0)).as_bool();
  if (test) return evaluate(pool_.child(e, *test ? 1 : 2));
  const Ranged a = tentative(pool_.child(e, 1), e);
  const Ranged b = tentative(pool_.child(e, 2), e);
  if (const auto x = a.as_interval(), y = b.as_interval(); x && y) return Ranged::of(hull(*x, *y));
  const auto x = a.as_sizes();
  const auto y = b.as_sizes();
  if (!x || !y || x->size() != y->size()) return Ranged::unknown();
  std::vector<SizeRange> both;
  for (std::size_t i = 0; i < x->size(); ++i) both.push_back(hull((*x)[i], (*y)[i]));
  return Ranged::of(std::move(both));
}

Ranged RangeEvaluator::subscript(Expr e) {
  const Ranged sequence = evaluate(pool_.child(e, 0));
  const Ranged index = evaluate(pool_.child(e, 1));
  if (sequence.is_exact() && index.is_exact()) return exact(e, {sequence, index});
  const auto sizes = sequence.as_sizes();
  const auto at = index.as_interval();
  if (!sizes || !at || at->low != at->high) {
    leave_open(e);
    if (!sizes || sizes->empty()) return Ranged::unknown();
    SizeRange any = sizes->front();
    for (const SizeRange size : *sizes) any = hull(any, size);
    return Ranged::of(any);
  }
  const auto count = static_cast<std::int64_t>(sizes->size());
  const std::int64_t wrapped = at->low < 0 ? at->low + count : at->low;
  if (wrapped < 0 || wrapped >= count) {
    if (failure_.empty()) failure_ = "an index is out of range";
    return Ranged::unknown();
  }
  return Ranged::of((*sizes)[static_cast<std::size_t>(wrapped)]);
}

/// Slices positions instead of sizes, so that Python's rules stand in one place.
Ranged RangeEvaluator::slice(Expr e) {
  std::vector<Ranged> kids;
  for (const Expr kid : pool_.children(e))
    kids.push_back(pool_.at(kid).op == Op::kAbsent ? Ranged::of(Cell::none()) : evaluate(kid));
  const auto sizes = kids[0].as_sizes();
  if (!sizes) return Ranged::unknown();
  for (std::size_t i = 1; i < kids.size(); ++i) {
    if (!kids[i].is_exact()) return Ranged::unknown();
  }
  std::int64_t* places = arena_.ints(sizes->size());
  for (std::size_t i = 0; i < sizes->size(); ++i) places[i] = static_cast<std::int64_t>(i);
  kids[0] = Ranged::of(Cell::int_list(places, sizes->size()));
  const Ranged taken = exact(e, kids);
  if (!taken.is_exact()) return Ranged::unknown();
  std::vector<SizeRange> out;
  for (std::size_t i = 0; i < taken.exact.count; ++i)
    out.push_back((*sizes)[static_cast<std::size_t>(taken.exact.item(i).i)]);
  return Ranged::of(std::move(out));
}

/// Items as one value: exact where all are, sizes where all are ints.
Ranged RangeEvaluator::gather(const std::vector<Ranged>& items) {
  if (std::all_of(items.begin(), items.end(), [](const Ranged& r) { return r.is_exact(); })) {
    Cell* cells = arena_.cells(items.size());
    bool ints = true;
    for (std::size_t i = 0; i < items.size(); ++i) {
      cells[i] = items[i].exact;
      ints = ints && cells[i].tag == Tag::kInt;
    }
    if (!ints) return Ranged::of(Cell::list(cells, items.size()));
  }
  std::vector<SizeRange> sizes;
  for (const Ranged& item : items) {
    const auto range = item.as_interval();
    if (!range) return Ranged::unknown();
    sizes.push_back(*range);
  }
  const bool known =
      std::all_of(sizes.begin(), sizes.end(), [](SizeRange r) { return r.low == r.high; });
  if (!known) return Ranged::of(std::move(sizes));
  std::int64_t* ints = arena_.ints(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) ints[i] = sizes[i].low;
  return Ranged::of(Cell::int_list(ints, sizes.size()));
}

Ranged RangeEvaluator::each(Expr e) {
  const Ranged source = evaluate(pool_.child(e, 1));
  const auto sizes = source.as_sizes();
  const auto depth = static_cast<std::size_t>(pool_.at(e).value);
  const std::size_t count = sizes                                             ? sizes->size()
                            : source.is_exact() && source.exact.is_sequence() ? source.exact.count
                                                                              : 0;
  if (!sizes && !(source.is_exact() && source.exact.is_sequence())) return Ranged::unknown();
  std::vector<Ranged> items;
  const Ranged kept = bound_[depth];
  for (std::size_t i = 0; i < count; ++i) {
    bound_[depth] = sizes ? Ranged::of((*sizes)[i]) : Ranged::of(source.exact.item(i));
    items.push_back(evaluate(pool_.child(e, 0)));
  }
  bound_[depth] = kept;
  return gather(items);
}

namespace {

/// Broadcasts one more size into a result's: whether the two fit, where that is decided.
std::optional<bool> meet(SizeRange& r, SizeRange s) {
  const bool r_one = r.low == 1 && r.high == 1;
  const bool s_one = s.low == 1 && s.high == 1;
  if (s_one) return true;
  const bool r_may = r.low <= 1 && r.high >= 1;
  const bool s_may = s.low <= 1 && s.high >= 1;
  const SizeRange met{std::max(r.low, s.low), std::min(r.high, s.high)};
  if (r_one) {
    r = s;
    return true;
  }
  if (r == s && r.low == r.high) return true;
  if (r_may && s_may) {
    r = hull(r, s);
  } else if (r_may || s_may) {  // the one that is surely not 1 decides
    r = r_may ? s : r;
  } else if (met.low <= met.high) {
    r = met;
  } else {
    return false;
  }
  return std::nullopt;
}

}  // namespace

Ranged RangeEvaluator::broadcast(Expr e, const std::vector<Ranged>& arguments) {
  std::vector<SizeRange> result;
  for (const Ranged& argument : arguments) {
    const auto sizes = argument.as_sizes();
    if (!sizes) return Ranged::unknown();
    if (sizes->size() > result.size())
      result.insert(result.begin(), sizes->size() - result.size(), SizeRange{1, 1});
    for (std::size_t k = 0; k < sizes->size(); ++k) {
      const auto fit = meet(result[result.size() - 1 - k], (*sizes)[sizes->size() - 1 - k]);
      if (!fit) leave_open(e);
      if (fit != false) continue;
      if (failure_.empty()) failure_ = "sizes do not broadcast";
      return Ranged::unknown();
    }
  }
  return Ranged::of(std::move(result));
}

Ranged RangeEvaluator::reduced(const std::vector<Ranged>& arguments) {
  const auto sizes = arguments[0].as_sizes();
  if (!sizes || !arguments[1].is_exact() || !arguments[2].is_exact() || !arguments[3].is_exact())
    return Ranged::unknown();
  // Which axes vanish does not depend on sizes: reduce places of size 2, which no reduced axis
  // keeps.
  std::int64_t* places = arena_.ints(sizes->size());
  for (std::size_t i = 0; i < sizes->size(); ++i) places[i] = static_cast<std::int64_t>(i) + 2;
  const auto& row = primitives()[*primitive_index("reduced")];
  const std::vector<Cell> cells{Cell::int_list(places, sizes->size()),
                                arguments[1].exact,
                                arguments[2].exact,
                                arguments[3].exact};
  Env env;
  std::string text;
  env.arena = &arena_;
  env.error = &text;
  Cell out;
  if (!row.run(env, cells, out)) {
    if (failure_.empty()) failure_ = "reduced: " + text;
    return Ranged::unknown();
  }
  std::vector<SizeRange> result;
  for (std::uint32_t i = 0; i < out.count; ++i) {
    result.push_back(out.ints[i] == 1 ? SizeRange{1, 1}
                                      : (*sizes)[static_cast<std::size_t>(out.ints[i] - 2)]);
  }
  return Ranged::of(std::move(result));
}

Ranged RangeEvaluator::run(Expr e, std::vector<Cell> arguments) {
  const auto& row = primitives()[static_cast<std::size_t>(pool_.at(e).value)];
  Env env;
  std::string text;
  env.arena = &arena_;
  env.error = &text;
  Cell out;
  if (row.run(env, arguments, out)) return Ranged::of(out);
  if (failure_.empty()) failure_ = std::string(row.name) + ": " + text;
  return Ranged::unknown();
}

/// conv.out, pool.out and ceil_div grow with their first argument: its ends give the ends.
Ranged RangeEvaluator::window(Expr e, const std::vector<Ranged>& arguments) {
  const auto first = arguments[0].as_interval();
  std::vector<Cell> cells(arguments.size());
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (!arguments[i].is_exact()) {
      leave_open(e);
      return Ranged::of(SizeRange{kLeast, kMost});
    }
    cells[i] = arguments[i].exact;
  }
  if (!first) return Ranged::unknown();
  if (arguments.size() > 2 && cells[2].i <= 0) return Ranged::of(SizeRange{kLeast, kMost});
  cells[0] = Cell::integer(first->low);
  const auto low = run(e, cells).as_interval();
  cells[0] = Cell::integer(std::min(first->high, kMost / 4));
  const auto high = run(e, cells).as_interval();
  if (!low || !high) return Ranged::unknown();
  return Ranged::of(SizeRange{low->low, first->high > kMost / 4 ? kMost : high->high});
}

/// prod, sum, max, min over intervals.
Ranged RangeEvaluator::fold(Expr e, const std::vector<Ranged>& arguments) {
  const std::string_view name = primitives()[static_cast<std::size_t>(pool_.at(e).value)].name;
  const auto sizes = arguments[0].as_sizes();
  if (!sizes) return Ranged::unknown();
  if (sizes->empty()) {
    if (name == "prod") return Ranged::of(Cell::integer(1));
    if (name == "sum") return Ranged::of(Cell::integer(0));
    return arguments.size() > 1 ? arguments[1] : Ranged::unknown();
  }
  Ranged total = Ranged::of(sizes->front());
  for (std::size_t i = 1; i < sizes->size(); ++i) {
    const SizeRange next = (*sizes)[i];
    const SizeRange so_far = total.as_interval().value_or(SizeRange{kLeast, kMost});
    if (name == "prod" || name == "sum") {
      total = arithmetic(name == "prod" ? Op::kMul : Op::kAdd, total, Ranged::of(next));
      if (overflowed_) leave_open(e);
    }
    if (name == "max")
      total =
          Ranged::of(SizeRange{std::max(so_far.low, next.low), std::max(so_far.high, next.high)});
    if (name == "min")
      total =
          Ranged::of(SizeRange{std::min(so_far.low, next.low), std::min(so_far.high, next.high)});
  }
  return total;
}

Ranged RangeEvaluator::primitive(Expr e) {
  std::vector<Ranged> arguments;
  bool all_exact = true;
  for (const Expr kid : pool_.children(e)) {
    const bool absent = pool_.at(kid).op == Op::kAbsent;
    arguments.push_back(absent ? Ranged::of(Cell::none()) : evaluate(kid));
    all_exact = all_exact && arguments.back().is_exact();
  }
  if (all_exact) return exact(e, arguments);
  const auto& row = primitives()[static_cast<std::size_t>(pool_.at(e).value)];
  if (row.name == "len") {
    const auto sizes = arguments[0].as_sizes();
    return sizes ? Ranged::of(Cell::integer(static_cast<std::int64_t>(sizes->size())))
                 : Ranged::unknown();
  }
  if (row.name == "prod" || row.name == "sum" || row.name == "max" || row.name == "min")
    return fold(e, arguments);
  if (row.name == "broadcast") return broadcast(e, arguments);
  if (row.name == "reduced") return reduced(arguments);
  if (row.name == "conv.out" || row.name == "pool.out" || row.name == "ceil_div")
    return window(e, arguments);
  if (!is_total(row.name)) leave_open(e);
  switch (row.result) {
    case ResultKind::kBool:
      return Ranged::open_bool();
    case ResultKind::kDim:
      return Ranged::of(SizeRange{0, kMost});
    case ResultKind::kInt:
    case ResultKind::kDimOfDims:
    case ResultKind::kItems:
      return Ranged::of(SizeRange{kLeast, kMost});
    default:
      return Ranged::unknown();
  }
}

Ranged RangeEvaluator::evaluate(Expr e) {
  const Node& n = pool_.at(e);
  switch (n.op) {
    case Op::kSymbol:
      return symbols_[static_cast<std::size_t>(n.value)];
    case Op::kBound:
      return bound_[static_cast<std::size_t>(n.value)];
    case Op::kCompare:
      return compare(e);
    case Op::kAnd:
      return logic(e, false);
    case Op::kOr:
      return logic(e, true);
    case Op::kNot: {
      const auto value = evaluate(pool_.child(e, 0)).as_bool();
      return value ? Ranged::of(Cell::boolean(!*value)) : Ranged::open_bool();
    }
    case Op::kCond:
      return conditional(e);
    case Op::kSubscript:
      return subscript(e);
    case Op::kSlice:
      return slice(e);
    case Op::kEach:
      return each(e);
    case Op::kPrimitive:
      return primitive(e);
    case Op::kNeg:
      return arithmetic(Op::kSub, Ranged::of(Cell::integer(0)), evaluate(pool_.child(e, 0)));
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kFloorDiv:
    case Op::kMod: {
      const Ranged a = evaluate(pool_.child(e, 0));
      const Ranged b = evaluate(pool_.child(e, 1));
      if (a.is_exact() && b.is_exact()) return exact(e, {a, b});
      const auto divisor = b.as_interval();
      const bool divides = n.op == Op::kFloorDiv || n.op == Op::kMod;
      if (divides && divisor && divisor->low <= 0 && divisor->high >= 0) leave_open(e);
      Ranged result = arithmetic(n.op, a, b);
      if (overflowed_) leave_open(e);
      return result;
    }
    case Op::kTuple: {
      std::vector<Ranged> items;
      for (const Expr kid : pool_.children(e)) items.push_back(evaluate(kid));
      return gather(items);
    }
    case Op::kPayload:
      return evaluate(pool_.child(e, 0));
    case Op::kKind:
    case Op::kField: {
      const Ranged base = evaluate(pool_.child(e, 0));
      return base.is_exact() ? exact(e, {base}) : Ranged::unknown();
    }
    case Op::kNone:
      return Ranged::of(Cell::none());
    case Op::kBool:
      return Ranged::of(Cell::boolean(n.value != 0));
    case Op::kInt:
      return Ranged::of(Cell::integer(n.value));
    case Op::kFloat:
      return Ranged::of(Cell::real(n.number));
    case Op::kString:
      return Ranged::of(Cell::string(pool_.text(e)));
    default:
      return Ranged::unknown();
  }
}

}  // namespace tenon::signature
