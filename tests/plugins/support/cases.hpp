// What the kernel tests share: random values, shapes of every rank, and the comparison with an
// oracle.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/floats.hpp"
#include "support/strided.hpp"

namespace tenon::test {

/// Seeded values.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}

  /// A float of about normal distribution, or any integer of the type.
  template <class T>
  T value(double scale = 1.0) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(engine_());
    } else {
      return nearest<T>(static_cast<long double>(normal_(engine_) * scale));
    }
  }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
};

/// Rank 0 to 6, axes of size 1 in every place, and an odd size in the last axis.
inline const std::vector<Dims>& shapes_of_each_rank() {
  static const std::vector<Dims> shapes{{},
                                        {1},
                                        {5},
                                        {3, 7},
                                        {1, 5},
                                        {4, 1},
                                        {2, 3, 5},
                                        {2, 1, 3, 2},
                                        {2, 1, 2, 3, 3},
                                        {2, 2, 1, 2, 2, 3}};
  return shapes;
}

/// Checks an element against its oracle: at most `limit` units in the last place away.
template <class T>
void count_wrong(std::int64_t& wrong, std::int64_t limit, T found, T expected) {
  if constexpr (std::is_integral_v<T>) {
    if (found != expected) ++wrong;
  } else {
    if (ulps_between(found, expected) > limit) ++wrong;
  }
}

}  // namespace tenon::test

// Float and integer element types that kernels are tested for.
#define TENON_TEST_FLOATS tenon::test::Half, tenon::test::BHalf, float, double
#define TENON_TEST_INTEGERS std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t
