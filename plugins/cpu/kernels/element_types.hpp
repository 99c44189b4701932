// From a tensor's dtype to the C++ element type that a kernel is instantiated for.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "numeric/compute.hpp"
#include "tenon/plugin.hpp"

namespace tenon::cpu {

/// Calls visit(std::type_identity<T>{}) for a floating dtype that kernels compute in. False for any
/// other.
template <class Visit>
[[nodiscard]] bool visit_float(ElementType dtype, Visit visit) {
  switch (dtype.id()) {
    case kFloat16.id():
      return visit(std::type_identity<Float16>{}), true;
    case kBFloat16.id():
      return visit(std::type_identity<BFloat16>{}), true;
    case kFloat32.id():
      return visit(std::type_identity<float>{}), true;
    case kFloat64.id():
      return visit(std::type_identity<double>{}), true;
    default:
      return false;
  }
}

/// The same for the integer dtypes.
template <class Visit>
[[nodiscard]] bool visit_integer(ElementType dtype, Visit visit) {
  switch (dtype.id()) {
    case kInt8.id():
      return visit(std::type_identity<std::int8_t>{}), true;
    case kInt16.id():
      return visit(std::type_identity<std::int16_t>{}), true;
    case kInt32.id():
      return visit(std::type_identity<std::int32_t>{}), true;
    case kInt64.id():
      return visit(std::type_identity<std::int64_t>{}), true;
    case kUInt8.id():
      return visit(std::type_identity<std::uint8_t>{}), true;
    default:
      return false;
  }
}

/// Ends the launch: a dtype arrived that the contract does not list.
[[noreturn]] inline void unknown_dtype(ElementType dtype) {
  throw Failure(TENON_INVALID_ARGUMENT,
                "a tensor of dtype " + std::string(dtype.name()) +
                    " arrived, which this kernel's contract does not list");
}

}  // namespace tenon::cpu
