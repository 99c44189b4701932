// The reductions of plugins/gpu_common/device/lanes.cuh on emulated waves of 32 and of 64 lanes.
#include "device/lanes.cuh"

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "emulated/wave.hpp"

namespace tenon::gpu {
namespace {

constexpr std::uint32_t kWaves[] = {32, 64};
constexpr int kMostWidth = 130;

/// Integers, some below zero, so that every sum is exact in float.
float item(int row, int at) { return static_cast<float>((row * 7 + at * 5) % 23 - 9); }

float expected_sum(int row, int width) {
  int sum = 0;
  for (int at = 0; at < width; ++at) sum += static_cast<int>(item(row, at));
  return static_cast<float>(sum);
}

/// What is written for a 32-lane warp by someone who takes the wave for it: 5 steps over the wave.
float wave_sum_of_32(float value) {
  for (int mask = 16; mask > 0; mask /= 2)
    value += emulated::shuffle_xor(value, mask, static_cast<int>(emulated::wave_lanes()));
  return value;
}

/// One row by the lanes of one wave, by the naive sum.
float naive_row_sum(std::uint32_t lanes, int width, std::string& failure) {
  float result = 0;
  failure = emulated::run_block(lanes, {lanes, 1}, [&] {
    float sum = 0;
    for (int at = static_cast<int>(emulated::thread_index().x); at < width;
         at += static_cast<int>(lanes))
      sum += item(0, at);
    sum = wave_sum_of_32(sum);
    if (emulated::thread_index().x == 0) result = sum;
  });
  return result;
}

/// What a thread of a row gets of the row's elements, in steps of the row's threads.
template <class Visit>
void over_mine(int width, Visit visit) {
  const auto step = static_cast<int>(emulated::block_size().x);
  for (auto at = static_cast<int>(emulated::thread_index().x); at < width; at += step) visit(at);
}

/// Runs one block over rows of every width; how many threads got a wrong sum.
int wrong_sums(std::uint32_t lanes,
               std::uint32_t threads,
               std::uint32_t rows,
               std::string& failure) {
  int wrong = 0;
  std::vector<float> scratch(static_cast<std::size_t>(rows) * kGroup);
  failure = emulated::run_block(lanes, {threads, rows}, [&] {
    const auto row = static_cast<int>(emulated::thread_index().y);
    for (int width = 1; width <= kMostWidth; ++width) {
      float sum = 0;
      over_mine(width, [&](int at) { sum += item(row, at); });
      sum = reduce_row(sum, Add{}, 0.0F, scratch.data());
      if (sum != expected_sum(row, width)) ++wrong;
    }
  });
  return wrong;
}

/// The same of one width: sums in 64 bits and the largest, each in scratch that is used once.
int wrong_in_fresh_scratch(std::uint32_t lanes, int width, std::string& failure) {
  int wrong = 0;
  std::vector<unsigned long long> sums(kGroup);
  std::vector<float> largest(kGroup);
  const auto terms = static_cast<unsigned long long>(width);
  float wanted = -INFINITY;
  for (int at = 0; at < width; ++at) wanted = std::fmax(wanted, item(1, at));
  failure = emulated::run_block(lanes, {96, 1}, [&] {
    unsigned long long sum = 0;
    float most = -INFINITY;
    over_mine(width, [&](int at) {
      sum += static_cast<unsigned long long>(at + 1) << 40;
      most = std::fmax(most, item(1, at));
    });
    sum = reduce_row<true>(sum, Add{}, 0ULL, sums.data());
    most = reduce_row<true>(most, Larger{}, -INFINITY, largest.data());
    if (sum != (terms * (terms + 1) / 2) << 40 || most != wanted) ++wrong;
  });
  return wrong;
}

}  // namespace

TEST_SUITE("plugins/gpu/lanes") {
  TEST_CASE("D99 sums of rows of 1 to 130 integers are exact on waves of 32 and of 64 lanes") {
    for (const std::uint32_t lanes : kWaves) {
      for (const std::uint32_t threads : {32U, 64U, 128U}) {
        CAPTURE(lanes);
        CAPTURE(threads);
        std::string failure;
        // Narrow rows share a block, as the kernels divide them.
        const int wrong = wrong_sums(lanes, threads, threads == 32 ? 4 : 1, failure);
        CHECK(failure == "");
        CHECK(wrong == 0);
      }
    }
  }

  TEST_CASE("D99 so are sums in 64-bit integers and largest values, with fresh scratch") {
    for (const std::uint32_t lanes : kWaves) {
      for (int width = 1; width <= kMostWidth; ++width) {
        CAPTURE(lanes);
        CAPTURE(width);
        std::string failure;
        const int wrong = wrong_in_fresh_scratch(lanes, width, failure);
        REQUIRE(failure == "");
        REQUIRE(wrong == 0);
      }
    }
  }

  TEST_CASE("D99 the emulation shows half sums where a wave of 64 is taken for 32 lanes") {
    std::string failure;
    CHECK(naive_row_sum(32, 130, failure) == expected_sum(0, 130));
    CHECK(failure == "");

    const float half = naive_row_sum(64, 130, failure);

    CHECK(failure == "");
    CHECK(half != expected_sum(0, 130));
  }

  TEST_CASE("the emulation reports what no hardware would do") {
    const std::string wide =
        emulated::run_block(32, {32, 1}, [] { emulated::shuffle_xor(1.0F, 1, 64); });
    const std::string ended = emulated::run_block(32, {32, 1}, [] {
      if (emulated::thread_index().x != 1) emulated::shuffle_xor(1.0F, 1, 32);
    });
    const std::string waiting = emulated::run_block(32, {64, 1}, [] {
      if (emulated::thread_index().x == 0) {
        emulated::shuffle_xor(1.0F, 1, 32);
      } else {
        emulated::barrier();
      }
    });

    CHECK(wide == "a shuffle of 64 lanes in a wave of 32");
    CHECK(ended == "a shuffle with a lane that has ended");
    CHECK(waiting.find("lanes wait for ever") == 0);
  }
}

}  // namespace tenon::gpu
