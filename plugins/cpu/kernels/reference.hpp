// What all reference kernels declare.
#pragma once

#include <array>
#include <tuple>

#include "kernels/arguments.hpp"
#include "tenon/plugin.hpp"

namespace tenon::cpu {

/// Base of the reference kernel types: plain and provably right; any layout, any rank, any dtype of
/// the contract; double accumulation and one rounding at the end. They have no state, so one build
/// serves all.
template <class CallType>
struct ReferenceKernel {
  static constexpr auto key = "reference";
  static constexpr std::array devices{"cpu"};
  static constexpr std::uint32_t layouts = kAllLayouts;
  static constexpr ElementType accumulate = kFloat64;
  static constexpr bool reference = true;
  static constexpr bool deterministic = true;
  using Call = CallType;

  static std::tuple<> identity(const Call& /*call*/) { return {}; }
};

}  // namespace tenon::cpu
