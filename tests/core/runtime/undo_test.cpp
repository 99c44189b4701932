// What each of the seven steps leaves when it fails in a sub-op, through two levels of them: in the
// call that selected the target, and in a later one.
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/support/chain_world.hpp"
#include "core/support/fake_target.hpp"

using namespace tenon;
using tenon::test::FakeTarget;
using tenon::test::no_params;
using tenon::test::refuse_with;
using World = tenon::test::ChainWorld;

namespace {

// The targets that serve an instance and every sub-op that it holds, the outermost first.
void add_targets(const Op& op, std::vector<std::string>& all) {
  all.push_back(op.serving_target());
  for (const HeldDelegate& held : op.held_delegates()) add_targets(*held.op, all);
}
std::vector<std::string> targets(const Op& op) {
  std::vector<std::string> all;
  add_targets(op, all);
  return all;
}

// Fails a call of OuterFwdOp by `break_it`: first one that has to select the target, then one that
// finds it selected. `mend` in between. `reach`: how many sub-ops the failing first call makes.
void fails_through_levels(World& w,
                          ErrorCode code,
                          const std::function<void()>& break_it,
                          const std::function<void()>& mend,
                          std::size_t reach) {
  Op op = w.make_op("OuterFwdOp");
  const std::uint64_t key = op.key();
  break_it();

  const auto first = op.call({{"x", w.tensor({3})}});

  REQUIRE_FALSE(first);
  CHECK(first.error().code() == code);
  // Nothing of the binding group remains, at any level; sub-ops are of the running group, and stay.
  CHECK(targets(op) == std::vector<std::string>(1 + reach, ""));
  CHECK(op.built_entries().empty());
  CHECK_FALSE(op.last_call());
  CHECK(op.key() == key);

  mend();
  REQUIRE(op.call({{"x", w.tensor({3})}}));
  CHECK(targets(op) == std::vector<std::string>(5, "builtin"));
  const std::size_t built = op.built_entries().size();
  const auto held = op.held_delegates();
  break_it();

  const auto later = op.call({{"x", w.tensor({5})}});

  REQUIRE_FALSE(later);
  CHECK(later.error().code() == code);
  // An earlier call selected the target: it stays, with its kernels, at every level.
  CHECK(targets(op) == std::vector<std::string>(5, "builtin"));
  CHECK(op.built_entries().size() >= built);
  CHECK(op.last_call()->indices == std::vector<NamedValue>{{"n", 3}});
  CHECK(op.last_call()->stages.size() == 2);
  CHECK(op.held_delegates().at(0).op == held.at(0).op);
  mend();
  CHECK(op.call({{"x", w.tensor({5})}}));
}

}  // namespace

