// One instance, changing layouts: replaying an old answer would fail.
#include "runtime/cpu_runtime.hpp"

using namespace tenon;
using tenon::test::cpu_runtime;
using tenon::test::ramp;
using tenon::test::rms_norm_at;

TEST_SUITE("runtime/alternating") {
  TEST_CASE("dense, transposed and offset calls alternate on one instance and stay right") {
    Runtime runtime = cpu_runtime();
    Op op = runtime.make("RMSNormFwdOp", {{"normalized_shape", {16}}, {"eps", 1e-6}}).value();
    const Tensor base = ramp({20, 20});
    const Tensor weight = ramp({16}, 0.05f);
    const TensorView views[] = {
        TensorView(base.data<float>(), DType::kFloat32, Dims{12, 16}),
        TensorView(base.data<float>(), DType::kFloat32, Dims{12, 16}, Dims{1, 20}),
        TensorView(base.data<float>() + 1, DType::kFloat32, Dims{12, 16}, Dims{20, 1}),
        TensorView(base.data<float>() + 1, DType::kFloat32, Dims{12, 16})};
    for (int round = 0; round < 40; ++round) {
      const TensorView& x = views[round % 4];
      const bool with_weight = round % 3 != 0;
      CAPTURE(round);
      const auto out = with_weight ? op.call({{"x", x}, {"weight", weight}}) : op.call({{"x", x}});
      if (!out) FAIL(out.error().to_string());
      for (std::int64_t i = 0; i < 12; ++i) {
        for (std::int64_t j = 0; j < 16; ++j) {
          const double expected =
              rms_norm_at(x, with_weight ? weight.data<float>() : nullptr, 1e-6, i, j);
          REQUIRE((*out)[0].data<float>()[i * 16 + j] == doctest::Approx(expected).epsilon(1e-6));
        }
      }
    }
  }

  TEST_CASE("shapes, parameters and in-place calls alternate on one add and stay right") {
    Runtime runtime = cpu_runtime();
    Op op = runtime.make("AddFwdOp", {{"alpha", 2}}).value();
    for (int round = 0; round < 30; ++round) {
      CAPTURE(round);
      const std::int64_t n = 1 + round % 5;
      Tensor a = ramp({n, 4});
      const Tensor b = round % 2 == 0 ? ramp({4}, 1.0f) : ramp({n, 1}, 1.0f);
      const Tensor before = ramp({n, 4});
      const bool in_place = round % 3 == 0;
      const auto out = in_place ? op.call({{"self", a}, {"other", b}}, {&a.view(), {}})
                                : op.call({{"self", a}, {"other", b}});
      if (!out) FAIL(out.error().to_string());
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < 4; ++j) {
          const float addend = round % 2 == 0 ? b.data<float>()[j] : b.data<float>()[i];
          REQUIRE((*out)[0].data<float>()[i * 4 + j] ==
                  doctest::Approx(before.data<float>()[i * 4 + j] + 2 * addend));
        }
      }
      if (in_place) REQUIRE((*out)[0].data<float>() == a.data<float>());
    }
  }

  TEST_CASE("a bool is a Number: it reaches the kernel as an int") {
    Runtime runtime = cpu_runtime();
    Op op = runtime.make("AddFwdOp", {{"alpha", true}}).value();
    const auto out = op.call({{"self", ramp({3})}, {"other", ramp({3})}});
    if (!out) FAIL(out.error().to_string());
    CHECK((*out)[0].data<float>()[0] == 2 * ramp({3}).data<float>()[0]);
  }

  TEST_CASE(
      "D38 and D41: empty tensors succeed without a kernel, and a sum over an empty axis runs "
      "one") {
    Runtime runtime = cpu_runtime();
    Op norm = runtime.make("RMSNormFwdOp", {{"normalized_shape", {16}}}).value();
    const auto empty = norm.call({{"x", ramp({0, 16})}});
    REQUIRE(empty);
    CHECK((*empty)[0].shape() == Dims{0, 16});
    CHECK(norm.last_call()->kernels.empty());

    Op sum = runtime.make("SumFwdOp", {{"dim", {0}}}).value();
    const auto zeros = sum.call({{"x", ramp({0, 8})}});
    if (!zeros) FAIL(zeros.error().to_string());
    CHECK((*zeros)[0].shape() == Dims{8});
    for (int i = 0; i < 8; ++i) CHECK((*zeros)[0].data<float>()[i] == 0.0f);
    CHECK(sum.last_call()->kernels.size() == 1);

    Op matmul = runtime.make("MatMulFwdOp", {}).value();
    const auto product = matmul.call({{"a", ramp({4, 0})}, {"b", ramp({0, 5})}});
    if (!product) FAIL(product.error().to_string());
    CHECK((*product)[0].shape() == Dims{4, 5});
    for (int i = 0; i < 20; ++i) CHECK((*product)[0].data<float>()[i] == 0.0f);
  }
}
