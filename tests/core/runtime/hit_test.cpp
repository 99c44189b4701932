// A hit with `out` given: no heap memory, no lock. An executable of its own, since it interposes
// malloc.
#include <doctest/doctest.h>

#include "core/support/fake_rows.hpp"
#include "core/support/hand_plan.hpp"
#include "support/interpose.hpp"
#include "tenon/core/op.hpp"

using namespace tenon;
using tenon::test::FakeKind;
using tenon::test::FakePlugin;
using tenon::test::HandPlan;

TEST_SUITE("core/runtime/hit") {
  TEST_CASE("10,000 hits with out given allocate nothing, free nothing and take no lock") {
    auto engine = Engine::create({}, {});
    auto plan = std::make_shared<HandPlan>();
    REQUIRE(engine->registry().add_op(plan));
    static FakeKind kind;
    FakePlugin& plugin = FakePlugin::make("acme");
    plugin.own_kind(kind.table("fake"));
    auto& row = plugin.add("ScaleFwdOp", plan->decl().interfaces[0], "k");
    row.layouts = TENON_LAYOUTS_ALL;
    row.workspace_bytes = 4096;
    REQUIRE(plugin.commit(engine->registry()));
    engine->registry().publish();
    Op op = engine->make("ScaleFwdOp").value();
    const Device fake{DeviceKind::of("fake"), 0};
    const Tensor x = engine->devices().make_tensor(DType::kFloat32, Dims{8, 8}, fake).value();
    const Tensor y = engine->devices().make_tensor(DType::kFloat32, Dims{8, 8}, fake).value();
    const TensorView transposed(x.data<float>(), DType::kFloat32, Dims{8, 8}, Dims{1, 8}, fake);
    const TensorView* dense_items[] = {&x.view()};
    const TensorView* strided_items[] = {&transposed};
    const TensorArg dense[] = {{dense_items, 1}, {}};
    const TensorArg strided[] = {{strided_items, 1}, {}};
    for (int i = 0; i < 3; ++i) {
      REQUIRE(op.call_out(dense, y.view()));
      REQUIRE(op.call_out(strided, y.view()));
    }

    // The counters themselves work:
    tenon::test::counts = {};
    tenon::test::counting = true;
    auto* probe = new int(1);
    delete probe;
    {
      std::mutex mutex;
      const std::lock_guard lock(mutex);
    }
    tenon::test::counting = false;
    REQUIRE(tenon::test::counts.allocations == 1);
    REQUIRE(tenon::test::counts.frees == 1);
    REQUIRE(tenon::test::counts.locks == 1);

    int failures = 0;
    tenon::test::counts = {};
    tenon::test::counting = true;
    for (int i = 0; i < 5000; ++i) {
      if (!op.call_out(dense, y.view())) ++failures;
      if (!op.call_out(strided, y.view())) ++failures;
    }
    tenon::test::counting = false;

    CHECK(failures == 0);
    CHECK(row.launches == 10006);
    CHECK(tenon::test::counts.allocations == 0);
    CHECK(tenon::test::counts.frees == 0);
    CHECK(tenon::test::counts.locks == 0);
  }
}
