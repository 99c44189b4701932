// Sums along a row of adjacent elements, in double, vectorised.
#pragma once

#include <cstdint>

#include "numeric/branch_free.hpp"

namespace tenon::cpu {

template <class T>
[[gnu::always_inline]] inline double as_double(T value) {
  return static_cast<double>(widen_branch_free(value));
}

/// Sum of term(element) over a row: 32 sums that each take every 32nd element of a block of 256, so
/// that no sum has many terms before it is added to the total. `term` must inline
/// (gnu::always_inline).
template <class T, class Term>
[[gnu::always_inline]] inline double sum_along_row(const T* x, std::int64_t n, const Term& term) {
  constexpr std::int64_t kLanes = 32;
  constexpr std::int64_t kBlock = 256;
  double total = 0;
  std::int64_t start = 0;
  for (; start + kBlock <= n; start += kBlock) {
    double lanes[kLanes] = {};
    for (std::int64_t i = start; i < start + kBlock; i += kLanes) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] += term(as_double(x[i + lane]));
    }
    double block = 0;
    for (const double lane : lanes) block += lane;
    total += block;
  }
  for (; start < n; ++start) total += term(as_double(x[start]));
  return total;
}

/// Terms for sum_along_row.
struct Itself {
  [[gnu::always_inline]] double operator()(double value) const { return value; }
};
struct Square {
  [[gnu::always_inline]] double operator()(double value) const { return value * value; }
};
struct SquaredDifference {
  double from = 0;
  [[gnu::always_inline]] double operator()(double value) const {
    return (value - from) * (value - from);
  }
};

}  // namespace tenon::cpu
