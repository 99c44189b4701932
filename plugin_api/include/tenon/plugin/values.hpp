// The values that cross to a plugin, as C++17 types, and the readers that generated contracts use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>

#include "tenon/plugin.h"

// The SDK lives in an inline namespace of its own: its names read as tenon::X, and no symbol of a
// plugin that is linked statically can be taken for one of the core's.
namespace tenon {
inline namespace sdk {

/// Text as it crosses. The pointer is borrowed from the argument.
constexpr tenon_str to_str(std::string_view text) noexcept {
  return tenon_str{text.data(), text.size()};
}
/// Text that crossed. Borrowed as long as the tenon_str's bytes are.
constexpr std::string_view to_view(tenon_str text) noexcept {
  return text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size_bytes);
}

/// Copies as much text as fits into a fixed array, always terminated, never cutting a UTF-8
/// character in half.
inline void copy_text(char* out, std::size_t capacity_bytes, std::string_view text) noexcept {
  if (capacity_bytes == 0) return;
  std::size_t size_bytes = text.size() < capacity_bytes ? text.size() : capacity_bytes - 1;
  if (size_bytes < text.size()) {
    while (size_bytes > 0 && (static_cast<unsigned char>(text[size_bytes]) & 0xc0u) == 0x80u)
      --size_bytes;
  }
  if (size_bytes > 0) std::memcpy(out, text.data(), size_bytes);
  out[size_bytes] = '\0';
}

/// What a kernel's constructor, a launch or a device function throws to end its call with a status
/// and a sentence. Errors   a status of 0 or above reads as TENON_INTERNAL, because only `refusal`
/// may refuse.
class Failure : public std::exception {
 public:
  Failure(tenon_status status, std::string_view text) noexcept
      : status_(status < 0 ? status : TENON_INTERNAL) {
    copy_text(text_, sizeof(text_), text);
  }
  [[nodiscard]] const char* what() const noexcept override { return text_; }
  [[nodiscard]] tenon_status status() const noexcept { return status_; }

 private:
  tenon_status status_;
  char text_[256] = {};
};

/// A borrowed run of values. C++17's stand-in for std::span.
template <class T>
class Span {
 public:
  using value_type = std::remove_cv_t<T>;

  constexpr Span() noexcept = default;
  constexpr Span(T* data, std::size_t count) noexcept : data_(data), count_(count) {}
  template <std::size_t N>
  constexpr Span(T (&array)[N]) noexcept
      : data_(array), count_(N) {}  // NOLINT(google-explicit-constructor): a view
  template <class Container,
            class = std::enable_if_t<
                !std::is_same_v<std::decay_t<Container>, Span> &&
                std::is_convertible_v<decltype(std::declval<Container&>().data()), T*>>>
  constexpr Span(Container& values) noexcept  // NOLINT(google-explicit-constructor): a view
      : data_(values.data()), count_(values.size()) {}

  [[nodiscard]] constexpr T* data() const noexcept { return data_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return count_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] constexpr T& operator[](std::size_t i) const noexcept { return data_[i]; }
  [[nodiscard]] constexpr T& front() const noexcept { return data_[0]; }
  [[nodiscard]] constexpr T& back() const noexcept { return data_[count_ - 1]; }
  [[nodiscard]] constexpr T* begin() const noexcept { return data_; }
  [[nodiscard]] constexpr T* end() const noexcept { return count_ == 0 ? data_ : data_ + count_; }

  friend constexpr bool operator==(Span a, Span b) noexcept {
    if (a.count_ != b.count_) return false;
    for (std::size_t i = 0; i < a.count_; ++i) {
      if (!(a.data_[i] == b.data_[i])) return false;
    }
    return true;
  }
  friend constexpr bool operator!=(Span a, Span b) noexcept { return !(a == b); }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

/// An element type: tenon_dtype with equality, a name and a number that `case` labels take.
class ElementType {
 public:
  constexpr ElementType() noexcept = default;
  constexpr ElementType(tenon_dtype raw) noexcept
      : raw_(raw) {}  // NOLINT(google-explicit-constructor): a wrapper
  constexpr ElementType(std::uint32_t code, std::uint32_t bits) noexcept
      : raw_{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1} {}

