// CastFwdOp, reference: every element as another dtype. Real to integer truncates and saturates,
// NaN gives 0; between integers the low bits are kept; everything else is rounded once.
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/element_types.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/reference.hpp"
#include "numeric/float8.hpp"
#include "tenon/contracts/elementwise.h"

namespace tenon::cpu {
namespace {

/// An element of any dtype, exactly.
struct Number {
  bool is_integer = false;
  std::int64_t integer = 0;
  double real = 0;
};

template <class T>
Number load_number(const View& x, std::int64_t offset) {
  const T value = x.load<T>(offset);
  if constexpr (std::integral<T>) {
    return {true, static_cast<std::int64_t>(value), 0};
  } else if constexpr (std::floating_point<T>) {
    return {false, 0, static_cast<double>(value)};
  } else {
    return {false, 0, value.to_double()};
  }
}

/// A bool is a byte: any but 0 is true.
template <>
Number load_number<bool>(const View& x, std::int64_t offset) {
  return {true, x.load<std::uint8_t>(offset) != 0 ? 1 : 0, 0};
}

template <std::integral T>
T saturated(double value) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(value)) return 0;
  // Both bounds are powers of two less or more one, or exact: what lies between truncates into T.
  if (value <= static_cast<double>(Limits::min())) return Limits::min();
  if (value >= std::ldexp(1.0, Limits::digits)) return Limits::max();
  return static_cast<T>(value);
}

/// A double that rounds to any format of at most 51 bits as the integer itself does: what does not
/// fit leaves its trace in the last bit.
double to_odd(std::int64_t value) {
  auto real = static_cast<double>(value);
  if (std::abs(real) < 0x1p53) return real;
  // 2^63 - 1 rounds up to 2^63, which no int64 is: it is inexact, and lies above.
  const bool above = real >= 0x1p63 || static_cast<std::int64_t>(real) > value;
  const bool exact = real < 0x1p63 && static_cast<std::int64_t>(real) == value;
  if (exact) return real;
  const double other = std::nextafter(real, above ? -0x1p64 : 0x1p64);
  return (std::bit_cast<std::uint64_t>(real) & 1U) != 0 ? real : other;
}

template <class T>
void store_number(const View& output, std::int64_t offset, const Number& number) {
  if constexpr (std::same_as<T, bool>) {
    const bool value = number.is_integer ? number.integer != 0 : number.real != 0;
    output.store(offset, static_cast<std::uint8_t>(value ? 1 : 0));
  } else if constexpr (std::integral<T>) {
    output.store(offset,
                 number.is_integer ? static_cast<T>(number.integer) : saturated<T>(number.real));
  } else if constexpr (std::same_as<T, double>) {
    output.store(offset, number.is_integer ? static_cast<double>(number.integer) : number.real);
  } else {
    const double real = number.is_integer ? to_odd(number.integer) : number.real;
    if constexpr (std::same_as<T, float>) {
      output.store(offset, static_cast<float>(real));
    } else {
      output.store(offset, T::from(real));
    }
  }
}

template <class Visit>
bool visit_any(ElementType dtype, Visit visit) {
  if (visit_float(dtype, visit) || visit_integer(dtype, visit)) return true;
  switch (dtype.id()) {
    case kBool.id():
      return visit(std::type_identity<bool>{}), true;
    case kFloat8E4M3FN.id():
      return visit(std::type_identity<Float8E4M3FN>{}), true;
    case kFloat8E5M2.id():
      return visit(std::type_identity<Float8E5M2>{}), true;
    default:
      return false;
  }
}

struct CastReference : ReferenceKernel<contracts::cast_fwd::Call> {
  static constexpr auto op = "CastFwdOp", interface = "cast_fwd";

  static void launch(const Launch& launch) {
    const View x = view_of(launch, 0);
    const View output = view_of(launch, 1);
    require_shape(x, output.sizes(), "x");
    Number (*load)(const View&, std::int64_t) = nullptr;
    void (*store)(const View&, std::int64_t, const Number&) = nullptr;
    if (!visit_any(x.dtype, [&]<class T>(std::type_identity<T>) { load = load_number<T>; }))
      unknown_dtype(x.dtype);
    if (!visit_any(output.dtype, [&]<class T>(std::type_identity<T>) { store = store_number<T>; }))
      unknown_dtype(output.dtype);
    for_each_index<2>(output.sizes(), {x.steps(), output.steps()}, [&](const auto& at) {
      store(output, at[1], load(x, at[0]));
    });
  }
};

}  // namespace

KernelRows cast_kernels() { return kernel_rows<CastReference>(); }

}  // namespace tenon::cpu
