// The primitives of the manifest language: one table, one function each.
#include "tenon/core/signature/primitives.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "tenon/core/tensor.hpp"

namespace tenon::signature {

bool wrap_axis(std::int64_t axis, std::int64_t rank, std::int64_t& out) noexcept {
  if (rank == 0) {
    out = 0;
    return axis == 0 || axis == -1;
  }
  if (axis < -rank || axis >= rank) return false;
  out = axis < 0 ? axis + rank : axis;
  return true;
}

std::string axis_range(std::int64_t rank) {
  return rank == 0 ? std::string("0 and -1 at rank 0")
                   : fmt::format("[{}, {}] at rank {}", -rank, rank - 1, rank);
}

bool broadcast_pair(std::span<const std::int64_t> a,
                    std::span<const std::int64_t> b,
                    std::int64_t* out,
                    std::uint32_t& rank,
                    std::uint32_t& axis_from_right) noexcept {
  const std::size_t n = std::max(a.size(), b.size());
  for (std::size_t k = 0; k < n; ++k) {
    const std::int64_t x = k < a.size() ? a[a.size() - 1 - k] : 1;
    const std::int64_t y = k < b.size() ? b[b.size() - 1 - k] : 1;
    if (x != y && x != 1 && y != 1) {
      axis_from_right = static_cast<std::uint32_t>(k);
      return false;
    }
    out[n - 1 - k] = x == 1 ? y : x;
  }
  rank = static_cast<std::uint32_t>(n);
  return true;
}

namespace {

using Args = std::span<const Cell>;

template <class... T>
bool fail(Env& env, fmt::format_string<T...> text, T&&... arguments) {
  return env.explains() ? env.fail(fmt::format(text, std::forward<T>(arguments)...)) : false;
}

bool is_int(const Cell& c) { return c.tag == Tag::kInt; }

/// The items of a sequence of ints; false where it is none.
bool ints_of(Env& env, const Cell& c, std::span<const std::int64_t>& out) {
  if (c.tag == Tag::kInts) {
    out = {c.ints, c.count};
    return true;
  }
  if (c.tag == Tag::kList && c.count == 0) {
    out = {};
    return true;
  }
  return fail(env, "{} is not a sequence of integers", print(c));
}

bool run_broadcast(Env& env, Args a, Cell& out) {
  if (a.empty()) return fail(env, "at least one shape is needed");
  std::span<const std::int64_t> first;
  if (!ints_of(env, a[0], first)) return false;
  std::size_t longest = 0;
  for (const Cell& c : a) longest = std::max<std::size_t>(longest, c.count);
  std::int64_t* result = env.arena->ints(longest);
  std::copy(first.begin(), first.end(), result);
  auto rank = static_cast<std::uint32_t>(first.size());
  for (std::size_t i = 1; i < a.size(); ++i) {
    std::span<const std::int64_t> next;
    std::uint32_t from_right = 0;
    if (!ints_of(env, a[i], next)) return false;
    std::int64_t* wider = env.arena->ints(longest);
    const std::span<const std::int64_t> so_far(result, rank);
    if (!broadcast_pair(so_far, next, wider, rank, from_right)) {
      const auto size_at = [&](std::span<const std::int64_t> s) {
        return s[s.size() - 1 - from_right];
      };
      // Shapes print alike, whether an argument came as a list or as a tuple.
      const auto shape = [](std::span<const std::int64_t> sizes) {
        return print(Cell::int_list(sizes.data(), sizes.size()));
      };
      return fail(env,
                  "sizes {} and {} do not broadcast on axis {} (shapes {} and {})",
                  size_at(so_far),
                  size_at(next),
                  -1 - static_cast<std::int64_t>(from_right),
                  shape(so_far),
                  shape(next));
    }
    result = wider;
  }
  out = Cell::int_list(result, rank);
  out.is_tuple = true;
  return true;
}

/// Calls `each` with every axis as it wraps.
template <class Each>
bool for_axes(Env& env, const Cell& axes, std::int64_t rank, Each&& each) {
  const std::size_t count = axes.is_sequence() ? axes.count : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const Cell axis = axes.is_sequence() ? axes.item(i) : axes;
    std::int64_t wrapped = 0;
    if (!is_int(axis)) return fail(env, "an axis is an integer, not {}", print(axis));
    if (!wrap_axis(axis.i, rank, wrapped)) {
      return fail(env, "axis {} is out of range: allowed are {}", axis.i, axis_range(rank));
    }
    if (!each(static_cast<std::size_t>(wrapped), axis.i)) return false;
  }
  return true;
}

bool run_reduced(Env& env, Args a, Cell& out) {
  std::span<const std::int64_t> shape;
  if (!ints_of(env, a[0], shape)) return false;
  if (shape.size() > 64) return fail(env, "rank {} is too high", shape.size());
  const bool keepdim = a[2].i != 0;
  const std::string_view mode = a[3].str();
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::uint64_t all = shape.size() == 64 ? ~0ull : (1ull << shape.size()) - 1;
  std::uint64_t taken = 0;
  if (a[1].tag == Tag::kNone) {
    taken = all;
  } else if (a[1].is_sequence() && a[1].count == 0) {
    if (mode == "reject") return fail(env, "an empty list of axes");
    taken = mode == "full" ? all : 0;
  } else if (!for_axes(env, a[1], rank, [&](std::size_t axis, std::int64_t) {
               return taken |= 1ull << axis, true;
             })) {
    return false;
  }
  std::int64_t* result = env.arena->ints(shape.size());
  std::size_t used = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool reduce = ((taken >> i) & 1u) != 0;
    if (!reduce) result[used++] = shape[i];
    if (reduce && keepdim) result[used++] = 1;
  }
  out = Cell::int_list(result, used);
  out.is_tuple = true;
  return true;
}