  [[nodiscard]] constexpr tenon_dtype raw() const noexcept { return raw_; }
  [[nodiscard]] constexpr std::uint32_t code() const noexcept { return raw_.code; }
  [[nodiscard]] constexpr std::uint32_t bits() const noexcept { return raw_.bits; }
  [[nodiscard]] constexpr std::size_t size_bytes() const noexcept { return raw_.bits / 8u; }
  /// code | bits << 8 | lanes << 16, as in a TENON_VALUE_DTYPE: `switch (t.id()) { case
  /// kFloat32.id(): ... }`.
  [[nodiscard]] constexpr std::uint32_t id() const noexcept {
    return static_cast<std::uint32_t>(raw_.code) | static_cast<std::uint32_t>(raw_.bits) << 8 |
           static_cast<std::uint32_t>(raw_.lanes) << 16;
  }
  [[nodiscard]] static constexpr ElementType from_id(std::int64_t id) noexcept {
    return tenon_dtype{static_cast<std::uint8_t>(id),
                       static_cast<std::uint8_t>(id >> 8),
                       static_cast<std::uint16_t>(id >> 16)};
  }
  [[nodiscard]] constexpr bool is_floating() const noexcept {
    return raw_.code == TENON_DTYPE_FLOAT || raw_.code == TENON_DTYPE_BFLOAT ||
           (raw_.code >= TENON_DTYPE_FLOAT8_E4M3 && raw_.code <= TENON_DTYPE_FLOAT4_E2M1FN);
  }
  /// The name that manifests use ("bfloat16"); "unknown" for anything else. Static.
  [[nodiscard]] constexpr std::string_view name() const noexcept;

  friend constexpr bool operator==(ElementType a, ElementType b) noexcept {
    return a.id() == b.id();
  }
  friend constexpr bool operator!=(ElementType a, ElementType b) noexcept {
    return a.id() != b.id();
  }

