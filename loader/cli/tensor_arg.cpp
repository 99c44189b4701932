// The grammar of tensor arguments, read left to right; every error knows its column.
#include "tensor_arg.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "tenon/core/nearest.hpp"

namespace tenon::cli {
namespace {

constexpr std::string_view kFileEnding = ".npy";
constexpr std::array<std::string_view, 5> kFillNames{
    "normal", "uniform", "arange", "zeros", "const"};
constexpr std::int64_t kMaxInt = std::numeric_limits<std::int64_t>::max();

/// A position in the whole argument, and how errors are made there.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[at_]; }
  [[nodiscard]] std::size_t position() const { return at_; }
  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }
  [[nodiscard]] std::string_view since(std::size_t start) const {
    return text_.substr(start, at_ - start);
  }
  void skip(std::size_t count) { at_ += count; }

  bool take(char expected) {
    if (peek() != expected || at_end()) return false;
    ++at_;
    return true;
  }
  /// Everything up to one of `stops`, or the end.
  std::string_view take_until(std::string_view stops) {
    const std::size_t end = std::min(text_.find_first_of(stops, at_), text_.size());
    const std::string_view taken = text_.substr(at_, end - at_);
    at_ = end;
    return taken;
  }

  [[nodiscard]] Error error_at(std::size_t position, std::string message) const {
    return Error(ErrorCode::kUsageError,
                 fmt::format("'{}', column {}: {}", text_, position + 1, message))
        .with("source", std::string(text_))
        .with("column", std::to_string(position + 1));
  }
  [[nodiscard]] tl::unexpected<Error> bad(std::size_t position,
                                          std::string message,
                                          std::string hint = {}) const {
    return fail(error_at(position, std::move(message)).with_hint(std::move(hint)));
  }
  /// What stands here, for "expected A, found B".
  [[nodiscard]] std::string found() const {
    return at_end() ? std::string("the end") : fmt::format("'{}'", peek());
  }

