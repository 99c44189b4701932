// Views: how flows reshape, pad and copy tensors.
#include <array>
#include <numeric>

#include <doctest/doctest.h>

#include "tenon/core/flow.hpp"

using tenon::Dims;
using tenon::DType;
using tenon::TensorView;

namespace {

// Elements of a view in row-major order, as offsets from the first.
std::vector<std::int64_t> order_of(const TensorView& v, const std::int32_t* base) {
  std::vector<std::int64_t> all;
  const std::int64_t n = v.count();
  for (std::int64_t flat = 0; flat < n; ++flat) {
    std::int64_t rest = flat;
    std::int64_t offset = 0;
    for (std::size_t i = v.shape.size(); i-- > 0;) {
      offset += (rest % v.shape[i]) * v.strides[i];
      rest /= v.shape[i];
    }
    all.push_back(reinterpret_cast<const std::int32_t*>(v.first()) + offset - base);
  }
  return all;
}

}  // namespace

TEST_SUITE("core/flows/views") {
  TEST_CASE("a reshaped view reaches the same elements in the same order, or is refused") {
    std::array<std::int32_t, 4096> memory{};
    const std::vector<Dims> shapes{
        {2, 3, 4}, {6, 4}, {2, 12}, {24}, {1, 24, 1}, {2, 1, 3, 4}, {4, 6}, {3, 8}, {2, 2, 6}};
    const std::vector<std::pair<Dims, Dims>> sources{{{2, 3, 4}, {12, 4, 1}},
                                                     {{2, 3, 4}, {40, 4, 1}},
                                                     {{2, 3, 4}, {40, 10, 1}},
                                                     {{2, 3, 4}, {4, 8, 1}},
                                                     {{24}, {3}},
                                                     {{2, 3, 4}, {1, 2, 6}},
                                                     {{2, 1, 12}, {12, 7, 1}},
                                                     {{2, 3, 4}, {0, 4, 1}},
                                                     {{2, 3, 4}, {-12, -4, -1}},
                                                     {{4, 6}, {6, 1}}};
    int views = 0;
    int refused = 0;
    for (const auto& [shape, strides] : sources) {
      const TensorView source(memory.data() + 2048, DType::kInt32, shape, strides);
      for (const Dims& to : shapes) {
        TensorView view;
        if (!tenon::reshape_view(source, to, view)) {
          ++refused;
          continue;
        }
        ++views;
        CAPTURE(shape.to_string());
        CAPTURE(strides.to_string());
        CAPTURE(to.to_string());
        REQUIRE(view.shape == to);
        REQUIRE(order_of(view, memory.data()) == order_of(source, memory.data()));
      }
    }
    CHECK(views > 40);
    CHECK(refused > 20);
    TensorView view;
    CHECK_FALSE(
        tenon::reshape_view(TensorView(memory.data(), DType::kInt32, Dims{2, 3}), Dims{7}, view));
    CHECK(tenon::reshape_view(
        TensorView(memory.data(), DType::kInt32, Dims{0, 3}), Dims{3, 0, 5}, view));
    CHECK(tenon::reshape_view(TensorView(memory.data(), DType::kInt32, Dims{}), Dims{1, 1}, view));
    CHECK(tenon::reshape_view(TensorView(memory.data(), DType::kInt32, Dims{1, 1}), Dims{}, view));
  }

  TEST_CASE("a dense tensor takes every shape of as many elements") {
    std::array<std::int32_t, 64> memory{};
    const TensorView source(memory.data(), DType::kInt32, Dims{4, 15});
    for (const Dims& to : {Dims{60}, Dims{2, 30}, Dims{3, 4, 5}, Dims{1, 60, 1}, Dims{5, 12}}) {
      TensorView view;
      REQUIRE(tenon::reshape_view(source, to, view));
      CHECK(view.is_dense());
    }
  }

  TEST_CASE(
      "broadcasting gives stride 0 to axes of size 1 and to new ones, and refuses sizes that "
      "differ") {
    std::array<std::int32_t, 64> memory{};
    TensorView view;
    REQUIRE(tenon::expand_view(
        TensorView(memory.data(), DType::kInt32, Dims{3, 1}), Dims{2, 3, 4}, view));
    CHECK(view.strides == Dims{0, 1, 0});
    CHECK_FALSE(
        tenon::expand_view(TensorView(memory.data(), DType::kInt32, Dims{3}), Dims{2, 4}, view));
    CHECK_FALSE(
        tenon::expand_view(TensorView(memory.data(), DType::kInt32, Dims{2, 4}), Dims{4}, view));
    REQUIRE(
        tenon::expand_view(TensorView(memory.data(), DType::kInt32, Dims{1, 3}), Dims{0, 3}, view));
    CHECK(view.count() == 0);
  }

  TEST_CASE("every flow is found by its name, and an unknown one is not") {
    for (const auto name : tenon::flow_names()) CHECK(tenon::find_flow(name)->name() == name);
    CHECK(tenon::find_flow("row_norms") == nullptr);
  }
}
