// What the reference kernels compute in: wider than every input, rounded once at the end.
#pragma once

#include <cmath>
#include <concepts>

#include "numeric/float16.hpp"

namespace tenon::cpu {

/// A floating element type of a tensor.
template <class T>
concept FloatElement = std::same_as<T, Float16> || std::same_as<T, BFloat16> ||
    std::same_as<T, float> || std::same_as<T, double>;

/// The type in which values of element type T are computed: double; for double itself long double,
/// so that a float64 result is as good as one rounding of a wider computation makes it.
template <FloatElement T>
struct ComputeOf {
  using Type = double;
};
template <>
struct ComputeOf<double> {
  using Type = long double;
};
template <FloatElement T>
using Compute = typename ComputeOf<T>::Type;

template <FloatElement T>
[[nodiscard]] constexpr Compute<T> widen(T value) {
  if constexpr (std::same_as<T, Float16> || std::same_as<T, BFloat16>) {
    return value.to_double();
  } else {
    return value;
  }
}

/// The one rounding.
template <FloatElement T>
[[nodiscard]] constexpr T narrow(Compute<T> value) {
  if constexpr (std::same_as<T, Float16> || std::same_as<T, BFloat16>) {
    return T::from(value);
  } else {
    return static_cast<T>(value);
  }
}

/// A sum whose error does not grow with the number of its terms (Neumaier's compensated summation).
template <std::floating_point C>
class CompensatedSum {
 public:
  void add(C term) {
    const C next = sum_ + term;
    // What the addition lost is exact when taken from the larger of the two operands.
    lost_ += std::abs(sum_) >= std::abs(term) ? (sum_ - next) + term : (term - next) + sum_;
    sum_ = next;
  }
  /// An infinite or NaN sum stands as it is: its compensation is infinity minus infinity.
  [[nodiscard]] C value() const { return std::isfinite(sum_) ? sum_ + lost_ : sum_; }

 private:
  C sum_ = 0;
  C lost_ = 0;
};

}  // namespace tenon::cpu