bool run_valid_axes(Env& env, Args a, Cell& out) {
  if (a[0].tag == Tag::kNone) {
    out = Cell::boolean(true);
    return true;
  }
  bool good = true;
  const std::size_t count = a[0].is_sequence() ? a[0].count : 1;
  for (std::size_t i = 0; i < count && good; ++i) {
    const Cell axis = a[0].is_sequence() ? a[0].item(i) : a[0];
    std::int64_t wrapped = 0;
    if (!is_int(axis)) return fail(env, "an axis is an integer, not {}", print(axis));
    good = wrap_axis(axis.i, a[1].i, wrapped);
  }
  out = Cell::boolean(good);
  return true;
}

bool run_unique_axes(Env& env, Args a, Cell& out) {
  out = Cell::boolean(true);
  if (!a[0].is_sequence()) return true;
  if (a[1].i > 64) return fail(env, "rank {} is too high", a[1].i);
  std::uint64_t seen = 0;
  bool distinct = true;
  if (!for_axes(env, a[0], a[1].i, [&](std::size_t axis, std::int64_t) {
        distinct = distinct && ((seen >> axis) & 1u) == 0;
        seen |= 1ull << axis;
        return true;
      })) {
    return false;
  }
  out = Cell::boolean(distinct);
  return true;
}

bool run_per_axis(Env& env, Args a, Cell& out) {
  Cell item = a[0];
  if (a[0].is_sequence()) {
    if (static_cast<std::int64_t>(a[0].count) != a[2].i) {
      return fail(env, "{} has {} items, expected {}", print(a[0]), a[0].count, a[2].i);
    }
    if (a[1].i < 0 || a[1].i >= a[2].i) return fail(env, "item {} of {}", a[1].i, a[2].i);
    item = a[0].item(static_cast<std::size_t>(a[1].i));
  }
  if (item.tag == Tag::kNone) item = a[3];
  if (!is_int(item)) return fail(env, "no value for axis {} and no fallback", a[1].i);
  out = item;
  return true;
}

bool run_ceil_div(Env& env, Args a, Cell& out) {
  std::int64_t quotient = 0;
  if (a[1].i <= 0) return fail(env, "the divisor {} is not positive", a[1].i);
  if (!floor_div(a[0].i, a[1].i, quotient)) return fail(env, "overflow");
  out = Cell::integer(quotient + (a[0].i - quotient * a[1].i != 0 ? 1 : 0));
  return true;
}

bool run_len(Env& env, Args a, Cell& out) {
  if (!a[0].is_sequence()) return fail(env, "{} is no sequence", print(a[0]));
  out = Cell::integer(a[0].count);
  return true;
}