  /// A number without a sign.
  Result<std::int64_t> number(std::string_view what) {
    const std::size_t start = at_;
    std::int64_t value = 0;
    const auto [end, status] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (peek() == '-' || end == text_.data() + at_) {
      return bad(start, fmt::format("expected {}, found {}", what, found()));
    }
    if (status == std::errc::result_out_of_range) {
      return bad(start, fmt::format("{} is too large: it must be below 2^63", what));
    }
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

struct Axis {
  std::int64_t size = 0;  ///< of a range: the lowest
  bool expanded = false;
  std::int64_t high = 0;
};

/// What was read of SHAPE:DTYPE[^PERM][+OFFSET][/STEP], before strides are made of it.
struct Description {
  std::vector<Axis> axes;
  bool ranged = false;
  DType dtype = DType::kFloat32;
  std::vector<std::size_t> order;  ///< axes from outermost to innermost in memory
  std::int64_t offset = 0;
  std::int64_t step = 1;
};

Result<void> read_size(Cursor& cursor, Axis& axis) {
  auto size = cursor.number("a size");
  if (!size) {
    return fail(std::move(size).error().with_hint(
        cursor.peek() == ':'
            ? "a tensor of rank 0 is written scalar:DTYPE"
            : "write sizes joined by x and a dtype, as in 2048x4096:bf16, or a path "
              "that ends in .npy"));
  }
  axis = {*size, cursor.take('e'), *size};
  return {};
}

/// [1..4096]
Result<void> read_range(Cursor& cursor, Axis& axis) {
  constexpr std::string_view kHint =
      "a range is written [LOWEST..HIGHEST], as in [1..4096]x4096:bf16";
  const std::size_t start = cursor.position();
  cursor.skip(1);
  auto low = cursor.number("the lowest size");
  if (!low) return fail(std::move(low).error().with_hint(std::string(kHint)));
  if (!cursor.rest().starts_with("..")) {
    return cursor.bad(cursor.position(),
                      fmt::format("expected '..' and the highest size, found {}", cursor.found()),
                      std::string(kHint));
  }
  cursor.skip(2);
  auto high = cursor.number("the highest size");
  if (!high) return fail(std::move(high).error().with_hint(std::string(kHint)));
  if (!cursor.take(']')) {
    return cursor.bad(cursor.position(),
                      fmt::format("expected ']' after the range, found {}", cursor.found()),
                      std::string(kHint));
  }
  if (*low > *high) return cursor.bad(start, fmt::format("no size lies in {}..{}", *low, *high));
  axis = {*low, false, *high};
  return {};
}

Result<void> read_shape(Cursor& cursor, Description& made) {
  constexpr std::string_view kScalar = "scalar";
  if (cursor.rest().starts_with(kScalar)) {
    cursor.skip(kScalar.size());
    return {};
  }
  do {
    const std::size_t start = cursor.position();
    Axis axis;
    if (cursor.peek() == '[') {
      TENON_TRY(read_range(cursor, axis));
      made.ranged = true;
    } else {
      TENON_TRY(read_size(cursor, axis));
    }
    if (made.axes.size() == kMaxRank) {
      return cursor.bad(start, fmt::format("a tensor has at most {} axes", kMaxRank));
    }
    made.axes.push_back(axis);
  } while (cursor.take('x'));
  return {};
}

Result<void> read_dtype(Cursor& cursor, Description& made) {
  if (!cursor.take(':')) {
    return cursor.bad(
        cursor.position(),
        fmt::format("expected 'x' and a size, or ':' and a dtype, found {}", cursor.found()),
        "a tensor is SHAPE:DTYPE, as in 2048x4096:bf16, or a path that ends in .npy");
  }
  const std::size_t start = cursor.position();
  auto dtype = parse_dtype(cursor.take_until("^+/~@"));
  if (!dtype) return cursor.bad(start, dtype.error().message(), dtype.error().hint());
  made.dtype = *dtype;
  return {};
}

Result<void> read_order(Cursor& cursor, Description& made) {
  const std::size_t rank = made.axes.size();
  for (std::size_t axis = 0; axis < rank; ++axis) made.order.push_back(axis);
  const std::size_t start = cursor.position();
  if (!cursor.take('^')) return {};
  std::vector<std::size_t> order;
  do {
    const std::size_t at = cursor.position();
    auto axis = cursor.number("an axis");
    if (!axis) return fail(std::move(axis).error());
    if (static_cast<std::size_t>(*axis) >= rank) {
      return cursor.bad(at, fmt::format("there is no axis {} in a tensor of rank {}", *axis, rank));
    }
    if (std::find(order.begin(), order.end(), static_cast<std::size_t>(*axis)) != order.end()) {
      return cursor.bad(at, fmt::format("axis {} is named twice", *axis));
    }
    order.push_back(static_cast<std::size_t>(*axis));
  } while (cursor.take(','));
  if (order.size() != rank) {
    return cursor.bad(start,
                      fmt::format("the order in memory names {} of {} axes", order.size(), rank),
                      "name each axis once, from outermost to innermost in memory");
  }
  made.order = std::move(order);
  return {};
}

Result<void> read_offset(Cursor& cursor, Description& made) {
  if (!cursor.take('+')) return {};
  TENON_TRY_ASSIGN(made.offset, cursor.number("an offset in elements"));
  return {};
}

Result<void> read_step(Cursor& cursor, Description& made) {
  const std::size_t start = cursor.position();
  if (!cursor.take('/')) return {};
  const bool backwards = cursor.take('-');
  TENON_TRY_ASSIGN(made.step, cursor.number("a step in elements"));
  if (made.step == 0) {
    return cursor.bad(start, "a step of 0 takes no element", "a size of stride 0 is written 8e");
  }
  if (made.axes.empty())
    return cursor.bad(start, "a tensor of rank 0 has no last axis to step over");
  if (made.axes.back().expanded) {
    return cursor.bad(start, "the last axis is expanded, so that a step has no meaning");
  }
  if (backwards) made.step = -made.step;
  return {};
}

/// Everything of a made tensor but its content.
Result<void> read_description(Cursor& cursor, Description& made) {
  TENON_TRY(read_shape(cursor, made));
  TENON_TRY(read_dtype(cursor, made));
  if (made.ranged) return {};
  TENON_TRY(read_order(cursor, made));
  TENON_TRY(read_offset(cursor, made));
  return read_step(cursor, made);
}

/// Digits and maybe a sign as a number of a 64-bit integer dtype; nothing where they are something
/// else, or too many.
std::optional<Fill::Whole> read_whole(std::string_view digits, DType dtype) {
  if (digits.starts_with('+')) digits.remove_prefix(1);
  const char* const first = digits.data();
  const char* const last = first + digits.size();
  std::from_chars_result read{first, std::errc::invalid_argument};
  Fill::Whole whole;
  if (dtype == DType::kInt64) {
    std::int64_t value = 0;
    read = std::from_chars(first, last, value);
    whole = {static_cast<std::uint64_t>(value), true};
  } else if (dtype == DType::kUInt64) {
    read = std::from_chars(first, last, whole.bits);
  }
  return read.ec == std::errc{} && read.ptr == last ? std::optional(whole) : std::nullopt;
}

Result<void> read_const(Cursor& cursor, DType dtype, Fill& fill) {
  const std::size_t start = cursor.position();
  const std::string_view digits = cursor.take_until("@");
  double value = 0;
  const char* const first = digits.data() + (digits.starts_with('+') ? 1 : 0);
  const auto [end, status] = std::from_chars(first, digits.data() + digits.size(), value);
  if (status == std::errc::result_out_of_range) {
    return cursor.bad(start, fmt::format("{} is out of range", digits));
  }
  if (status != std::errc{} || end != digits.data() + digits.size()) {
    return cursor.bad(start, fmt::format("expected a number after 'const=', found '{}'", digits));
  }
  fill.value = value;
  fill.whole = read_whole(digits, dtype);
  if (fill.whole) return {};
  const DTypeCategory category = info_of(dtype).category;
  alignas(16) std::array<std::byte, 16> element{};
  store_from_double(dtype, element.data(), value);
  const double held = load_as_double(dtype, element.data());
  const bool is_whole = category == DTypeCategory::kInt || category == DTypeCategory::kBool;
  // Beyond the range of 64 bits a double is cut to the nearest number, which compares as equal.
  constexpr double kTwoTo63 = 0x1p63;
  const bool overflows =
      (category == DTypeCategory::kFloat && std::isfinite(value) && !std::isfinite(held)) ||
      (dtype == DType::kInt64 && value >= kTwoTo63) ||
      (dtype == DType::kUInt64 && value >= 2 * kTwoTo63);
  if ((is_whole && held != value) || overflows)
    return cursor.bad(start, fmt::format("{} holds no {}", name_of(dtype), digits));
  return {};
}

Result<void> read_fill(Cursor& cursor, DType dtype, Fill& fill) {
  if (!cursor.take('~')) return {};
  const std::size_t start = cursor.position();
  const std::string_view name = cursor.take_until("=@");
  const auto* const known = std::find(kFillNames.begin(), kFillNames.end(), name);
  if (known == kFillNames.end()) {
    std::string hint = did_you_mean(name, kFillNames);
    if (hint.empty()) hint = "fills are normal, uniform, arange, zeros and const=V";
    return cursor.bad(start, fmt::format("there is no fill '{}'", name), std::move(hint));
  }
  fill.kind = static_cast<FillKind>(known - kFillNames.begin());
  if (fill.kind != FillKind::kConst) {
    if (cursor.peek() != '=') return {};
    return cursor.bad(cursor.position(), fmt::format("the fill '{}' takes no value", name));
  }
  if (!cursor.take('=')) {
    return cursor.bad(cursor.position(), "the fill 'const' needs a value", "write ~const=1.5");
  }
  return read_const(cursor, dtype, fill);
}

Result<void> read_seed(Cursor& cursor, Fill& fill) {
  const std::size_t start = cursor.position();
  if (!cursor.take('@')) return {};
  if (fill.kind != FillKind::kNormal && fill.kind != FillKind::kUniform) {
    return cursor.bad(start, fmt::format("the fill '{}' has no seed", name_of(fill.kind)));
  }
  auto seed = cursor.number("a seed");
  if (!seed) return fail(std::move(seed).error());
  fill.seed = static_cast<std::uint64_t>(*seed);
  return {};
}

Result<void> expect_end(const Cursor& cursor) {
  if (cursor.at_end()) return {};
  constexpr std::string_view kParts = "^+/~@";
  const bool out_of_order = kParts.find(cursor.peek()) != std::string_view::npos;
  return cursor.bad(cursor.position(),
                    out_of_order ? fmt::format("'{}' stands too late or twice", cursor.peek())
                                 : fmt::format("expected the end, found {}", cursor.found()),
                    "the order is SHAPE:DTYPE[^PERM][+OFFSET][/STEP][~FILL][@SEED]");
}

/// a * b, or nothing beyond what an allocation could have.
std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// Lays the tensor out: dense along the order in memory, the last axis `step` times as long,
/// expanded axes without extent. False where it exceeds 2^63 bytes.
bool lay_out(const Description& made, TensorSource& source) {
  const std::size_t rank = made.axes.size();
  const std::int64_t step_size = made.step < 0 ? -made.step : made.step;
  Dims shape;
  Dims strides;
  shape.resize(rank);
  strides.resize(rank);
  std::int64_t extent = 1;
  for (std::size_t i = rank; i-- > 0;) {
    const std::size_t axis = made.order[i];
    const Axis& a = made.axes[axis];
    shape[axis] = a.size;
    strides[axis] = a.expanded ? 0 : extent;
    if (a.expanded) continue;
    auto length = product(a.size, axis + 1 == rank ? step_size : 1);
    if (length) length = product(*length, extent);
    if (!length) return false;
    // An axis of size 0 leaves no element, but the strides of the others stay what they would be.
    extent = *length == 0 ? extent : *length;
  }
  const auto count = element_count(shape);
  if (!count) return false;
  source.storage_elements = *count == 0 ? 0 : extent;
  if (__builtin_add_overflow(source.storage_elements, made.offset, &source.storage_elements) ||
      source.storage_elements > kMaxInt / static_cast<std::int64_t>(size_bytes_of(made.dtype))) {
    return false;
  }
  source.offset_elements = made.offset;
  if (rank > 0 && made.step != 1) {
    const std::size_t last = rank - 1;
    const std::int64_t dense_stride = strides[last];
    strides[last] = dense_stride * made.step;
    if (made.step < 0 && *count > 0) {
      source.offset_elements += (shape[last] - 1) * step_size * dense_stride;
    }
  }
  source.spec = TensorSpec{made.dtype, shape, strides, Device{}};
  return true;
}

/// A tensor that is known by ranges: what it would hold, and how it would lie, is not.
Result<TensorSource> ranged_tensor(const Cursor& cursor,
                                   const Description& made,
                                   TensorSource source,
                                   std::size_t start) {
  if (!cursor.at_end()) {
    return cursor.bad(cursor.position(),
                      fmt::format("expected the end after the dtype, found {}", cursor.found()),
                      "a tensor with a range for a size has a shape and a dtype only");
  }
  source.spec.dtype = made.dtype;
  for (const Axis& axis : made.axes) {
    if (axis.expanded)
      return cursor.bad(start, "a tensor with a range for a size cannot be expanded");
    source.ranges.push_back({axis.size, axis.high});
  }
  return source;
}

Result<TensorSource> read_file(Cursor& cursor, TensorSource source, std::size_t ending) {
  source.file = std::string(source.text.substr(0, ending + kFileEnding.size()));
  cursor.skip(source.file.size());
  if (cursor.at_end()) return source;
  if (!cursor.take(':')) {
    return cursor.bad(
        cursor.position(),
        fmt::format("expected the end or ':DTYPE' after the file, found {}", cursor.found()));
  }
  const std::size_t start = cursor.position();
  auto dtype = parse_dtype(cursor.rest());
  if (!dtype) return cursor.bad(start, dtype.error().message(), dtype.error().hint());
  source.carried = *dtype;
  return source;
}

/// Where `.npy` ends the text or stands before ':'; npos where the text is no file.
std::size_t find_file_ending(std::string_view text) {
  const std::size_t ending = text.rfind(kFileEnding);
  if (ending == std::string_view::npos) return ending;
  const std::size_t after = ending + kFileEnding.size();
  return after == text.size() || text[after] == ':' ? ending : std::string_view::npos;
}

}  // namespace

std::string_view name_of(FillKind kind) noexcept {
  return kFillNames[static_cast<std::size_t>(kind)];
}

std::string Fill::to_string() const {
  if (kind == FillKind::kConst && whole && whole->is_signed)
    return fmt::format("const {}", static_cast<std::int64_t>(whole->bits));
  if (kind == FillKind::kConst && whole) return fmt::format("const {}", whole->bits);
  if (kind == FillKind::kConst) return fmt::format("const {}", value);
  if (kind == FillKind::kNormal || kind == FillKind::kUniform) {
    return fmt::format("{}, seed {}", name_of(kind), seed);
  }
  return std::string(name_of(kind));
}

Result<DType> parse_dtype(std::string_view text) {
  if (const auto dtype = dtype_from_name(text, true)) return *dtype;
  std::vector<std::string_view> names;
  for (const DType dtype : all_dtypes()) {
    names.push_back(info_of(dtype).short_name);
    names.push_back(info_of(dtype).name);
  }
  std::string hint = did_you_mean(text, names);
  if (hint.empty()) {
    hint =
        "dtypes are bf16 f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool c64 c128 f8e4m3 f8e5m2 "
        "and the manifest's names";
  }
  return fail(Error(ErrorCode::kUsageError,
                    text.empty() ? std::string("a dtype is missing")
                                 : fmt::format("there is no dtype '{}'", text))
                  .with_hint(std::move(hint)));
}

Result<TensorSource> parse_tensor_argument(std::string_view argument) {
  Cursor cursor(argument);
  TensorSource source;
  const std::size_t equals = argument.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return cursor.bad(0, "expected name=TENSOR", fmt::format("TENSOR is {}", kTensorGrammar));
  }
  source.name = std::string(argument.substr(0, equals));
  source.text = std::string(argument.substr(equals + 1));
  cursor.skip(equals + 1);
  if (const std::size_t ending = find_file_ending(source.text); ending != std::string::npos) {
    return read_file(cursor, std::move(source), ending);
  }

  const std::size_t start = cursor.position();
  Description made;
  TENON_TRY(read_description(cursor, made));
  if (made.ranged) return ranged_tensor(cursor, made, std::move(source), start);
  TENON_TRY(read_fill(cursor, made.dtype, source.fill));
  TENON_TRY(read_seed(cursor, source.fill));
  TENON_TRY(expect_end(cursor));
  if (!lay_out(made, source)) {
    return cursor.bad(start, "the tensor is too large: it must stay below 2^63 bytes");
  }
  return source;
}

}  // namespace tenon::cli