 private:
  tenon_dtype raw_{0, 0, 0};
};

/// The element types that manifests name.
inline constexpr ElementType kBool{TENON_DTYPE_BOOL, 8};
inline constexpr ElementType kUInt8{TENON_DTYPE_UINT, 8};
inline constexpr ElementType kUInt16{TENON_DTYPE_UINT, 16};
inline constexpr ElementType kUInt32{TENON_DTYPE_UINT, 32};
inline constexpr ElementType kUInt64{TENON_DTYPE_UINT, 64};
inline constexpr ElementType kInt8{TENON_DTYPE_INT, 8};
inline constexpr ElementType kInt16{TENON_DTYPE_INT, 16};
inline constexpr ElementType kInt32{TENON_DTYPE_INT, 32};
inline constexpr ElementType kInt64{TENON_DTYPE_INT, 64};
inline constexpr ElementType kFloat16{TENON_DTYPE_FLOAT, 16};
inline constexpr ElementType kBFloat16{TENON_DTYPE_BFLOAT, 16};
inline constexpr ElementType kFloat32{TENON_DTYPE_FLOAT, 32};
inline constexpr ElementType kFloat64{TENON_DTYPE_FLOAT, 64};
inline constexpr ElementType kComplex64{TENON_DTYPE_COMPLEX, 64};
inline constexpr ElementType kComplex128{TENON_DTYPE_COMPLEX, 128};
inline constexpr ElementType kFloat8E4M3{TENON_DTYPE_FLOAT8_E4M3, 8};
inline constexpr ElementType kFloat8E4M3FN{TENON_DTYPE_FLOAT8_E4M3FN, 8};
inline constexpr ElementType kFloat8E4M3FNUZ{TENON_DTYPE_FLOAT8_E4M3FNUZ, 8};
inline constexpr ElementType kFloat8E5M2{TENON_DTYPE_FLOAT8_E5M2, 8};
inline constexpr ElementType kFloat8E5M2FNUZ{TENON_DTYPE_FLOAT8_E5M2FNUZ, 8};
inline constexpr ElementType kFloat8E8M0FNU{TENON_DTYPE_FLOAT8_E8M0FNU, 8};

constexpr std::string_view ElementType::name() const noexcept {
  switch (id()) {
    case kBool.id():
      return "bool";
    case kUInt8.id():
      return "uint8";
    case kUInt16.id():
      return "uint16";
    case kUInt32.id():
      return "uint32";
    case kUInt64.id():
      return "uint64";
    case kInt8.id():
      return "int8";
    case kInt16.id():
      return "int16";
    case kInt32.id():
      return "int32";
    case kInt64.id():
      return "int64";
    case kFloat16.id():
      return "float16";
    case kBFloat16.id():
      return "bfloat16";
    case kFloat32.id():
      return "float32";
    case kFloat64.id():
      return "float64";
    case kComplex64.id():
      return "complex64";
    case kComplex128.id():
      return "complex128";
    case kFloat8E4M3.id():
      return "float8_e4m3";
    case kFloat8E4M3FN.id():
      return "float8_e4m3fn";
    case kFloat8E4M3FNUZ.id():
      return "float8_e4m3fnuz";
    case kFloat8E5M2.id():
      return "float8_e5m2";
    case kFloat8E5M2FNUZ.id():
      return "float8_e5m2fnuz";
    case kFloat8E8M0FNU.id():
      return "float8_e8m0fnu";
    default:
      return "unknown";
  }
}

/// An int or a float, kept apart, as a manifest parameter of type `Number` is.
class Number {
 public:
  constexpr Number() noexcept = default;
  constexpr Number(std::int64_t value) noexcept
      : int_(value) {}  // NOLINT(google-explicit-constructor): a variant
  constexpr Number(double value) noexcept
      : float_(value), is_int_(false) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] constexpr bool is_int() const noexcept { return is_int_; }
  [[nodiscard]] constexpr std::int64_t as_int() const noexcept {
    return is_int_ ? int_ : static_cast<std::int64_t>(float_);
  }
  [[nodiscard]] constexpr double as_double() const noexcept {
    return is_int_ ? static_cast<double>(int_) : float_;
  }

  friend constexpr bool operator==(Number a, Number b) noexcept {
    return a.is_int_ == b.is_int_ && a.int_ == b.int_ && a.float_ == b.float_;
  }
  friend constexpr bool operator!=(Number a, Number b) noexcept { return !(a == b); }

 private:
  std::int64_t int_ = 0;
  double float_ = 0;
  bool is_int_ = true;
};

/// Any value, read on demand: nested lists and the values of algebraic types. Borrowed.
class AnyValue {
 public:
  constexpr AnyValue() noexcept = default;
  constexpr explicit AnyValue(const tenon_value& raw) noexcept : raw_(&raw) {}

  [[nodiscard]] constexpr bool is_none() const noexcept {
    return raw_ == nullptr || raw_->kind == TENON_VALUE_NONE;
  }
  [[nodiscard]] constexpr std::uint32_t kind() const noexcept {
    return raw_ == nullptr ? TENON_VALUE_NONE : raw_->kind;
  }
  [[nodiscard]] constexpr const tenon_value* raw() const noexcept { return raw_; }
  /// As T, or a Failure that names `what`.
  template <class T>
  [[nodiscard]] T as(std::string_view what = "value") const;
  /// Elements of a list, whatever its kind; 0 for anything else.
  [[nodiscard]] std::size_t size() const noexcept {
    const bool counted =
        kind() == TENON_VALUE_INTS || kind() == TENON_VALUE_FLOATS || kind() == TENON_VALUE_LIST;
    return counted ? static_cast<std::size_t>(raw_->count) : 0;
  }
  /// Element of a TENON_VALUE_LIST; none outside.
  [[nodiscard]] AnyValue operator[](std::size_t i) const noexcept {
    if (kind() != TENON_VALUE_LIST || i >= raw_->count) return AnyValue();
    return AnyValue(static_cast<const tenon_value*>(raw_->data)[i]);
  }