/// Sequences over Values hold doubles or bools too; they are folded one by one.
template <class Ints, class Reals>
bool accumulate(
    Env& env, const Cell& sequence, std::int64_t start, Ints&& ints, Reals&& reals, Cell& out) {
  Cell so_far = Cell::integer(start);
  for (std::size_t i = 0; i < sequence.count; ++i) {
    const Cell item = sequence.item(i);
    if (!item.is_number()) return fail(env, "{} is not a number", print(item));
    if (item.tag == Tag::kFloat || so_far.tag == Tag::kFloat) {
      const auto real = [](const Cell& c) {
        return c.tag == Tag::kFloat ? c.f : static_cast<double>(c.i);
      };
      so_far = Cell::real(reals(real(so_far), real(item)));
    } else if (ints(so_far.i, item.i, &so_far.i)) {
      return fail(env, "the result does not fit a 64-bit integer");
    }
  }
  out = so_far;
  return true;
}

bool run_prod(Env& env, Args a, Cell& out) {
  if (!a[0].is_sequence()) return fail(env, "{} is no sequence", print(a[0]));
  // A zero anywhere makes the product zero, whatever the others would overflow to on the way.
  for (std::size_t i = 0; a[0].tag == Tag::kInts && i < a[0].count; ++i) {
    if (a[0].ints[i] == 0) {
      out = Cell::integer(0);
      return true;
    }
  }
  return accumulate(
      env,
      a[0],
      1,
      [](auto x, auto y, auto* r) { return __builtin_mul_overflow(x, y, r); },
      [](double x, double y) { return x * y; },
      out);
}

bool run_sum(Env& env, Args a, Cell& out) {
  if (!a[0].is_sequence()) return fail(env, "{} is no sequence", print(a[0]));
  return accumulate(
      env,
      a[0],
      0,
      [](auto x, auto y, auto* r) { return __builtin_add_overflow(x, y, r); },
      [](double x, double y) { return x + y; },
      out);
}

bool run_all(Env& env, Args a, Cell& out) {
  if (!a[0].is_sequence()) return fail(env, "{} is no sequence", print(a[0]));
  bool result = true;
  for (std::size_t i = 0; i < a[0].count; ++i) {
    const Cell item = a[0].item(i);
    if (item.tag != Tag::kBool) return fail(env, "{} is not a truth value", print(item));
    result = result && item.i != 0;
  }
  out = Cell::boolean(result);
  return true;
}

bool extreme(Env& env, Args a, Order wanted, Cell& out) {
  if (!a[0].is_sequence()) return fail(env, "{} is no sequence", print(a[0]));
  if (a[0].count == 0) {
    if (a[1].tag == Tag::kUnset || a[1].tag == Tag::kNone)
      return fail(env, "an empty sequence and no default");
    out = a[1];
    return true;
  }
  Cell best = a[0].item(0);
  for (std::size_t i = 0; i < a[0].count; ++i) {
    const Cell item = a[0].item(i);
    if (!item.is_number()) return fail(env, "{} is not a number", print(item));
    if (order_numbers(item, best) == wanted) best = item;
  }
  out = best;
  return true;
}
bool run_max(Env& env, Args a, Cell& out) { return extreme(env, a, Order::kGreater, out); }
bool run_min(Env& env, Args a, Cell& out) { return extreme(env, a, Order::kLess, out); }

/// length + 2 * padding - span + extra, checked; span = dilation * (kernel - 1) + 1.
bool window_room(Args a, std::int64_t extra, std::int64_t& out) {
  std::int64_t span = 0;
  std::int64_t twice = 0;
  return !__builtin_sub_overflow(a[1].i, 1, &span) &&
         !__builtin_mul_overflow(span, a[4].i, &span) && !__builtin_add_overflow(span, 1, &span) &&
         !__builtin_mul_overflow(a[3].i, 2, &twice) &&
         !__builtin_add_overflow(a[0].i, twice, &out) && !__builtin_sub_overflow(out, span, &out) &&
         !__builtin_add_overflow(out, extra, &out);
}

bool run_conv_out(Env& env, Args a, Cell& out) {
  std::int64_t room = 0;
  if (a[2].i == 0) return fail(env, "the stride is zero");
  if (!window_room(a, 0, room) || !floor_div(room, a[2].i, room) ||
      __builtin_add_overflow(room, 1, &room)) {
    return fail(env, "the result does not fit a 64-bit integer");
  }
  out = Cell::integer(room);
  return true;
}

