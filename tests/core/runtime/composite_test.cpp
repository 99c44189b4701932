// Composite ops: stages and their records, given sub-ops, what is inherited, undo through levels.
#include <functional>
#include <thread>

#include <doctest/doctest.h>

#include "core/support/chain_world.hpp"
#include "core/support/fake_target.hpp"

using namespace tenon;
using tenon::test::doubles;
using tenon::test::FakeRow;
using tenon::test::FakeTarget;
using tenon::test::HandPlan;
using tenon::test::no_params;
using tenon::test::refuse_with;

namespace {

using World = tenon::test::ChainWorld;

}  // namespace

TEST_SUITE("core/runtime/composite") {
  TEST_CASE("where an op has no kernels its stages run, each filed under its name") {
    World w;
    Op op = w.make_op("PairFwdOp");

    const auto out = op.call({{"x", w.tensor({3})}});

    if (!out) FAIL(out.error().to_string());
    CHECK((*out)[0].data<float>()[2] == 4.0f);  // 3 * 2 / 2 + 1
    const SignatureCall record = op.last_call().value();
    REQUIRE(record.stages.size() == 2);
    CHECK(record.stages[0].stage == "first");
    CHECK(record.stages[0].call.op == "tenon::ScaleFwdOp");
    CHECK(record.stages[0].call.kernel() == "acme:twice");
    CHECK(record.stages[1].stage == "second");
    CHECK(record.stages[1].call.kernel() == "acme:half");
    REQUIRE(record.kernels.size() == 2);
    CHECK(record.kernels[1].step == "second");
    CHECK(record.kernels[1].kernel == "acme:half");
    CHECK(record.built);
  }

  TEST_CASE("the reference of an op without one is that of its stages, unrounded between them") {
    World w;
    const auto wide_row = [&](const char* op, const HandPlan& plan, double factor) {
      FakeRow& row = w.acme->add(op, plan.decl().interfaces[0], "reference");
      row.flags = TENON_KERNEL_REFERENCE;
      row.launch = [factor](const tenon_launch& l, tenon_reason&) {
        const tenon_tensor& x = *l.tensors[l.arg_first[0]];
        const tenon_tensor& y = *l.tensors[l.arg_first[2]];
        REQUIRE(x.dtype.bits == 64);
        REQUIRE(y.dtype.bits == 64);
        for (std::int64_t i = 0; i < x.shape[0]; ++i)
          static_cast<double*>(y.data)[i] = static_cast<double*>(x.data)[i] * factor;
        return TENON_OK;
      };
    };
    wide_row("ScaleFwdOp", *w.plan, 1.0 / 3);
    wide_row("HalveFwdOp", *w.halve_plan, 3);
    Op op = w.make_op("PairFwdOp");
    const NamedTensor x("x", w.tensor({3}));

    const auto results = op.call_reference({&x, 1});

    if (!results) FAIL(results.error().to_string());
    CHECK((*results)[0].dtype() == DType::kFloat64);
    // A third of x in float32 would leave an error of 1e-8.
    CHECK((*results)[0].data<double>()[2] == doctest::Approx(3).epsilon(1e-14));
    CHECK(w.scale->launches == 0);
    Op outer = w.make_op("OuterFwdOp");
    REQUIRE(outer.call_reference({&x, 1}));
    CHECK_FALSE(op.last_call());
  }

  TEST_CASE("a stage without a reference is named by the reference of the whole") {
    World w;
    Op op = w.make_op("PairFwdOp");
    const NamedTensor x("x", w.tensor({3}));

    const auto failed = op.call_reference({&x, 1});

    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kNoImplementation);
    CHECK(failed.error().message().find("ScaleFwdOp") != std::string::npos);
  }

  TEST_CASE("a stage inside a stage is told inside it, and sub-ops are made once") {
    World w;
    Op op = w.make_op("OuterFwdOp");
    for (int i = 0; i < 3; ++i) {
      const auto out = op.call({{"x", w.tensor({3})}});
      REQUIRE(out);
      CHECK((*out)[0].data<float>()[2] == 7.0f);  // 3 * 2 * 2 / 2 + 1
    }
    const SignatureCall record = op.last_call().value();
    REQUIRE(record.stages.size() == 2);
    CHECK(record.stages[1].call.op == "tenon::PairFwdOp");
    REQUIRE(record.stages[1].call.stages.size() == 2);
    CHECK(record.stages[1].call.stages[1].call.kernel() == "acme:half");
    CHECK_FALSE(record.built);
    const auto held = op.held_delegates();
    REQUIRE(held.size() == 2);
    CHECK(held[0].stage == "scale");
    CHECK(held[1].op->held_delegates().size() == 2);
    CHECK(op.built_entries().size() == 2);
    CHECK(w.scale->builds == 1);
  }

  TEST_CASE("an op with kernels of its own runs them, and its stages only where none serves") {
    World w({}, true);
    FakeRow& fused = w.acme->add("PairFwdOp", w.pair_plan->decl().interfaces[0], "fused");
    fused.launch = doubles;
    fused.refuse = [](const tenon_device&, const tenon_call& c, tenon_reason& r) {
      return c.fields[0].i <= 2
                 ? TENON_OK
                 : refuse_with(r, TENON_REASON_SIZE, 0, "n", "serves n <= 2, got more");
    };
    Op op = w.make_op("PairFwdOp");

    REQUIRE(op.call({{"x", w.tensor({2})}}));
    CHECK(op.last_call()->kernel() == "acme:fused");
    CHECK(op.last_call()->stages.empty());
    for (int i = 0; i < 3; ++i) {
      REQUIRE(op.call({{"x", w.tensor({3})}}));
      CHECK(op.last_call()->stages.size() == 2);
    }
    CHECK(fused.refuses == 2);  // that no kernel serves is kept with the call key
    REQUIRE(op.call({{"x", w.tensor({2})}}));
    CHECK(op.last_call()->stages.empty());

    const NamedSpec x{"x", {DType::kFloat32, Dims{3}, Dims{1}, w.fake}, 0};
    const Explanation e = op.explain({&x, 1});
    CHECK_FALSE(e.error);
    CHECK(e.composition.find("no kernel serves it") != std::string::npos);
    REQUIRE(e.stages.size() == 2);
    CHECK(e.stages[1].stage == "second");
    CHECK(e.stages[1].explanation.steps.at(0).winner == "acme:half");
    CHECK(e.table().find("stage first: ScaleFwdOp on fake:0") != std::string::npos);
    const NamedSpec small{"x", {DType::kFloat32, Dims{2}, Dims{1}, w.fake}, 0};
    CHECK(op.explain({&small, 1}).composition.empty());
  }

  TEST_CASE("an ambiguity and a forced kernel stay errors: no stage runs") {
    World w({}, true);
    w.acme->add("PairFwdOp", w.pair_plan->decl().interfaces[0], "a");
    FakeRow& b = w.acme->add("PairFwdOp", w.pair_plan->decl().interfaces[0], "b");
    Op op = w.make_op("PairFwdOp");
    const Tensor x = w.tensor({3});
    CHECK(op.call({{"x", x}}).error().code() == ErrorCode::kAmbiguousDispatch);
    b.refuse = [](const tenon_device&, const tenon_call&, tenon_reason& r) {
      return refuse_with(r, TENON_REASON_SIZE, 0, "n", "no");
    };
    InstanceOptions forced;
    forced.kernel_override = {{"pair_fwd", "acme:b"}};
    Op with_force = w.make_op("PairFwdOp", forced);
    CHECK(with_force.call({{"x", x}}).error().code() == ErrorCode::kNoImplementation);
    const NamedSpec spec{"x", x.spec(), 0};
    CHECK(with_force.explain({&spec, 1}).error->code() == ErrorCode::kNoImplementation);
    CHECK(w.scale->launches == 0);
  }

  TEST_CASE("a sub-call past its stage fails the call, even if the flow looks away") {
    World w;
    Op stray = w.make_op("HalveFwdOp");
    const Tensor x = w.tensor({3});
    w.pair_flow.script = [&](Composition&) -> Result<void> {
      (void)stray.call({{"x", x}});
      return {};
    };
    Op op = w.make_op("PairFwdOp");

    const auto failed = op.call({{"x", x}});

    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kInternal);
    CHECK(failed.error().message() ==
          "op 'PairFwdOp' called op 'HalveFwdOp' outside its declared stages");
    CHECK(w.halve->launches == 0);
    CHECK_FALSE(op.last_call());
    CHECK(stray.call({{"x", x}}));  // outside of the composition it is a call like any other
  }

  TEST_CASE("a stage that is not declared has no sub-op") {
    World w;
    w.pair_flow.script = [](Composition& c) -> Result<void> {
      auto third = c.delegate_for("third", {}, no_params);
      if (!third) return fail(std::move(third).error());
      return {};
    };
    const auto failed = w.make_op("PairFwdOp").call({{"x", w.tensor({3})}});
    REQUIRE_FALSE(failed);
    CHECK(failed.error().message() == "op 'PairFwdOp' declares no stage 'third' that calls an op");
  }

  TEST_CASE("a given sub-op is used, and one of another op or stage is refused") {
    World w;
    FakeRow& other = w.row("other");
    w.scale->preferred_over = {"other"};
    w.publish();
    InstanceOptions forced;
    forced.kernel_override = {{"scale_fwd", "acme:other"}};
    InstanceOptions options;
    options.delegates["first"] = std::make_shared<Op>(w.make_op("ScaleFwdOp", forced));
    Op op = w.make_op("PairFwdOp", options);
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    CHECK(other.launches == 1);
    CHECK(w.scale->launches == 0);
    CHECK(op.held_delegates().at(0).op == options.delegates["first"]);

    options.delegates.clear();
    options.delegates["first"] = std::make_shared<Op>(w.make_op("HalveFwdOp"));
    CHECK(w.engine->make("PairFwdOp", {}, options).error().message() ==
          "stage 'first' of op 'PairFwdOp' calls op 'ScaleFwdOp', not 'tenon::HalveFwdOp'");
    options.delegates.clear();
    options.delegates["frist"] = std::make_shared<Op>(w.make_op("ScaleFwdOp"));
    CHECK(w.engine->make("PairFwdOp", {}, options).error().hint() == "did you mean 'first'?");
  }

  TEST_CASE("sub-ops take the outermost instance's target, determinism and snapshot") {
    World w;
    FakeTarget accel{"accel"};
    accel.ops = {"ScaleFwdOp", "HalveFwdOp"};
    w.acme->add_target(accel.row());
    InstanceOptions options;
    options.target = "accel";
    Op by_target = w.make_op("OuterFwdOp", options);
    // The target has no builder for a composite: the stages are served by it one by one.
    const auto failed = by_target.call({{"x", w.tensor({3})}});
    CHECK(w.scale->launches == 0);
    CHECK(accel.launches == 2);
    REQUIRE_FALSE(failed);  // the scripted target builds its first op only
    CHECK(failed.error().code() == ErrorCode::kBuildFailed);

    InstanceOptions deterministic;
    deterministic.deterministic = true;
    const auto refused = w.make_op("OuterFwdOp", deterministic).call({{"x", w.tensor({3})}});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message().find("determinism is required") != std::string::npos);

    Op early = w.make_op("PairFwdOp");
    REQUIRE(w.engine->registry().withdraw("acme"));
    w.engine->registry().publish();
    CHECK(early.call({{"x", w.tensor({3})}}));  // its sub-ops are made only now
    CHECK_FALSE(w.make_op("PairFwdOp").call({{"x", w.tensor({3})}}));
  }

  TEST_CASE(
      "where the call that selected the target fails, nothing of the binding remains, through two "
      "levels") {
    World w;
    w.halve->launch = World::broken;
    Op op = w.make_op("OuterFwdOp");

    const auto failed = op.call({{"x", w.tensor({3})}});

    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kDeviceError);
    CHECK(failed.error().fields().back().second == "pair");
    CHECK_FALSE(op.last_call());
    CHECK(op.serving_target().empty());
    CHECK(op.built_entries().empty());
    const auto held = op.held_delegates();
    REQUIRE(held.size() == 2);  // kept: they belong to the running group
    CHECK(held[0].op->serving_target().empty());
    CHECK(held[1].op->serving_target().empty());
    for (const HeldDelegate& d : held[1].op->held_delegates())
      CHECK(d.op->serving_target().empty());
  }

  TEST_CASE("where an earlier call selected the target, a failure keeps target and kernels") {
    World w;
    Op op = w.make_op("OuterFwdOp");
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    const auto good = w.halve->launch;
    w.halve->launch = World::broken;

    REQUIRE_FALSE(op.call({{"x", w.tensor({3})}}));

    CHECK(op.serving_target() == "builtin");
    CHECK(op.held_delegates()[0].op->serving_target() == "builtin");
    CHECK(op.last_call()->stages.size() == 2);
    w.halve->launch = good;
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    CHECK(w.scale->builds == 1);
    CHECK(w.halve->builds == 1);
  }

  TEST_CASE("D26: a composition that leads back to itself is refused with the way") {
    World w;
    auto a = std::make_shared<HandPlan>("AFwdOp", "a_fwd");
    a->compose_of({{"b", "BFwdOp", "", false}});
    auto b = std::make_shared<HandPlan>("BFwdOp", "b_fwd");
    b->compose_of({{"scale", "ScaleFwdOp", "", false}, {"a", "AFwdOp", "", false}});
    REQUIRE(w.engine->registry().add_op(a));

    const auto refused = w.engine->registry().add_op(b);

    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kManifestInvalid);
    CHECK(refused.error().message() ==
          "the composition of op 'tenon::BFwdOp' leads back to itself: BFwdOp -> AFwdOp -> BFwdOp");
  }

  TEST_CASE("threads share one composite instance, its sub-ops and its kernels") {
    World w;
    Op op = w.make_op("OuterFwdOp");
    std::atomic<int> right{0};
    std::vector<Tensor> inputs;
    for (int i = 0; i < 8; ++i) inputs.push_back(w.tensor({3}, static_cast<float>(i)));
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        Tensor out = Tensor::host(DType::kFloat32, Dims{3}).value();
        const TensorView view(out.data<float>(), DType::kFloat32, Dims{3}, w.fake);
        const TensorView* x = &inputs[static_cast<std::size_t>(i)].view();
        const TensorArg args[] = {{&x, 1}, {}};
        bool all = true;
        for (int k = 0; k < 50; ++k) {
          all = all && op.call_out(args, view) &&
                out.data<float>()[0] == 2.0f * static_cast<float>(i) + 1.0f;
        }
        if (all && op.last_call()->stages.size() == 2) ++right;
      });
    }
    for (auto& thread : threads) thread.join();
    CHECK(right == 8);
    CHECK(op.held_delegates().size() == 2);
    CHECK(w.scale->builds == 1);
  }
}