 private:
  const tenon_value* raw_ = nullptr;
};

namespace detail {

inline const char* kind_name(std::uint32_t kind) noexcept {
  constexpr const char* kNames[] = {
      "none", "bool", "int", "float", "dtype", "str", "list of int", "list of float", "list"};
  return kind < sizeof(kNames) / sizeof(kNames[0]) ? kNames[kind] : "unknown";
}

/// Joins a few pieces into a fixed buffer without allocating.
class TextBuffer {
 public:
  TextBuffer& operator<<(std::string_view text) noexcept {
    if (size_bytes_ + 1 < sizeof(text_)) {
      copy_text(text_ + size_bytes_, sizeof(text_) - size_bytes_, text);
      size_bytes_ += std::strlen(text_ + size_bytes_);
    }
    return *this;
  }
  TextBuffer& operator<<(std::int64_t value) noexcept {
    char digits[24];
    char* end = digits + sizeof(digits);
    char* first = end;
    auto rest =
        value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    do {
      *--first = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (value < 0) *--first = '-';
    return *this << std::string_view(first, static_cast<std::size_t>(end - first));
  }
  [[nodiscard]] std::string_view view() const noexcept { return {text_, size_bytes_}; }
  [[nodiscard]] const char* c_str() const noexcept { return text_; }

 private:
  char text_[256] = {};
  std::size_t size_bytes_ = 0;
};

[[noreturn]] inline void wrong_kind(std::string_view what,
                                    std::string_view wanted,
                                    std::uint32_t found) {
  TextBuffer text;
  text << "field '" << what << "' is " << kind_name(found) << ", the plugin's contract says "
       << wanted;
  throw Failure(TENON_INVALID_ARGUMENT, text.view());
}

template <class T>
struct ValueReader;  // the types that a call field can have

template <>
struct ValueReader<bool> {
  static bool read(const tenon_value& v, std::string_view what) {
    if (v.kind != TENON_VALUE_BOOL) wrong_kind(what, "bool", v.kind);
    return v.i != 0;
  }
};
template <>
struct ValueReader<std::int64_t> {
  static std::int64_t read(const tenon_value& v, std::string_view what) {
    if (v.kind != TENON_VALUE_INT) wrong_kind(what, "int", v.kind);
    return v.i;
  }
};
template <>
struct ValueReader<double> {
  static double read(const tenon_value& v, std::string_view what) {
    if (v.kind == TENON_VALUE_INT) return static_cast<double>(v.i);
    if (v.kind != TENON_VALUE_FLOAT) wrong_kind(what, "float", v.kind);
    return v.f;
  }
};
template <>
struct ValueReader<Number> {
  static Number read(const tenon_value& v, std::string_view what) {
    if (v.kind == TENON_VALUE_INT) return Number(v.i);
    if (v.kind != TENON_VALUE_FLOAT) wrong_kind(what, "number", v.kind);
    return Number(v.f);
  }
};
template <>
struct ValueReader<ElementType> {
  static ElementType read(const tenon_value& v, std::string_view what) {
    if (v.kind != TENON_VALUE_DTYPE) wrong_kind(what, "dtype", v.kind);
    return ElementType::from_id(v.i);
  }
};
template <>
struct ValueReader<std::string_view> {
  static std::string_view read(const tenon_value& v, std::string_view what) {
    if (v.kind != TENON_VALUE_STR) wrong_kind(what, "str", v.kind);
    return v.count == 0 ? std::string_view()
                        : std::string_view(static_cast<const char*>(v.data), v.count);
  }
};
template <>
struct ValueReader<Span<const std::int64_t>> {
  static Span<const std::int64_t> read(const tenon_value& v, std::string_view what) {
    if (v.kind == TENON_VALUE_LIST && v.count == 0) return {};
    if (v.kind != TENON_VALUE_INTS) wrong_kind(what, "list of int", v.kind);
    return {static_cast<const std::int64_t*>(v.data), static_cast<std::size_t>(v.count)};
  }
};
template <>
struct ValueReader<Span<const double>> {
  static Span<const double> read(const tenon_value& v, std::string_view what) {
    if (v.kind == TENON_VALUE_LIST && v.count == 0) return {};
    if (v.kind != TENON_VALUE_FLOATS) wrong_kind(what, "list of float", v.kind);
    return {static_cast<const double*>(v.data), static_cast<std::size_t>(v.count)};
  }
};
template <>
struct ValueReader<AnyValue> {
  static AnyValue read(const tenon_value& v, std::string_view) { return AnyValue(v); }
};
template <class T>
struct ValueReader<std::optional<T>> {
  static std::optional<T> read(const tenon_value& v, std::string_view what) {
    if (v.kind == TENON_VALUE_NONE) return std::nullopt;
    return ValueReader<T>::read(v, what);
  }
};

inline const tenon_value& field_at(const tenon_call& call,
                                   std::size_t index,
                                   std::string_view name) {
  if (call.fields == nullptr || index >= call.n_fields) {
    TextBuffer text;
    text << "the call has no field " << static_cast<std::int64_t>(index) << " ('" << name << "')";
    throw Failure(TENON_INVALID_ARGUMENT, text.view());
  }
  return call.fields[index];
}

inline std::size_t member_index(std::string_view value,
                                Span<const std::string_view> members,
                                std::string_view name) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i] == value) return i;
  }
  TextBuffer text;
  text << "field '" << name << "' is '" << value << "', which the plugin's contract does not list";
  throw Failure(TENON_INVALID_ARGUMENT, text.view());
}

}  // namespace detail