TEST_SUITE("core/runtime/undo") {
  TEST_CASE("step 1, begin: a sub-call that no stage expects does not begin, and its op is whole") {
    World w;
    Op stray = w.make_op("HalveFwdOp");
    const Tensor x = w.tensor({3});
    const auto break_it = [&] {
      w.pair_flow.script = [&](Composition&) -> Result<void> {
        auto called = stray.call({{"x", x}});
        if (!called) return fail(std::move(called).error());
        return {};
      };
    };
    fails_through_levels(
        w, ErrorCode::kInternal, break_it, [&] { w.pair_flow.script = nullptr; }, 2);
    // It was never begun: nothing is bound, launched or recorded, and the call stack is as it was.
    CHECK(stray.serving_target().empty());
    CHECK_FALSE(stray.last_call());
    CHECK(stray.call({{"x", x}}));
  }

  TEST_CASE("step 2, the signature: a stage is passed what its op refuses") {
    World w;
    const auto break_it = [&] {
      w.pair_flow.script = [&](Composition& c) -> Result<void> {
        Composition::Delegate first;
        TENON_TRY_ASSIGN(first, c.delegate_for("first", {}, no_params));
        const TensorView* px = c.input("x");
        TensorView longer;
        TENON_TRY_ASSIGN(longer, c.temporary(DType::kFloat32, Dims{px->shape[0] + 1}));
        const TensorArg args[] = {{&px, 1}, {}};
        return c.run(first, args, longer);
      };
    };
    fails_through_levels(
        w, ErrorCode::kSignatureMismatch, break_it, [&] { w.pair_flow.script = nullptr; }, 3);
  }

  TEST_CASE("step 3, the empty call: every level is one, and nothing is bound or undone") {
    World w;
    Op op = w.make_op("OuterFwdOp");
    REQUIRE(op.call({{"x", w.tensor({0})}}));
    CHECK(targets(op) == std::vector<std::string>{""});
    CHECK(op.last_call()->kernels.empty());
    CHECK(op.last_call()->stages.empty());
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    REQUIRE(op.call({{"x", w.tensor({0})}}));
    CHECK(targets(op) == std::vector<std::string>(5, "builtin"));
  }

  TEST_CASE("step 4, the target: a stage has no builder under the outermost instance's target") {
    World w;
    FakeTarget accel{"accel"};
    accel.ops = {"ScaleFwdOp"};
    w.acme->add_target(accel.row());
    InstanceOptions options;
    options.target = "accel";
    Op op = w.make_op("OuterFwdOp", options);

    const auto failed = op.call({{"x", w.tensor({3})}});

    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kOpNotAvailable);
    CHECK(accel.launches == 2);  // its stages before that ran; bytes that were written stay
    CHECK(targets(op) == std::vector<std::string>(5, ""));
    CHECK(w.halve->launches == 0);  // there is no silent fall-back
  }

  TEST_CASE("step 5, the run: no kernel serves, a build fails, a launch fails, in the last stage") {
    World w;
    fails_through_levels(
        w,
        ErrorCode::kNoImplementation,
        [&] {
          w.halve->refuse = [](const tenon_device&, const tenon_call&, tenon_reason& r) {
            return refuse_with(r, TENON_REASON_SIZE, 0, "n", "no");
          };
        },
        [&] { w.halve->refuse = nullptr; },
        4);
    fails_through_levels(
        w,
        ErrorCode::kBuildFailed,
        [&] { w.halve->build = [](tenon_reason&) { return TENON_UNAVAILABLE; }; },
        [&] { w.halve->build = nullptr; },
        4);
    const auto good = w.halve->launch;
    fails_through_levels(
        w,
        ErrorCode::kDeviceError,
        [&] { w.halve->launch = World::broken; },
        [&] { w.halve->launch = good; },
        4);
  }

  TEST_CASE("step 6, the result: a flow that ends without writing an output fails the call") {
    World w;
    const auto break_it = [&] {
      w.pair_flow.script = [&](Composition& c) -> Result<void> {
        Composition::Delegate first;
        TENON_TRY_ASSIGN(first, c.delegate_for("first", {}, no_params));
        const TensorView* px = c.input("x");
        TensorView elsewhere;
        TENON_TRY_ASSIGN(elsewhere, c.temporary(px->dtype, px->shape));
        const TensorArg args[] = {{&px, 1}, {}};
        return c.run(first, args, elsewhere);
      };
    };
    fails_through_levels(
        w, ErrorCode::kResultMismatch, break_it, [&] { w.pair_flow.script = nullptr; }, 3);
    break_it();
    const auto failed = w.make_op("PairFwdOp").call({{"x", w.tensor({3})}});
    CHECK(failed.error().message() ==
          "flow 'direct' of op 'PairFwdOp' ended, and no stage wrote output 'output'");
  }

  TEST_CASE("step 7, the record: a sub-call that is filed under no stage fails the call") {
    World w;
    Op stray = w.make_op("HalveFwdOp");
    const Tensor x = w.tensor({3});
    // The flow looks away from the refusal, and all its own stages succeed.
    const auto break_it = [&] {
      w.outer_flow.script = [&](Composition& c) -> Result<void> {
        (void)stray.call({{"x", x}});
        const TensorView* px = c.input("x");
        const TensorArg args[] = {{&px, 1}, {}};
        Composition::Delegate pair;
        TENON_TRY_ASSIGN(pair, c.delegate_for("pair", {}, no_params));
        TENON_TRY(c.run(pair, args, *c.output("output")));
        Composition::Delegate scale;
        TENON_TRY_ASSIGN(scale, c.delegate_for("scale", {}, no_params));
        return c.run(scale, args, *c.output("output"));
      };
    };
    fails_through_levels(
        w, ErrorCode::kInternal, break_it, [&] { w.outer_flow.script = nullptr; }, 4);
    CHECK_FALSE(stray.last_call());
  }
}
