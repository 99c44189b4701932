// Tensors: dimensions, views, overlap and owned memory.
#include "tenon/core/tensor.hpp"

#include <array>
#include <set>

#include <doctest/doctest.h>

#include "tenon/core/value.hpp"

using tenon::Device;
using tenon::Dims;
using tenon::DType;
using tenon::TensorView;

namespace {

// Every byte that a view reaches, by brute force: the oracle of the overlap tests.
std::multiset<const std::byte*> elements_of(const TensorView& v) {
  std::multiset<const std::byte*> all;
  Dims index(v.shape);
  const std::int64_t n = v.count();
  for (std::int64_t flat = 0; flat < n; ++flat) {
    std::int64_t rest = flat;
    std::int64_t offset = 0;
    for (std::size_t i = v.shape.size(); i-- > 0;) {
      offset += (rest % v.shape[i]) * v.strides[i];
      rest /= v.shape[i];
    }
    all.insert(v.first() + offset * static_cast<std::int64_t>(tenon::size_bytes_of(v.dtype)));
  }
  return all;
}

bool share_an_element(const TensorView& a, const TensorView& b) {
  const auto ea = elements_of(a);
  for (const std::byte* p : elements_of(b)) {
    if (ea.count(p) != 0) return true;
  }
  return false;
}

bool repeats_an_element(const TensorView& a) {
  const auto e = elements_of(a);
  return std::set<const std::byte*>(e.begin(), e.end()).size() != e.size();
}

}  // namespace

TEST_SUITE("core/values/tensor") {
  TEST_CASE("an element count past 2^63 is none, and a zero axis wins over the overflow") {
    CHECK(tenon::element_count(Dims{2, 3, 4}) == 24);
    CHECK(tenon::element_count(Dims{}) == 1);
    CHECK_FALSE(tenon::element_count(Dims{std::int64_t{1} << 32, std::int64_t{1} << 32}));
    CHECK(tenon::element_count(Dims{std::int64_t{1} << 32, std::int64_t{1} << 32, 0}) == 0);
  }

  TEST_CASE("D39: strides of size-1 axes do not matter to denseness") {
    std::array<std::byte, 8> memory{};
    for (std::int64_t odd : {128, 262144, 0, 7}) {
      CHECK(TensorView(
                memory.data(), DType::kFloat16, Dims{16, 1, 2048, 128}, Dims{262144, odd, 128, 1})
                .is_dense());
    }
    CHECK_FALSE(
        TensorView(memory.data(), DType::kFloat16, Dims{16, 2, 128}, Dims{256, 0, 1}).is_dense());
    CHECK(TensorView(memory.data(), DType::kFloat16, Dims{0, 2}, Dims{-5, 9}).is_dense());
  }

  TEST_CASE("self-overlap agrees with a count of distinct elements on every small layout") {
    std::array<float, 4096> memory{};
    int overlapping = 0;
    for (std::int64_t s0 = -6; s0 <= 6; ++s0) {
      for (std::int64_t s1 = -6; s1 <= 6; ++s1) {
        for (std::int64_t n0 = 1; n0 <= 4; ++n0) {
          for (std::int64_t n1 = 1; n1 <= 4; ++n1) {
            const TensorView v(memory.data() + 2048, DType::kFloat32, Dims{n0, n1}, Dims{s0, s1});
            const bool truth = repeats_an_element(v);
            overlapping += truth ? 1 : 0;
            // It may say "overlaps" where strides cross without meeting, never the other way round.
            if (truth) REQUIRE(tenon::overlaps_itself(v));
          }
        }
      }
    }
    CHECK(overlapping > 500);
    CHECK_FALSE(
        tenon::overlaps_itself(TensorView(memory.data(), DType::kFloat32, Dims{3, 4}, Dims{1, 3})));
    CHECK_FALSE(tenon::overlaps_itself(
        TensorView(memory.data() + 99, DType::kFloat32, Dims{3, 4}, Dims{-8, 2})));
  }

  TEST_CASE(
      "disjointness never claims two views apart that share an element, and sees interleaved "
      "columns") {
    std::array<float, 4096> memory{};
    const auto view = [&](std::int64_t offset, Dims shape, Dims strides) {
      return TensorView(memory.data() + offset, DType::kFloat32, shape, strides);
    };
    int apart = 0;
    for (std::int64_t offset = -9; offset <= 9; ++offset) {
      for (std::int64_t s0 : {6, 7, 8, 12}) {
        for (std::int64_t s1 : {1, 2, 3}) {
          for (std::int64_t n1 = 1; n1 <= 3; ++n1) {
            const TensorView a = view(1000, Dims{3, n1}, Dims{s0, s1});
            const TensorView b = view(1000 + offset, Dims{3, n1}, Dims{s0, s1});
            const bool truth = share_an_element(a, b);
            if (truth) REQUIRE_FALSE(tenon::disjoint(a, b));
            // Exact for equal layouts that do not overlap themselves.
            if (!tenon::overlaps_itself(a)) REQUIRE(tenon::disjoint(a, b) == !truth);
            apart += truth ? 0 : 1;
          }
        }
      }
    }
    CHECK(apart > 100);
    CHECK(tenon::disjoint(view(0, Dims{4, 4}, Dims{8, 2}), view(1, Dims{4, 4}, Dims{8, 2})));
    CHECK_FALSE(tenon::disjoint(view(0, Dims{9}, Dims{1}), view(1, Dims{9}, Dims{1})));
    CHECK(tenon::disjoint(view(0, Dims{4}, Dims{1}), view(4, Dims{4}, Dims{1})));
  }

  TEST_CASE("device names parse, and a bad one says what is wrong with it") {
    CHECK(Device::parse("cpu").value() == Device{});
    CHECK(Device::parse("acme:2").value().to_string() == "acme:2");
    for (const char* bad :
         {"", ":1", "acme:", "acme:-1", "acme:x", "acme:99999", "Acme:0", "a_b:0", "1st"}) {
      CAPTURE(bad);
      const auto parsed = Device::parse(bad);
      REQUIRE_FALSE(parsed);
      CHECK(parsed.error().code() == tenon::ErrorCode::kUsageError);
      CHECK(parsed.error().message().find(std::string("'") + bad + "'") != std::string::npos);
    }
  }

  TEST_CASE("values print as the manifest writes them") {
    CHECK(tenon::Value{2, 3}.to_string() == "[2, 3]");
    CHECK(tenon::Value(1e-6).to_string() == "1e-06");
    CHECK(tenon::Value(2.0).to_string() == "2.0");
    CHECK(tenon::Value("tanh").to_string() == "'tanh'");
    CHECK(tenon::Value().to_string() == "None");
    CHECK(tenon::Value::list({1}, true).to_string() == "(1,)");
    CHECK(tenon::Value(tenon::AdtValue{"masked", {{"max_m", 128}}}).to_string() ==
          "{masked: {max_m: 128}}");
    CHECK(tenon::Value(1) != tenon::Value(1.0));
  }

  TEST_CASE("host tensors are dense, zeroed and aligned, and an absurd shape is an error") {
    const auto t = tenon::Tensor::host(DType::kFloat32, Dims{3, 5}).value();
    CHECK(t.view().is_dense());
    CHECK(reinterpret_cast<std::uintptr_t>(t.data<float>()) % 256 == 0);
    CHECK(t.data<float>()[14] == 0.0f);
    CHECK(tenon::Tensor::host(DType::kFloat64, Dims{std::int64_t{1} << 61, 8}).error().code() ==
          tenon::ErrorCode::kOutOfMemory);
  }
}