template <class T>
T AnyValue::as(std::string_view what) const {
  constexpr tenon_value kNone{TENON_VALUE_NONE, 0, 0, 0, 0, nullptr};
  return detail::ValueReader<T>::read(raw_ == nullptr ? kNone : *raw_, what);
}

/// Reads field `index` of a call. T is one of: bool, std::int64_t, double, Number, ElementType,
/// std::string_view, Span<const std::int64_t>, Span<const double>, AnyValue (lists of lists,
/// algebraic types), or std::optional of one. Owner    views are borrowed from the call. Errors
/// throws Failure INVALID_ARGUMENT, naming the field, if it is missing or of another kind.
template <class T>
[[nodiscard]] T read(const tenon_call& call, std::size_t index, std::string_view name) {
  return detail::ValueReader<T>::read(detail::field_at(call, index, name), name);
}

/// Reads an enum field: `members[k]` is the text of the enumerator whose value is k.
template <class E>
[[nodiscard]] E read_enum(const tenon_call& call,
                          std::size_t index,
                          std::string_view name,
                          Span<const std::string_view> members) {
  return static_cast<E>(
      detail::member_index(read<std::string_view>(call, index, name), members, name));
}

/// The same for a field that may be none.
template <class E>
[[nodiscard]] std::optional<E> read_optional_enum(const tenon_call& call,
                                                  std::size_t index,
                                                  std::string_view name,
                                                  Span<const std::string_view> members) {
  const auto text = read<std::optional<std::string_view>>(call, index, name);
  if (!text) return std::nullopt;
  return static_cast<E>(detail::member_index(*text, members, name));
}

}  // namespace sdk
}  // namespace tenon