bool run_pool_out(Env& env, Args a, Cell& out) {
  const bool ceil_mode = a[5].i != 0;
  std::int64_t room = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
  if (a[2].i == 0) return fail(env, "the stride is zero");
  if (!window_room(a, ceil_mode ? a[2].i - 1 : 0, room) || !floor_div(room, a[2].i, room) ||
      __builtin_add_overflow(room, 1, &room)) {
    return fail(env, "the result does not fit a 64-bit integer");
  }
  if (ceil_mode) {
    if (__builtin_mul_overflow(room - 1, a[2].i, &start) ||
        __builtin_add_overflow(a[0].i, a[3].i, &end)) {
      return fail(env, "the result does not fit a 64-bit integer");
    }
    if (start >= end) --room;
  }
  out = Cell::integer(std::max<std::int64_t>(room, 0));
  return true;
}

/// A field of an ADT cell, or unset.
Cell adt_field(const Cell& adt, std::string_view name) {
  for (std::size_t i = 1; i + 1 < adt.count; i += 2) {
    if (adt.cells[i].str() == name) return adt.cells[i + 1];
  }
  return {};
}

bool run_moe_capacity(Env& env, Args a, Cell& out) {
  if (a[0].tag != Tag::kAdt) return fail(env, "the first argument is no layout");
  const std::string_view constructor = a[0].cells[0].str();
  const std::int64_t rows = a[1].i;
  const std::int64_t experts = a[2].i;
  std::int64_t result = rows;
  if (constructor == "masked") {
    const Cell max_m = adt_field(a[0], "max_m");
    if (!is_int(max_m)) return fail(env, "a masked layout has no max_m");
    if (__builtin_mul_overflow(experts, max_m.i, &result)) return fail(env, "overflow");
  } else {
    const Cell packing = adt_field(a[0], "packing");
    const Cell alignment = adt_field(a[0], "alignment");
    if (packing.tag != Tag::kStr || !is_int(alignment))
      return fail(env, "a layout without packing and alignment");
    if (packing.str() == "aligned") {
      const std::int64_t step = alignment.i;
      std::int64_t extra = 0;
      if (step <= 0) return fail(env, "the alignment {} is not positive", step);
      if (__builtin_mul_overflow(experts, step - 1, &extra) ||
          __builtin_add_overflow(rows, extra, &result) ||
          __builtin_add_overflow(result, step - 1, &result)) {
        return fail(env, "overflow");
      }
      result -= result % step;
    }
  }
  out = Cell::integer(result);
  return true;
}

bool run_mhc_expansion(Env& env, Args a, Cell& out) {
  const std::int64_t q = a[0].i;
  auto root = q > 0 ? static_cast<std::int64_t>(std::sqrt(static_cast<double>(q))) : 0;
  for (std::int64_t n = std::max<std::int64_t>(root - 2, 1); q > 0 && n <= root; ++n) {
    std::int64_t value = 0;
    if (!__builtin_mul_overflow(n, n + 2, &value) && value == q) {
      out = Cell::integer(n);
      return true;
    }
  }
  return fail(env, "no n > 0 with n * n + 2 * n == {}", q);
}

bool run_promote(Env& env, Args a, Cell& out) {
  DType dtype{};
  if (a[0].tag == Tag::kDType) {
    dtype = a[0].dtype();
  } else if (const auto named =
                 a[0].tag == Tag::kStr ? dtype_from_name(a[0].str()) : std::nullopt) {
    dtype = *named;
  } else {
    return fail(env, "{} is no dtype", print(a[0]));
  }
  out = Cell::dtype_of(info_of(dtype).category == DTypeCategory::kInt ? DType::kFloat32 : dtype);
  return true;
}

bool run_coalesce(Env&, Args a, Cell& out) {
  out = a[0].tag == Tag::kNone ? a[1] : a[0];
  return true;
}

