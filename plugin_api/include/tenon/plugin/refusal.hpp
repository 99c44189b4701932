// Refusals: how a kernel type says which calls it does not serve, with the data that explain shows.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>

#include "tenon/plugin/values.hpp"

namespace tenon {
inline namespace sdk {

/// A reason for not serving a call, or none. Made by `refuse` and `serves`; plain data, nothing to
/// free.
class Refusal {
 public:
  constexpr Refusal() noexcept = default;

  /// True if there is a reason, so the call is refused.
  [[nodiscard]] constexpr explicit operator bool() const noexcept {
    return code_ != TENON_REASON_NONE;
  }

  /// Which argument is at fault.
  Refusal at_argument(std::int32_t index) && noexcept {
    arg_index_ = index;
    return *this;
  }
  /// Another reason code than the condition's own: a TENON_REASON_* from 16 on, or a vendor's.
  Refusal with_code(std::uint32_t code) && noexcept {
    if (code != TENON_REASON_NONE) code_ = code;
    return *this;
  }
  /// Adds why, in a few words, after the generated sentence.
  Refusal because(std::string_view why) && noexcept {
    text_ << " (" << why << ")";
    return *this;
  }

  /// Writes the reason in the ABI's form.
  void write_to(tenon_reason& out) const noexcept {
    out.code = code_;
    out.arg_index = arg_index_;
    out.expected = expected_;
    out.actual = actual_;
    copy_text(out.attribute, sizeof(out.attribute), attribute_);
    copy_text(out.text, sizeof(out.text), text_.view());
  }
  [[nodiscard]] std::uint32_t code() const noexcept { return code_; }
  [[nodiscard]] std::string_view text() const noexcept { return text_.view(); }

 private:
  template <class Condition, class Actual>
  friend Refusal refuse(std::string_view attribute,
                        const Condition& condition,
                        const Actual& actual);
  friend Refusal refuse(std::uint32_t code, std::string_view text) noexcept;
  friend Refusal refuse(std::uint32_t code,
                        std::string_view attribute,
                        std::string_view text) noexcept;

  std::uint32_t code_ = TENON_REASON_NONE;
  std::int32_t arg_index_ = -1;
  tenon_value expected_{};
  tenon_value actual_{};
  char attribute_[64] = {};
  detail::TextBuffer text_;
};

/// The answer of a kernel type that serves the call.
inline constexpr Refusal serves{};

namespace detail {

// A value as it goes into a reason: as data where no pointer is needed, and as text always.
inline tenon_value reason_value(std::int64_t v) noexcept {
  return {TENON_VALUE_INT, 0, 0, v, 0, nullptr};
}
inline tenon_value reason_value(double v) noexcept {
  return {TENON_VALUE_FLOAT, 0, 0, 0, v, nullptr};
}
inline tenon_value reason_value(ElementType v) noexcept {
  return {TENON_VALUE_DTYPE, 0, 0, static_cast<std::int64_t>(v.id()), 0, nullptr};
}
inline tenon_value reason_bool(bool v) noexcept {
  return {TENON_VALUE_BOOL, 0, 0, v ? 1 : 0, 0, nullptr};
}
inline tenon_value reason_none() noexcept { return {}; }

void append_double(TextBuffer& out, double value) noexcept;

template <class T>
tenon_value to_reason_value(const T& value) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    return reason_bool(value);
  } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
    return reason_value(static_cast<std::int64_t>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return reason_value(static_cast<double>(value));
  } else if constexpr (std::is_same_v<T, ElementType>) {
    return reason_value(value);
  } else if constexpr (std::is_same_v<T, Number>) {
    return value.is_int() ? reason_value(value.as_int()) : reason_value(value.as_double());
  } else {
    return reason_none();  // text and lists would need memory that outlives the call: they go into
                           // the sentence
  }
}

template <class T>
void append_value(TextBuffer& out, const T& value) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    out << (value ? "true" : "false");
  } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
    out << static_cast<std::int64_t>(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    append_double(out, static_cast<double>(value));
  } else if constexpr (std::is_same_v<T, ElementType>) {
    out << value.name();
  } else if constexpr (std::is_same_v<T, Number>) {
    if (value.is_int()) {
      out << value.as_int();
    } else {
      append_double(out, value.as_double());
    }
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    out << "'" << std::string_view(value) << "'";
  } else if constexpr (std::is_convertible_v<const T&, Span<const std::int64_t>>) {
    out << "[";
    const Span<const std::int64_t> items(value);
    for (std::size_t i = 0; i < items.size(); ++i) out << (i == 0 ? "" : ", ") << items[i];
    out << "]";
  } else {
    static_assert(std::is_same_v<T, std::optional<typename T::value_type>>,
                  "refuse: the value must be a call field's type");
    if (value) {
      append_value(out, *value);
    } else {
      out << "none";
    }
  }
}

