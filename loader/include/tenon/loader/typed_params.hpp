// Construction parameters with types: what the structs of the generated headers are made of.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/core/device.hpp"
#include "tenon/core/dtype.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/core/value.hpp"

namespace tenon {

/// A list parameter.
using Ints = std::vector<std::int64_t>;
/// A list parameter whose items may be None.
using OptionalInts = std::vector<std::optional<std::int64_t>>;

/// A parameter without a default: a struct in which it is left out does not compile.
template <class T>
class Required {
 public:
  template <class U = T>
  requires(!std::same_as<std::remove_cvref_t<U>, Required> && std::convertible_to<U, T>)
      Required(U value)
      : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  /// {4096}: items of a list.
  template <class V = T>
  requires requires { typename V::value_type; }
  Required(std::initializer_list<typename V::value_type> items) : value_(items) {}

  [[nodiscard]] const T& get() const { return value_; }
  operator const T&() const { return value_; }  // NOLINT(google-explicit-constructor)

 private:
  T value_;
};

/// A parameter that takes values of several types; with std::monostate among them also None,
/// written std::nullopt. Braces make a list where it takes one: {1} is a list with one item.
template <class... Ts>
class OneOf {
 public:
  using Variant = std::variant<Ts...>;
  static constexpr bool kMayBeNone = (std::same_as<Ts, std::monostate> || ...);
  static constexpr bool kTakesInts = (std::same_as<Ts, Ints> || ...);
  static constexpr bool kTakesOptionalInts = (std::same_as<Ts, OptionalInts> || ...);
  using value_type =
      std::conditional_t<kTakesInts, std::int64_t, std::optional<std::int64_t>>;  ///< of a list

  OneOf(std::nullopt_t)  // NOLINT(google-explicit-constructor)
      requires kMayBeNone : value_(std::monostate()) {}
  OneOf(std::initializer_list<value_type> items) requires(kTakesInts || kTakesOptionalInts)
      : value_(std::vector<value_type>(items)) {}
  template <class U>
  requires(!std::same_as<std::remove_cvref_t<U>, OneOf> &&
           !std::same_as<std::remove_cvref_t<U>, std::nullopt_t> &&
           std::constructible_from<Variant, U>) OneOf(U value)
      : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] const Variant& value() const { return value_; }

 private:
  Variant value_;
};

/// A number that keeps whether it was an integer, a real or a bool.
using Scalar = OneOf<bool, std::int64_t, double>;
/// The same, or None.
using OptionalScalar = OneOf<std::monostate, bool, std::int64_t, double>;

// ---- As values of the registry. Enums and algebraic types bring theirs with the generated
// headers.

/// A typed parameter as the value that Runtime::make takes.
inline Value to_value(std::monostate) { return {}; }
inline Value to_value(bool v) { return v; }
inline Value to_value(std::int64_t v) { return v; }
inline Value to_value(double v) { return v; }
inline Value to_value(DType v) { return v; }
inline Value to_value(const std::string& v) { return v; }
inline Value to_value(Device v) { return v.to_string(); }
inline Value to_value(const Value& v) { return v; }
inline Value to_value(const Ints& v) { return Value::list({v.begin(), v.end()}); }
Value to_value(const OptionalInts& v);
template <class T>
Value to_value(const std::optional<T>& v);
template <class T>
Value to_value(const Required<T>& v);
template <class... Ts>
Value to_value(const OneOf<Ts...>& v);

/// Definitions of the above.
inline Value to_value(const OptionalInts& v) {
  std::vector<Value> items;
  items.reserve(v.size());
  for (const auto& item : v) items.push_back(item ? Value(*item) : Value());
  return Value::list(std::move(items));
}
/// Empty: None.
template <class T>
Value to_value(const std::optional<T>& v) {
  return v ? to_value(*v) : Value();
}
/// The value within.
template <class T>
Value to_value(const Required<T>& v) {
  return to_value(v.get());
}
/// The alternative that it holds.
template <class... Ts>
Value to_value(const OneOf<Ts...>& v) {
  return std::visit([](const auto& alternative) { return to_value(alternative); }, v.value());
}

// ---- Equality by bits: 0.0 is not -0.0, and a NaN is a NaN. So are instances told apart.

/// True where two parameters make the same instance.
inline bool same_param(double a, double b) {
  return std::isnan(a) ? std::isnan(b)
                       : std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}
/// Objects are compared as the registry prints them.
inline bool same_param(const Value& a, const Value& b) {
  return a.data().index() == b.data().index() && a.to_string() == b.to_string();
}
/// Tensors are the same where they are the same memory, seen in the same way.
inline bool same_param(const Tensor& a, const Tensor& b) {
  return a.view().first() == b.view().first() && a.dtype() == b.dtype() && a.shape() == b.shape() &&
         a.strides() == b.strides() && a.device() == b.device();
}
/// Everything that compares by ==.
template <class T>
requires(std::integral<T> || std::is_enum_v<T> || std::same_as<T, std::string> ||
         std::same_as<T, Ints> || std::same_as<T, OptionalInts> || std::same_as<T, Device> ||
         std::same_as<T, std::monostate>) bool same_param(const T& a, const T& b) {
  return a == b;
}
template <class T>
bool same_param(const std::optional<T>& a, const std::optional<T>& b);
template <class T>
bool same_param(const Required<T>& a, const Required<T>& b);
template <class... Ts>
bool same_param(const OneOf<Ts...>& a, const OneOf<Ts...>& b);

/// Both empty, or the same within.
template <class T>
bool same_param(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || same_param(*a, *b));
}
/// The same within.
template <class T>
bool same_param(const Required<T>& a, const Required<T>& b) {
  return same_param(a.get(), b.get());
}
/// The same alternative, and the same in it.
template <class... Ts>
bool same_param(const OneOf<Ts...>& a, const OneOf<Ts...>& b) {
  return a.value().index() == b.value().index() &&
         std::visit(
             [&](const auto& alternative) {
               using T = std::remove_cvref_t<decltype(alternative)>;
               return same_param(alternative, std::get<T>(b.value()));
             },
             a.value());
}

}  // namespace tenon