bool run_category(Env& env, Args a, Cell& out) {
  switch (a[0].tag) {
    case Tag::kBool:
      out = Cell::string("bool");
      return true;
    case Tag::kInt:
      out = Cell::string("int");
      return true;
    case Tag::kFloat:
      out = Cell::string("float");
      return true;
    case Tag::kDType:
      out = Cell::string(name_of(info_of(a[0].dtype()).category));
      return true;
    case Tag::kStr:
      if (const auto dtype = dtype_from_name(a[0].str())) {
        out = Cell::string(name_of(info_of(*dtype).category));
        return true;
      }
      break;
    default:
      break;
  }
  return fail(env, "{} is neither a dtype nor a scalar", print(a[0]));
}

/// The largest finite value. Source: IEEE 754-2019, OCP 8-bit Floating Point Specification 1.0, OCP
/// MX 1.0.
double largest_finite(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 65504.0;
    case DType::kBFloat16:
      return std::ldexp(2.0 - std::ldexp(1.0, -7), 127);
    case DType::kFloat32:
    case DType::kComplex64:
      return static_cast<double>(std::numeric_limits<float>::max());
    case DType::kFloat8E4M3FN:
      return 448.0;
    case DType::kFloat8E4M3:
    case DType::kFloat8E4M3FNUZ:
      return 240.0;
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
      return 57344.0;
    case DType::kFloat8E8M0FNU:
      return std::ldexp(1.0, 127);
    case DType::kFloat4E2M1FNx2:
      return 6.0;
    default:
      return std::numeric_limits<double>::max();
  }
}

bool has_infinity(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat8E8M0FNU:
    case DType::kFloat4E2M1FNx2:
      return false;
    default:
      return true;
  }
}

struct IntRange {
  std::int64_t low = 0;
  std::uint64_t high = 0;
};
IntRange range_of(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
      return {0, 0xffu};
    case DType::kUInt16:
      return {0, 0xffffu};
    case DType::kUInt32:
      return {0, 0xffffffffu};
    case DType::kUInt64:
      return {0, ~0ull};
    case DType::kInt8:
      return {-128, 127};
    case DType::kInt16:
      return {-32768, 32767};
    case DType::kInt32:
      return {std::numeric_limits<std::int32_t>::min(), 0x7fffffffu};
    default:
      return {std::numeric_limits<std::int64_t>::min(), 0x7fffffffffffffffull};
  }
}

bool fits_integer(const Cell& v, DType dtype) {
  const IntRange range = range_of(dtype);
  if (v.tag == Tag::kFloat) {
    return std::isfinite(v.f) && order_numbers(Cell::integer(range.low), v) != Order::kGreater &&
           (range.high > 0x7fffffffffffffffull
                ? v.f < 18446744073709551616.0
                : order_numbers(v, Cell::integer(static_cast<std::int64_t>(range.high))) !=
                      Order::kGreater);
  }
  if (v.i >= 0) return static_cast<std::uint64_t>(v.i) <= range.high;
  if (range.low < 0) return v.i >= range.low;
  return 0 - static_cast<std::uint64_t>(v.i) <= range.high;  // unsigned dtypes wrap
}

bool run_representable(Env& env, Args a, Cell& out) {
  DType dtype{};
  if (a[1].tag == Tag::kDType) {
    dtype = a[1].dtype();
  } else if (const auto named =
                 a[1].tag == Tag::kStr ? dtype_from_name(a[1].str()) : std::nullopt) {
    dtype = *named;
  } else {
    return fail(env, "{} is no dtype", print(a[1]));
  }
  const Cell& v = a[0];
  if (!v.is_number()) return fail(env, "{} is no scalar", print(v));
  bool fits = false;
  switch (info_of(dtype).category) {
    case DTypeCategory::kBool:
      fits = true;
      break;
    case DTypeCategory::kInt:
      fits = fits_integer(v, dtype);
      break;
    default:
      if (v.tag == Tag::kFloat && std::isnan(v.f)) {
        fits = true;
      } else if (v.tag == Tag::kFloat && std::isinf(v.f)) {
        fits = has_infinity(dtype);
      } else {
        const double largest = largest_finite(dtype);
        fits = order_numbers(v, Cell::real(largest)) != Order::kGreater &&
               order_numbers(v, Cell::real(-largest)) != Order::kLess;
      }
  }
  out = Cell::boolean(fits);
  return true;
}

/// Value primitives make at most this many items: they fill workload rows, not memory.
constexpr std::int64_t kMaxItems = 1 << 24;

