// A hit with `out` given on the real path: no heap memory, no lock. An executable of its own: it
// interposes malloc.
#include "runtime/cpu_runtime.hpp"
#include "support/interpose.hpp"
#include "tenon/ops.hpp"

using namespace tenon;
using tenon::test::cpu_runtime;
using tenon::test::ramp;
using tenon::test::rms_norm_at;

namespace {

// What `body` does beside its work, over 10,000 runs after a few to warm up.
template <class Body>
tenon::test::Counts watched(Body&& body) {
  for (int i = 0; i < 5; ++i) body();
  tenon::test::counts = {};
  tenon::test::counting = true;
  for (int i = 0; i < 10000; ++i) body();
  tenon::test::counting = false;
  return tenon::test::counts;
}

}  // namespace

TEST_SUITE("runtime/hit") {
  TEST_CASE(
      "10,000 hits of RMSNorm with out given allocate nothing and take no lock, whatever the "
      "layout") {
    Runtime runtime = cpu_runtime();
    Op op = runtime.make("RMSNormFwdOp", {{"normalized_shape", {16}}, {"eps", 1e-6}}).value();
    const Tensor base = ramp({20, 20});
    const Tensor weight = ramp({16}, 0.05f);
    const Tensor out = ramp({12, 16});
    const TensorView views[] = {
        TensorView(base.data<float>(), DType::kFloat32, Dims{12, 16}),
        TensorView(base.data<float>(), DType::kFloat32, Dims{12, 16}, Dims{1, 20}),
        TensorView(base.data<float>() + 1, DType::kFloat32, Dims{12, 16}, Dims{20, 1})};
    const TensorView* w = &weight.view();
    int failures = 0;
    int at = 0;

    const auto counts = watched([&] {
      const TensorView* x = &views[at++ % 3];
      const TensorArg args[] = {{&x, 1}, {&w, 1}};
      if (!op.call_out(args, out.view())) ++failures;
    });

    CHECK(failures == 0);
    CHECK(counts.allocations == 0);
    CHECK(counts.frees == 0);
    CHECK(counts.locks == 0);
    const TensorView& last = views[(at - 1) % 3];
    CHECK(out.data<float>()[5] ==
          doctest::Approx(rms_norm_at(last, weight.data<float>(), 1e-6, 0, 5)).epsilon(1e-6));
    CHECK(op.last_call()->kernels.size() == 1);
  }

  TEST_CASE("10,000 hits of the typed API with out given allocate nothing and take no lock") {
    const Runtime runtime = cpu_runtime();
    const ops::RMSNormFwdParams params{.normalized_shape = {16}, .eps = 1e-6};
    ops::RMSNormFwd norm{runtime, params};
    const Tensor x = ramp({12, 16});
    const Tensor weight = ramp({16}, 0.05f);
    const Tensor out = ramp({12, 16});
    const Tensor other = ramp({12, 16});
    int failures = 0;

    const auto counts = watched([&] {
      if (!norm.out(x, weight, out)) ++failures;
      if (!ops::rms_norm_fwd_out(runtime, x, weight, other, params)) ++failures;
    });

    CHECK(failures == 0);
    CHECK(counts.allocations == 0);
    CHECK(counts.frees == 0);
    CHECK(counts.locks == 0);
    CHECK(out.data<float>()[5] ==
          doctest::Approx(rms_norm_at(x, weight.data<float>(), 1e-6, 0, 5)).epsilon(1e-6));
    CHECK(other.data<float>()[5] == out.data<float>()[5]);
  }

  TEST_CASE("10,000 hits of a broadcasting add and of a matmul allocate nothing and take no lock") {
    Runtime runtime = cpu_runtime();
    Op add = runtime.make("AddFwdOp", {}).value();
    Op matmul = runtime.make("MatMulFwdOp", {}).value();
    const Tensor a = ramp({4, 1, 3});
    const Tensor b = ramp({5, 3});
    const Tensor sum = ramp({4, 5, 3});
    const Tensor m = ramp({2, 3});
    const Tensor n = ramp({3, 4});
    const Tensor product = ramp({2, 4});
    const TensorView* pa = &a.view();
    const TensorView* pb = &b.view();
    const TensorView* pm = &m.view();
    const TensorView* pn = &n.view();
    int failures = 0;

    const auto counts = watched([&] {
      const TensorArg addends[] = {{&pa, 1}, {&pb, 1}};
      if (!add.call_out(addends, sum.view())) ++failures;
      const TensorArg factors[] = {{&pm, 1}, {&pn, 1}};
      if (!matmul.call_out(factors, product.view())) ++failures;
    });

    CHECK(failures == 0);
    CHECK(counts.allocations == 0);
    CHECK(counts.locks == 0);
    CHECK(sum.data<float>()[14] == doctest::Approx(a.data<float>()[2] + b.data<float>()[14]));
  }
}
