// Builder targets: requested, detected, ambiguous, without a builder, mismatched.
#include <doctest/doctest.h>

#include "core/support/fake_rows.hpp"
#include "core/support/fake_target.hpp"
#include "core/support/hand_plan.hpp"
#include "tenon/core/op.hpp"

using namespace tenon;
using tenon::test::FakeKind;
using tenon::test::FakePlugin;
using tenon::test::FakeRow;
using tenon::test::FakeTarget;
using tenon::test::HandPlan;

namespace {

struct World {
  World() {
    engine = Engine::create({}, {});
    plan = std::make_shared<HandPlan>();
    REQUIRE(engine->registry().add_op(plan));
    owner = &FakePlugin::make("dev");
    owner->own_kind(kind.table("fake"));
    FakeRow& row = owner->add("ScaleFwdOp", plan->decl().interfaces[0], "table");
    kernel = &row;
    guest = &FakePlugin::make("guest");
  }
  void publish() {
    REQUIRE(owner->commit(engine->registry()));
    REQUIRE(guest->commit(engine->registry()));
    engine->registry().publish();
  }
  Tensor tensor(std::int64_t n) {
    Tensor t = engine->devices()
                   .make_tensor(DType::kFloat32, Dims{n}, Device{DeviceKind::of("fake"), 0})
                   .value();
    for (std::int64_t i = 0; i < n; ++i) t.data<float>()[i] = static_cast<float>(i);
    return t;
  }
  Result<Op> make(std::optional<std::string> target = {}) {
    InstanceOptions options;
    options.target = std::move(target);
    return engine->make("ScaleFwdOp", {}, options);
  }

  FakeKind& kind = FakeKind::make();
  std::shared_ptr<Engine> engine;
  std::shared_ptr<HandPlan> plan;
  FakePlugin* owner;
  FakePlugin* guest;
  FakeRow* kernel;
};

}  // namespace

TEST_SUITE("core/runtime/targets") {
  TEST_CASE(
      "a requested builder target serves the op whole: presence, shapes without data, and the "
      "caller's tensors") {
    World w;
    FakeTarget accel{"accel"};
    w.guest->add_target(accel.row());
    w.publish();
    Op op = w.make("accel").value();

    const auto out = op.call({{"x", w.tensor(4)}});

    REQUIRE(out);
    CHECK((*out)[0].data<float>()[3] == 9.0f);
    CHECK(op.serving_target() == "accel");
    CHECK(op.last_call()->kernel() == "guest:accel");
    CHECK(accel.built_with == std::vector<bool>{true, false});
    CHECK(accel.last_shape == std::vector<std::int64_t>{4});
    CHECK_FALSE(accel.specs_have_data);
    CHECK(accel.launch_args == 3);
    CHECK(w.kernel->launches == 0);
  }

  TEST_CASE("its kernels are cached by device and each input's presence, dtype and shape") {
    World w;
    FakeTarget accel{"accel"};
    w.guest->add_target(accel.row());
    w.publish();
    Op op = w.make("accel").value();
    REQUIRE(op.call({{"x", w.tensor(4)}}));
    REQUIRE(op.call({{"x", w.tensor(4)}}));
    CHECK(accel.builds == 1);
    REQUIRE(op.call({{"x", w.tensor(5)}}));
    CHECK(accel.builds == 2);
    REQUIRE(op.call({{"x", w.tensor(4)}, {"weight", w.tensor(4)}}));
    CHECK(accel.builds == 3);
    CHECK(accel.built_with == std::vector<bool>{true, true});
    CHECK(accel.launches == 4);
  }

  TEST_CASE(
      "the owner's target that claims the device serves unasked; a guest's is only ever "
      "requested") {
    World w;
    FakeTarget own{"own"};
    own.claims = true;
    FakeTarget theirs{"theirs"};
    theirs.claims = true;
    w.owner->add_target(own.row());
    w.guest->add_target(theirs.row());
    w.publish();
    Op op = w.make().value();
    REQUIRE(op.call({{"x", w.tensor(4)}}));
    CHECK(op.serving_target() == "own");
    CHECK(theirs.builds == 0);
    Op table = w.make("fake").value();
    REQUIRE(table.call({{"x", w.tensor(4)}}));
    CHECK(w.kernel->launches == 1);
  }

  TEST_CASE("without a claim the table serves; with several claims the call is AmbiguousTarget") {
    World w;
    FakeTarget a{"a"};
    FakeTarget b{"b"};
    w.owner->add_target(a.row());
    w.owner->add_target(b.row());
    w.publish();
    Op op = w.make().value();
    REQUIRE(op.call({{"x", w.tensor(4)}}));
    CHECK(op.serving_target() == "builtin");
    a.claims = b.claims = true;
    const auto failed = w.make().value().call({{"x", w.tensor(4)}});
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kAmbiguousTarget);
    CHECK(failed.error().message() == "targets 'a', 'b' of plugin 'dev' all claim fake:0");
  }

  TEST_CASE(
      "a builder target without a builder for the op is OpNotAvailable, and no kernel steps in") {
    World w;
    FakeTarget other{"other"};
    other.ops = {"NoSuchFwdOp"};
    w.guest->add_target(other.row());
    w.publish();
    Op op = w.make("other").value();
    const auto failed = op.call({{"x", w.tensor(4)}});
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kOpNotAvailable);
    CHECK(w.kernel->launches == 0);
    CHECK(op.serving_target().empty());  // the failing call undid its binding
    NamedSpec x{"x", w.tensor(4).spec(), 0};
    CHECK(op.explain({&x, 1}).error->code() == ErrorCode::kOpNotAvailable);
  }

  TEST_CASE("a builder target for another kind is TargetMismatch") {
    World w;
    FakeTarget elsewhere{"elsewhere"};
    elsewhere.kinds = {"cpu"};
    w.guest->add_target(elsewhere.row());
    w.publish();
    const auto failed = w.make("elsewhere").value().call({{"x", w.tensor(4)}});
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kTargetMismatch);
    CHECK(
        failed.error().message() ==
        "the call is on fake:0, but target 'elsewhere' (from the instance) serves device kind cpu");
  }

  TEST_CASE("explain says that a builder target serves, and sets the kernel types aside") {
    World w;
    FakeTarget accel{"accel"};
    w.guest->add_target(accel.row());
    w.publish();
    Op op = w.make("accel").value();
    NamedSpec x{"x", w.tensor(4).spec(), 0};
    const Explanation e = op.explain({&x, 1});
    CHECK_FALSE(e.error);
    CHECK(e.target == "accel");
    CHECK(e.target_plugin == "guest");
    CHECK(e.steps.at(0).winner == "guest:accel");
    CHECK(e.steps.at(0).candidates.at(0).verdict == Verdict::kOtherTarget);
    CHECK(accel.builds == 0);
  }

  TEST_CASE("two targets of one name are refused, naming both plugins and files") {
    World w;
    FakeTarget accel{"accel"};
    w.owner->add_target(accel.row());
    w.guest->add_target(accel.row());
    REQUIRE(w.owner->commit(w.engine->registry()));
    const auto second = w.guest->commit(w.engine->registry());
    REQUIRE_FALSE(second);
    CHECK(second.error().message() ==
          "target 'accel' of plugin 'guest' (/plugins/guest.tenon.so) exists already: plugin 'dev' "
          "(/plugins/dev.tenon.so) registered it first");
  }
}