bool run_balanced(Env& env, Args a, Cell& out) {
  if (!is_int(a[0]) || !is_int(a[1])) return fail(env, "integers are needed");
  const std::int64_t total = a[0].i;
  const std::int64_t count = a[1].i;
  if (count <= 0 || count > kMaxItems)
    return fail(env, "the count {} is not in [1, {}]", count, kMaxItems);
  if (total < 0) return fail(env, "the total {} is negative", total);
  std::int64_t* items = env.arena->ints(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) items[i] = total / count + (i < total % count ? 1 : 0);
  out = Cell::int_list(items, static_cast<std::size_t>(count));
  return true;
}

bool run_repeat(Env& env, Args a, Cell& out) {
  if (!is_int(a[0]) || !is_int(a[1])) return fail(env, "integers are needed");
  const std::int64_t count = a[1].i;
  if (count < 0 || count > kMaxItems)
    return fail(env, "the count {} is not in [0, {}]", count, kMaxItems);
  std::int64_t* items = env.arena->ints(static_cast<std::size_t>(count));
  std::fill_n(items, count, a[0].i);
  out = Cell::int_list(items, static_cast<std::size_t>(count));
  return true;
}

/// The shapes of a list, all of one rank, and the axis as it wraps.
bool joined_shapes(Env& env, Args a, std::size_t& axis, std::span<const std::int64_t>& first) {
  if (a[0].tag != Tag::kList || a[0].count == 0) return fail(env, "at least one shape is needed");
  if (!ints_of(env, a[0].cells[0], first)) return false;
  std::int64_t wrapped = 0;
  const auto rank = static_cast<std::int64_t>(first.size());
  if (rank == 0) return fail(env, "tensors of rank 0 have no axis to join on");
  if (!wrap_axis(a[1].i, rank, wrapped))
    return fail(env, "axis {} is out of range: allowed are {}", a[1].i, axis_range(rank));
  axis = static_cast<std::size_t>(wrapped);
  return true;
}

bool equal_but_on(std::span<const std::int64_t> a,
                  std::span<const std::int64_t> b,
                  std::size_t axis) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i != axis && a[i] != b[i]) return false;
  }
  return true;
}

bool run_concat_ok(Env& env, Args a, Cell& out) {
  std::size_t axis = 0;
  std::span<const std::int64_t> first;
  if (!joined_shapes(env, a, axis, first)) return false;
  bool good = true;
  for (std::size_t i = 1; i < a[0].count; ++i) {
    std::span<const std::int64_t> next;
    if (!ints_of(env, a[0].cells[i], next)) return false;
    good = good && equal_but_on(first, next, axis);
  }
  out = Cell::boolean(good);
  return true;
}

bool run_concat_out(Env& env, Args a, Cell& out) {
  std::size_t axis = 0;
  std::span<const std::int64_t> first;
  if (!joined_shapes(env, a, axis, first)) return false;
  std::int64_t* result = env.arena->ints(first.size());
  std::copy(first.begin(), first.end(), result);
  for (std::size_t i = 1; i < a[0].count; ++i) {
    std::span<const std::int64_t> next;
    if (!ints_of(env, a[0].cells[i], next)) return false;
    if (!equal_but_on(first, next, axis)) {
      return fail(env,
                  "shapes {} and {} differ on another axis than {}",
                  print(a[0].cells[0]),
                  print(a[0].cells[i]),
                  axis);
    }
    if (__builtin_add_overflow(result[axis], next[axis], &result[axis]))
      return fail(env, "overflow");
  }
  out = Cell::int_list(result, first.size());
  out.is_tuple = true;
  return true;
}

bool run_split_out(Env& env, Args a, Cell& out) {
  std::span<const std::int64_t> shape;
  std::span<const std::int64_t> parts;
  if (!ints_of(env, a[0], shape) || !ints_of(env, a[2], parts)) return false;
  std::int64_t axis = 0;
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (rank == 0 || !wrap_axis(a[1].i, rank, axis))
    return fail(env, "axis {} is out of range: allowed are {}", a[1].i, axis_range(rank));
  std::int64_t total = 0;
  for (const std::int64_t part : parts) {
    if (part < 0 || __builtin_add_overflow(total, part, &total))
      return fail(env, "{} is no size of a part", part);
  }
  const std::int64_t whole = shape[static_cast<std::size_t>(axis)];
  if (total != whole)
    return fail(
        env, "the sizes {} add up to {}, but axis {} has size {}", print(a[2]), total, axis, whole);
  if (a[3].i < 0 || a[3].i >= static_cast<std::int64_t>(parts.size()))
    return fail(env, "part {} of {}", a[3].i, parts.size());
  std::int64_t* result = env.arena->ints(shape.size());
  std::copy(shape.begin(), shape.end(), result);
  result[axis] = parts[static_cast<std::size_t>(a[3].i)];
  out = Cell::int_list(result, shape.size());
  out.is_tuple = true;
  return true;
}

