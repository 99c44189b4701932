// From a launch's element type to the type that a kernel is instantiated with.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/element.cuh"
#include "device/views.hpp"

namespace tenon::gpu {

/// Calls visit with a value of the float type; anything else is taken for float32.
template <class Visit>
void visit_float(Element element, Visit visit) {
  switch (element) {
    case Element::kFloat16:
      return visit(Half{});
    case Element::kBFloat16:
      return visit(BFloat16{});
    default:
      return visit(float{});
  }
}

/// Integers where their signs matter, and where they do not: then two share one kernel.
enum class Integers : std::uint8_t { kSigned, kUnsignedOnly };

/// Calls visit with a value of the element type.
template <Integers kIntegers, class Visit>
void visit_element(Element element, Visit visit) {
  constexpr bool kSigned = kIntegers == Integers::kSigned;
  const auto visit_integer = [&](auto zero) {
    using T = decltype(zero);
    return visit(std::conditional_t<kSigned, T, std::make_unsigned_t<T>>{});
  };
  switch (element) {
    case Element::kFloat16:
    case Element::kBFloat16:
    case Element::kFloat32:
      return visit_float(element, visit);
    case Element::kU8:
      return visit(std::uint8_t{});
    case Element::kI8:
      return visit_integer(std::int8_t{});
    case Element::kI16:
      return visit_integer(std::int16_t{});
    case Element::kI32:
      return visit_integer(std::int32_t{});
    case Element::kI64:
      return visit_integer(std::int64_t{});
  }
}

}  // namespace tenon::gpu
