// Sums along rows of plugins/gpu_common/kernels/sum_loops.cuh on emulated lanes: rows of any length
// that begin anywhere.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "emulated/wave.hpp"
#include "kernels/sum_loops.cuh"

namespace tenon::gpu {
namespace {

constexpr int kRows = 5;

template <class T>
T item(std::size_t at) {
  const int value = static_cast<int>(at * 5 % 23) - 9;  // every sum is exact
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(value);
  } else {
    return nearest<T>(static_cast<float>(value));
  }
}

/// How many of the rows' sums are wrong, each made in so many parts.
template <class T>
int wrong_sums(std::size_t n, std::size_t first, unsigned parts, std::string& failure) {
  // Guards behind the rows: what is read there changes a sum.
  std::vector<T> x(first + kRows * n + 64, item<T>(3));
  for (std::size_t i = 0; i < kRows * n; ++i) x[first + i] = item<T>(i);
  std::vector<T> out(kRows);
  std::vector<Accumulator<T>> partial(static_cast<std::size_t>(kRows) * parts);
  const auto length = static_cast<std::int64_t>(n);
  const std::int64_t vectors = length / kPerVector<T>;
  gridDim = {2, parts};
  for (unsigned block = 0; block < 2 * parts; ++block) {
    blockIdx = {block % 2, block / 2};
    failure = emulated::run_block(32, {32, 4}, [&] {
      sum_rows<T, false>(x.data() + first,
                         out.data(),
                         partial.data(),
                         kRows,
                         length,
                         1,
                         vectors,
                         (vectors + parts - 1) / parts,
                         length);
    });
    if (!failure.empty()) return kRows;
  }
  int wrong = 0;
  for (std::size_t row = 0; row < kRows; ++row) {
    Accumulator<T> wanted = 0;
    for (std::size_t i = 0; i < n; ++i) wanted += term_of(item<T>(row * n + i));
    Accumulator<T> got = 0;
    for (std::size_t part = 0; part < parts; ++part) got += partial[part * kRows + row];
    if (got != wanted) ++wrong;
  }
  return wrong;
}

}  // namespace

TEST_SUITE("plugins/gpu/sum") {
  TEST_CASE_TEMPLATE("rows of any length, beginning anywhere, sum exactly in one part and in three",
                     T,
                     std::int8_t,
                     BFloat16,
                     float) {
    for (const std::size_t n : {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 65, 130}) {
      for (const std::size_t first : {0, 1, 5}) {
        CAPTURE(n);
        CAPTURE(first);
        std::string failure;
        const int wrong = wrong_sums<T>(n, first, 1, failure) + wrong_sums<T>(n, first, 3, failure);
        CHECK(failure == "");
        CHECK(wrong == 0);
      }
    }
  }
}

}  // namespace tenon::gpu
