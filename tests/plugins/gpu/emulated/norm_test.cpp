// RMS and layer norms of plugins/gpu_common/kernels/norm_loops.cuh on emulated lanes, where float
// has no room for squares, differences or scales.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "emulated/wave.hpp"
#include "kernels/norm_loops.cuh"

namespace tenon::gpu {
namespace {

template <class T>
constexpr double kUlp = sizeof(T) == 4 ? 0x1p-23 : 0x1p-7;

/// Rows of alternating signs and slowly growing sizes around `size`, as T holds them.
template <class T>
std::vector<T> rows_around(const std::vector<double>& sizes, int n) {
  std::vector<T> out(sizes.size() * static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto at = static_cast<double>(i % static_cast<std::size_t>(n));
    const double size = sizes[i / static_cast<std::size_t>(n)];
    const double value = size * (1 - 0.5 * at / n) * (i % 2 == 0 ? 1 : -1);
    out[i] = nearest<T>(static_cast<float>(value));
  }
  return out;
}

template <class T>
double value_of(T value) {
  return static_cast<double>(as_float(value));
}

/// How many results are not the norm that doubles make, within two units of the last place.
template <class T>
int wrong_in(const std::vector<T>& x, const std::vector<T>& got, int n, double eps, bool centered) {
  int wrong = 0;
  for (std::size_t first = 0; first < x.size(); first += static_cast<std::size_t>(n)) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += value_of(x[first + static_cast<std::size_t>(i)]);
    const double mean = centered ? sum / n : 0;
    double squares = 0;
    for (int i = 0; i < n; ++i) {
      const double value = value_of(x[first + static_cast<std::size_t>(i)]) - mean;
      squares += value * value;
    }
    const double scale = 1 / std::sqrt(squares / n + eps);
    for (int i = 0; i < n; ++i) {
      const std::size_t at = first + static_cast<std::size_t>(i);
      const double wanted = (value_of(x[at]) - mean) * scale;
      const double error = std::fabs(value_of(got[at]) - wanted);
      if (!(error <= 2 * kUlp<T> * std::fabs(wanted))) ++wrong;
    }
  }
  return wrong;
}

/// Calls kernel() in each block of a launch.
template <class Kernel>
std::string launch(unsigned blocks, unsigned threads, unsigned rows, Kernel kernel) {
  gridDim = {blocks, 1};
  for (unsigned block = 0; block < blocks; ++block) {
    blockIdx = {block, 0};
    std::string failure = emulated::run_block(32, {threads, rows}, kernel);
    if (!failure.empty()) return failure;
  }
  return {};
}

// Beside rows that fit: squares that overflow, and ones that vanish.
const std::vector<double> kSizes{1e20, 1, 3e38, 1e-25, 2e19, 1e-38, 7};

template <class T>
void check_small_rows() {
  const int n = 3 * kPerVector<T>;
  const std::vector<T> x = rows_around<T>(kSizes, n);
  std::vector<T> out = x;  // in place
  const auto rows = static_cast<std::int64_t>(kSizes.size());

  const std::string failure = launch(2, 32, 4, [&] {
    norm_on_chip<T, false, 1>(out.data(), nullptr, nullptr, out.data(), rows, 3, 0.0F);
  });

  CHECK(failure == "");
  CHECK(wrong_in(x, out, n, 0, false) == 0);
}

template <class T>
void check_wide_rows(float eps) {
  constexpr int kVectors = 100;
  const int n = kVectors * kPerVector<T>;
  const std::vector<T> x = rows_around<T>(kSizes, n);
  std::vector<T> out(x.size());
  const auto rows = static_cast<std::int64_t>(kSizes.size());

  const std::string failure = launch(static_cast<unsigned>(rows), 64, 1, [&] {
    norm_on_chip<T, false, 2>(x.data(), nullptr, nullptr, out.data(), rows, kVectors, eps);
  });

  CHECK(failure == "");
  CHECK(wrong_in(x, out, n, static_cast<double>(eps), false) == 0);
}

template <class T>
void check_staying_rows() {
  constexpr int kN = kManyRowThreads * kManyRowVectors * kPerVector<T>;
  const std::vector<T> x = rows_around<T>(kSizes, kN);
  std::vector<T> out = x;  // in place

  const std::string failure = launch(2, kManyRowThreads, 1, [&] {
    rms_norm_staying<T>(out.data(), nullptr, out.data(), static_cast<int>(kSizes.size()), 0.0F);
  });

  CHECK(failure == "");
  CHECK(wrong_in(x, out, kN, 0, false) == 0);
}

}  // namespace

TEST_SUITE("plugins/gpu/norm") {
  TEST_CASE_TEMPLATE(
      "rows whose squares leave float's range are normalised as doubles do", T, float, BFloat16) {
    check_small_rows<T>();
    check_wide_rows<T>(0);
    check_wide_rows<T>(1e-5F);
    check_staying_rows<T>();
  }

  TEST_CASE("a row of infinities or NaN gives what it holds to no other row") {
    constexpr int kN = 2 * kPerVector<float>;
    constexpr std::size_t kRow = kN;
    std::vector<float> x = rows_around<float>({1, 1, 1, 1}, kN);
    x[1] = std::numeric_limits<float>::infinity();
    x[2 * kRow] = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> out(x.size());

    const std::string failure = launch(1, 32, 4, [&] {
      norm_on_chip<float, false, 1>(x.data(), nullptr, nullptr, out.data(), 4, 2, 1e-5F);
    });

    CHECK(failure == "");
    CHECK(out[0] == 0);
    CHECK(std::isnan(out[1]));
    CHECK(std::isnan(out[2 * kRow + 1]));
    for (const std::size_t row : {1, 3}) {
      const float* const from = x.data() + row * kRow;
      const float* const to = out.data() + row * kRow;
      CHECK(wrong_in(std::vector<float>(from, from + kRow),
                     std::vector<float>(to, to + kRow),
                     kN,
                     1e-5,
                     false) == 0);
    }
  }

  TEST_CASE("a layer norm of bfloat16 that spreads over all of float's range is right") {
    const int n = 3 * kPerVector<BFloat16>;
    std::vector<BFloat16> x = rows_around<BFloat16>({1, 1, 1e-39, 2e20}, n);
    // Its mean and one element are further apart than the largest number.
    for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = nearest<BFloat16>(3.3e38F);
    x[3] = nearest<BFloat16>(-3.3e38F);
    std::vector<BFloat16> out(x.size());

    const std::string failure = launch(1, 32, 4, [&] {
      norm_on_chip<BFloat16, true, 1>(x.data(), nullptr, nullptr, out.data(), 4, 3, 0.0F);
    });

    CHECK(failure == "");
    CHECK(wrong_in(x, out, n, 0, true) == 0);
  }
}

}  // namespace tenon::gpu
