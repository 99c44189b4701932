// The conversions of plugins/gpu_common/device/convert.cuh, compiled for the host, against the
// CPU's CastFwdOp: every pair of dtypes, every value of 8 and of 16 bits, edges and random bits of
// the longer ones.
#include "device/convert.cuh"

#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "support/launcher.hpp"
#include "tenon/plugin.hpp"

namespace tenon::gpu {
namespace {

template <class T>
struct Named {
  using Type = T;
  ElementType dtype;
};
template <class Visit>
void over_types(Visit visit) {
  visit(Named<Bool>{kBool});
  visit(Named<std::uint8_t>{kUInt8});
  visit(Named<std::int8_t>{kInt8});
  visit(Named<std::int16_t>{kInt16});
  visit(Named<std::int32_t>{kInt32});
  visit(Named<std::int64_t>{kInt64});
  visit(Named<Half>{kFloat16});
  visit(Named<BFloat16>{kBFloat16});
  visit(Named<float>{kFloat32});
  visit(Named<double>{kFloat64});
  visit(Named<E4M3>{kFloat8E4M3FN});
  visit(Named<E5M2>{kFloat8E5M2});
}

template <class T>
std::uint64_t bits_of(const T& value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}
template <class T>
T from_bits(std::uint64_t bits) {
  T value{};
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_integral_v<decltype(widened(value))>) {
    return false;
  } else {
    return std::isnan(widened(value));
  }
}

/// Around powers of two, halfway between two numbers of few bits, and just beside.
template <class T>
void add_integers(std::vector<T>& values, int bit) {
  for (int near = -3; near <= 3; ++near) {
    const std::int64_t value = (std::int64_t{1} << bit) + near;
    for (const int digits : {63, 24, 11, 8, 4, 3}) {
      const std::int64_t halfway =
          bit > digits ? value + (std::int64_t{1} << (bit - digits)) : value;
      values.push_back(static_cast<T>(halfway));
      values.push_back(static_cast<T>(-halfway));
    }
  }
}
template <class T>
void add_reals(std::vector<T>& values, int exponent) {
  for (const int digits : {0, 1, 2, 3, 4, 8, 9, 11, 12, 24}) {
    for (const double near : {0.0, 0x1p-23, -0x1p-23, 0x1p-40, -0x1p-40, 0x1p-52}) {
      const double value = std::ldexp(1.0 + std::ldexp(1.0, -digits) + near, exponent);
      values.push_back(static_cast<T>(value));
      values.push_back(static_cast<T>(-value));
    }
  }
}

/// Values of a long type around which conversions change.
template <class T>
void add_edges(std::vector<T>& values) {
  if constexpr (std::is_integral_v<T>) {
    for (int bit = 0; bit < 63; ++bit) add_integers(values, bit);
  } else {
    for (int exponent = -160; exponent <= 140; ++exponent) add_reals(values, exponent);
    for (const double value : {0.0,
                               2147483647.0,
                               2147483648.0,
                               9223372036854775807.0,
                               1.7976931348623157e308,
                               254.5,
                               255.0,
                               255.5,
                               256.0,
                               static_cast<double>(INFINITY),
                               static_cast<double>(NAN)}) {
      values.push_back(static_cast<T>(value));
      values.push_back(static_cast<T>(-value));
    }
  }
}

template <class T>
std::vector<T> values_of() {
  std::vector<T> values;
  if constexpr (sizeof(T) <= 2) {
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << (8 * sizeof(T))); ++bits)
      values.push_back(from_bits<T>(bits));
  } else {
    std::mt19937_64 random(31);
    for (int i = 0; i < 20000; ++i) values.push_back(from_bits<T>(random()));
    add_edges(values);
  }
  return values;
}

template <class T>
tenon_tensor tensor_of(std::vector<T>& values, ElementType dtype, std::int64_t& count) {
  static const std::int64_t kStride = 1;
  count = static_cast<std::int64_t>(values.size());
  return {values.data(), 1, 0, 1, dtype.raw(), &count, &kStride, 0};
}

}  // namespace

TEST_SUITE("plugins/gpu/convert") {
  TEST_CASE("device code casts every pair of dtypes to the CPU's bits") {
    over_types([](auto from) {
      using From = typename decltype(from)::Type;
      std::vector<From> values = values_of<From>();
      over_types([&](auto to) {
        using To = typename decltype(to)::Type;
        std::vector<To> wanted(values.size());
        std::int64_t count = 0;
        const tenon_tensor x = tensor_of(values, from.dtype, count);
        const tenon_tensor output = tensor_of(wanted, to.dtype, count);
        const std::vector<tenon_value> fields{test::ints_value({count}),
                                              test::dtype_value(from.dtype.raw()),
                                              test::dtype_value(to.dtype.raw())};
        const test::Outcome outcome =
            test::launch(test::row_of("CastFwdOp"), fields, {&x, &output});
        REQUIRE_MESSAGE(outcome.status == TENON_OK, outcome.text);
        CAPTURE(from.dtype.name());
        CAPTURE(to.dtype.name());

        std::size_t wrong = 0;
        std::size_t first = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
          const To got = narrowed<To>(widened(values[i]));
          const bool same =
              bits_of(got) == bits_of(wanted[i]) || (is_nan(got) && is_nan(wanted[i]));
          if (!same && wrong++ == 0) first = i;
        }

        CAPTURE(bits_of(values[first]));
        CAPTURE(bits_of(wanted[first]));
        CAPTURE(bits_of(narrowed<To>(widened(values[first]))));
        CHECK(wrong == 0);
      });
    });
  }
}

}  // namespace tenon::gpu