/// Six significant digits, whatever the C library's locale is.
inline void append_double(TextBuffer& out, double value) noexcept {
  if (value != value) {
    out << "nan";
    return;
  }
  if (value < 0) {
    out << "-";
    value = -value;
  }
  if (value > 1.7976931348623157e308) {
    out << "inf";
    return;
  }
  int exponent = 0;
  if (value > 0) {
    while (value >= 1e6) {
      value /= 10;
      ++exponent;
    }
    while (value < 1e5) {
      value *= 10;
      --exponent;
    }
  }
  auto digits = static_cast<std::int64_t>(std::lround(value));
  while (digits % 10 == 0 && digits != 0) {
    digits /= 10;
    ++exponent;
  }
  int digit_count = 1;
  for (std::int64_t rest = digits / 10; rest != 0; rest /= 10) ++digit_count;
  const int leading_exponent = exponent + digit_count - 1;
  if (leading_exponent < -6 || leading_exponent > 9) {
    std::int64_t unit = 1;
    for (int i = 1; i < digit_count; ++i) unit *= 10;
    out << digits / unit;
    if (digit_count > 1) out << ".";
    for (digits %= unit, unit /= 10; unit > 0; digits %= unit, unit /= 10) out << digits / unit;
    out << "e" << static_cast<std::int64_t>(leading_exponent);
    return;
  }
  for (; exponent > 0; --exponent) digits *= 10;
  std::int64_t scale = 1;
  for (; exponent < 0; ++exponent) scale *= 10;
  out << digits / scale;
  if (scale > 1) {
    out << ".";
    std::int64_t fraction = digits % scale;
    for (scale /= 10; scale > 0; scale /= 10) {
      out << fraction / scale;
      fraction %= scale;
    }
  }
}

/// A bound on one value: "<= 1024".
template <class T>
struct Bound {
  std::string_view symbol;
  T limit;
  std::uint32_t code;
  [[nodiscard]] tenon_value expected() const noexcept { return to_reason_value(limit); }
  void append(TextBuffer& out) const noexcept {
    out << symbol << " ";
    append_value(out, limit);
  }
};

/// Membership: "in {float16, bfloat16}".
template <class T, std::size_t N>
struct OneOf {
  std::array<T, N> items;
  std::uint32_t code;
  [[nodiscard]] static tenon_value expected() noexcept { return reason_none(); }
  void append(TextBuffer& out) const noexcept {
    out << "in {";
    for (std::size_t i = 0; i < N; ++i) {
      if (i != 0) out << ", ";
      append_value(out, items[i]);
    }
    out << "}";
  }
};

/// Integers become int64, floats double, text a view; the rest stays.
template <class T>
constexpr auto normal(const T& value) noexcept {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<std::int64_t>(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(value);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return std::string_view(value);
  } else {
    return value;
  }
}
template <class T>
using Normal = decltype(normal(std::declval<const T&>()));

}  // namespace detail

/// What a kernel type serves, for `refuse`. Sizes and counts give TENON_REASON_SIZE, values
/// TENON_REASON_VALUE.
template <class T>
[[nodiscard]] constexpr auto at_most(const T& limit) noexcept {
  return detail::Bound<detail::Normal<T>>{"<=", detail::normal(limit), TENON_REASON_SIZE};
}
template <class T>
[[nodiscard]] constexpr auto at_least(const T& limit) noexcept {
  return detail::Bound<detail::Normal<T>>{">=", detail::normal(limit), TENON_REASON_SIZE};
}
template <class T>
[[nodiscard]] constexpr auto less_than(const T& limit) noexcept {
  return detail::Bound<detail::Normal<T>>{"<", detail::normal(limit), TENON_REASON_SIZE};
}
template <class T>
[[nodiscard]] constexpr auto more_than(const T& limit) noexcept {
  return detail::Bound<detail::Normal<T>>{">", detail::normal(limit), TENON_REASON_SIZE};
}
template <class T>
[[nodiscard]] constexpr auto multiple_of(const T& factor) noexcept {
  return detail::Bound<detail::Normal<T>>{
      "a multiple of", detail::normal(factor), TENON_REASON_SIZE};
}
template <class T>
[[nodiscard]] constexpr auto equal_to(const T& value) noexcept {
  return detail::Bound<detail::Normal<T>>{"=", detail::normal(value), TENON_REASON_VALUE};
}
template <class T, class... More>
[[nodiscard]] constexpr auto one_of(const T& first, const More&... more) noexcept {
  using Item = detail::Normal<T>;
  return detail::OneOf<Item, 1 + sizeof...(More)>{
      {detail::normal(first), static_cast<Item>(detail::normal(more))...}, TENON_REASON_VALUE};
}

/// Refuses because `attribute` of the call is `actual` and the kernel type serves only what
/// `condition` says: `refuse("n", at_most(1024), call.n)` reads "serves n <= 1024, got 4096".
/// `attribute` is copied; an enum shows as its number, so convert it to text first where that
/// matters.
template <class Condition, class Actual>
[[nodiscard]] Refusal refuse(std::string_view attribute,
                             const Condition& condition,
                             const Actual& actual) {
  Refusal r;
  r.code_ = condition.code;
  r.expected_ = condition.expected();
  const auto found = detail::normal(actual);
  r.actual_ = detail::to_reason_value(found);
  copy_text(r.attribute_, sizeof(r.attribute_), attribute);
  r.text_ << "serves " << attribute << " ";
  condition.append(r.text_);
  r.text_ << ", got ";
  detail::append_value(r.text_, found);
  return r;
}

/// Refuses with a code and a sentence of one's own. A code of 0 reads as TENON_REASON_OTHER.
[[nodiscard]] inline Refusal refuse(std::uint32_t code, std::string_view text) noexcept {
  Refusal r;
  r.code_ = code == TENON_REASON_NONE ? TENON_REASON_OTHER : code;
  r.text_ << text;
  return r;
}
[[nodiscard]] inline Refusal refuse(std::uint32_t code,
                                    std::string_view attribute,
                                    std::string_view text) noexcept {
  Refusal r = refuse(code, text);
  copy_text(r.attribute_, sizeof(r.attribute_), attribute);
  return r;
}

}  // namespace sdk
}  // namespace tenon