bool run_broadcast_all(Env& env, Args a, Cell& out) {
  if (a[0].tag != Tag::kList || a[0].count == 0) return fail(env, "at least one shape is needed");
  return run_broadcast(env, {a[0].cells, a[0].count}, out);
}

using K = FormalKind;
using R = ResultKind;

constexpr std::array kShapes{Formal{"shape", K::kShape}};
constexpr std::array kReduced{Formal{"shape", K::kShape},
                              Formal{"axes", K::kAxes},
                              Formal{"keepdim", K::kBool},
                              Formal{"empty", K::kReduceMode}};
constexpr std::array kAxesRank{Formal{"axes", K::kAxes}, Formal{"rank", K::kInt}};
constexpr std::array kPerAxisFormals{Formal{"value", K::kPerAxis},
                                     Formal{"axis", K::kInt},
                                     Formal{"count", K::kInt},
                                     Formal{"fallback", K::kMaybeInt, true}};
constexpr std::array kTwoInts{Formal{"a", K::kInt}, Formal{"b", K::kInt}};
constexpr std::array kSequence{Formal{"sequence", K::kSeq}};
constexpr std::array kSequenceInt{Formal{"sequence", K::kSeqInt}};
constexpr std::array kSequenceBool{Formal{"sequence", K::kSeqBool}};
constexpr std::array kExtreme{Formal{"sequence", K::kSeqInt},
                              Formal{"default", K::kMaybeInt, true}};
constexpr std::array kConv{Formal{"length", K::kInt},
                           Formal{"kernel", K::kInt},
                           Formal{"stride", K::kInt},
                           Formal{"padding", K::kInt},
                           Formal{"dilation", K::kInt}};
constexpr std::array kPool{Formal{"length", K::kInt},
                           Formal{"kernel", K::kInt},
                           Formal{"stride", K::kInt},
                           Formal{"padding", K::kInt},
                           Formal{"dilation", K::kInt},
                           Formal{"ceil_mode", K::kBool}};
constexpr std::array kDTypeOnly{Formal{"dtype", K::kDType}};
constexpr std::array kCoalesce{Formal{"dtype", K::kMaybeDType}, Formal{"otherwise", K::kDType}};
constexpr std::array kValueOnly{Formal{"value", K::kValue}};
constexpr std::array kValueDType{Formal{"value", K::kValue}, Formal{"dtype", K::kDType}};
constexpr std::array kBalanced{Formal{"total", K::kInt}, Formal{"count", K::kInt}};
constexpr std::array kRepeat{Formal{"value", K::kInt}, Formal{"count", K::kInt}};
constexpr std::array kLayout{
    Formal{"layout", K::kAdt}, Formal{"rows", K::kInt}, Formal{"experts", K::kInt}};
constexpr std::array kShapesAxis{Formal{"shapes", K::kSeqShape}, Formal{"axis", K::kInt}};
constexpr std::array kSplit{Formal{"shape", K::kShape},
                            Formal{"axis", K::kInt},
                            Formal{"sizes", K::kSeqInt},
                            Formal{"part", K::kInt}};
constexpr std::array kShapeList{Formal{"shapes", K::kSeqShape}};
constexpr std::array kQ{Formal{"q", K::kInt}};

// name, formals, variadic, takes_each, value_primitive, result, run, doc
constexpr std::array kTable{
    Primitive{"broadcast",
              kShapes,
              true,
              false,
              false,
              R::kShape,
              run_broadcast,
              "right-aligned broadcast: the sizes other than 1 of an axis must agree"},
    Primitive{"reduced",
              kReduced,
              false,
              false,
              false,
              R::kShape,
              run_reduced,
              "shape after a reduction over the axes; the string says what an empty list means"},
    Primitive{"valid_axes",
              kAxesRank,
              false,
              false,
              false,
              R::kBool,
              run_valid_axes,
              "every axis wraps at that rank"},
    Primitive{"unique_axes",
              kAxesRank,
              false,
              false,
              false,
              R::kBool,
              run_unique_axes,
              "the wrapped axes are distinct"},
    Primitive{"per_axis",
              kPerAxisFormals,
              false,
              false,
              false,
              R::kInt,
              run_per_axis,
              "item of a sequence of that length, or the scalar itself; the fallback for None"},
    Primitive{"ceil_div",
              kTwoInts,
              false,
              false,
              false,
              R::kDimOfDims,
              run_ceil_div,
              "a / b rounded up, b > 0"},
    Primitive{"len", kSequence, false, false, false, R::kDim, run_len, "number of items"},
    Primitive{"prod",
              kSequenceInt,
              false,
              false,
              false,
              R::kItems,
              run_prod,
              "product of the items, 1 for none"},
    Primitive{"sum",
              kSequenceInt,
              false,
              true,
              false,
              R::kItems,
              run_sum,
              "sum of the items, 0 for none"},
    Primitive{"all", kSequenceBool, false, true, false, R::kBool, run_all, "every item holds"},
    Primitive{
        "max", kExtreme, false, true, false, R::kItems, run_max, "greatest item, or the default"},
    Primitive{
        "min", kExtreme, false, true, false, R::kItems, run_min, "least item, or the default"},
    Primitive{"conv.out",
              kConv,
              false,
              false,
              false,
              R::kInt,
              run_conv_out,
              "output length of a convolution"},
    Primitive{"pool.out",
              kPool,
              false,
              false,
              false,
              R::kDim,
              run_pool_out,
              "output length of a pooling window"},
    Primitive{"promote_int_to_float",
              kDTypeOnly,
              false,
              false,
              false,
              R::kFirstDType,
              run_promote,
              "float32 for an integer dtype, else the dtype itself"},
    Primitive{"coalesce_dtype",
              kCoalesce,
              false,
              false,
              false,
              R::kJoinDTypes,
              run_coalesce,
              "the first dtype where it is present, else the second"},
    Primitive{"category",
              kValueOnly,
              false,
              false,
              false,
              R::kCategory,
              run_category,
              "'bool', 'int', 'float' or 'complex', of a dtype or a scalar"},
    Primitive{"representable",
              kValueDType,
              false,
              false,
              false,
              R::kBool,
              run_representable,
              "the scalar converts to the dtype without overflow"},
    Primitive{"balanced_sizes",
              kBalanced,
              false,
              false,
              true,
              R::kSeqInt,
              run_balanced,
              "an even split of total into count items, the first ones larger"},
    Primitive{
        "repeat", kRepeat, false, false, true, R::kSeqInt, run_repeat, "count copies of the value"},
    Primitive{"moe.capacity",
              kLayout,
              false,
              false,
              false,
              R::kDim,
              run_moe_capacity,
              "rows that a layout of expert rows takes"},
    Primitive{"mhc.expansion",
              kQ,
              false,
              false,
              false,
              R::kDim,
              run_mhc_expansion,
              "the n > 0 with n * n + 2 * n == q"},
    // Over lists of tensors.
    Primitive{"concat.ok",
              kShapesAxis,
              false,
              false,
              false,
              R::kBool,
              run_concat_ok,
              "the shapes are equal but on the axis"},
    Primitive{"concat.out",
              kShapesAxis,
              false,
              false,
              false,
              R::kShape,
              run_concat_out,
              "the common shape, the sizes on the axis added"},
    Primitive{"split.out",
              kSplit,
              false,
              false,
              false,
              R::kShape,
              run_split_out,
              "the shape of one part; the sizes add up to the axis"},
    Primitive{"broadcast_all",
              kShapeList,
              false,
              false,
              false,
              R::kShape,
              run_broadcast_all,
              "broadcast of every shape of a list"},
};

}  // namespace

std::span<const Primitive> primitives() noexcept { return kTable; }

std::optional<std::uint32_t> primitive_index(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (kTable[i].name == name) return static_cast<std::uint32_t>(i);
  }
  return std::nullopt;
}

}  // namespace tenon::signature
