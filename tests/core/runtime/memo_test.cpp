// Calls that a thread repeats are launched from what it kept of them: never with a stale answer.
#include <thread>

#include <doctest/doctest.h>

#include "core/support/fake_target.hpp"
#include "core/support/scale_world.hpp"
#include "runtime/hit_memo.hpp"
#include "runtime/instance.hpp"

using namespace tenon;
using tenon::test::doubles;
using tenon::test::FakeRow;
using tenon::test::FakeTarget;
using World = tenon::test::ScaleWorld;

namespace {

// Whether this thread keeps a call of the instance.
bool keeps_a_call(Op& op) { return op.instance().thread_state().memos[0] != nullptr; }

void call_often(Op& op, const TensorView& x, const TensorView& out, int times = 4) {
  const TensorView* px = &x;
  const TensorArg args[] = {{&px, 1}, {}};
  for (int i = 0; i < times; ++i) REQUIRE(op.call_out(args, out));
}

}  // namespace

TEST_SUITE("core/runtime/memo") {
  TEST_CASE("a repeated call asks nobody: no refusal, no build, and the record is right") {
    World w;
    FakeRow& row = w.row("fast");
    Op op = w.make();
    const Tensor x = w.tensor({3});
    const Tensor y = w.tensor({3});
    const Tensor out = w.tensor({3});

    call_often(op, x, out);
    call_often(op, y, out, 1);

    CHECK(keeps_a_call(op));
    CHECK(row.refuses == 1);
    CHECK(row.builds == 1);
    CHECK(row.launches == 5);
    CHECK(op.last_call()->kernel() == "acme:fast");
    CHECK_FALSE(op.last_call()->built);
    CHECK(op.last_call()->has_out);
    CHECK(op.last_call()->indices == std::vector<NamedValue>{{"n", 3}});
  }

  TEST_CASE("the record follows the calls when remembered ones of two shapes alternate") {
    World w;
    w.row("fast");
    Op op = w.make();
    const Tensor small = w.tensor({3});
    const Tensor large = w.tensor({5});
    const Tensor out3 = w.tensor({3});
    const Tensor out5 = w.tensor({5});
    for (int i = 0; i < 6; ++i) {
      call_often(op, small, out3, 1);
      CHECK(op.last_call()->indices == std::vector<NamedValue>{{"n", 3}});
      call_often(op, large, out5, 1);
      CHECK(op.last_call()->indices == std::vector<NamedValue>{{"n", 5}});
    }
  }

  TEST_CASE("alias and alignment are facts of each call, not of the remembered one") {
    World w;
    FakeRow& row = w.row("fast");
    std::int32_t alias = 99;
    std::uint32_t align = 99;
    row.launch = [&](const tenon_launch& l, tenon_reason& r) {
      alias = l.call->args[2].alias_of;
      align = l.call->args[0].align_log2;
      return doubles(l, r);
    };
    Op op = w.make();
    const Tensor memory = w.tensor({64});
    const TensorView x(memory.data<float>(), DType::kFloat32, Dims{3}, w.fake);
    const TensorView shifted(memory.data<float>() + 1, DType::kFloat32, Dims{3}, w.fake);
    const TensorView apart(memory.data<float>() + 32, DType::kFloat32, Dims{3}, w.fake);
    for (int i = 0; i < 5; ++i) {
      call_often(op, x, apart, 3);
      CHECK(alias == -1);
      CHECK(align == 8);
      call_often(op, x, x, 2);
      CHECK(alias == 0);
      call_often(op, shifted, apart, 2);
      CHECK(alias == -1);
      CHECK(align == 2);
    }
  }

  TEST_CASE("presence, strides and a new output are told apart from what is remembered") {
    World w;
    FakeRow& row = w.row("any");
    row.layouts = TENON_LAYOUTS_ALL;
    std::uint32_t weight_present = 99;
    row.launch = [&](const tenon_launch& l, tenon_reason& r) {
      weight_present = l.call->args[1].present;
      return doubles(l, r);
    };
    Op op = w.make();
    const Tensor base = w.tensor({6});
    const Tensor weight = w.tensor({3});
    const Tensor out = w.tensor({3});
    const TensorView stepped(base.data<float>(), DType::kFloat32, Dims{3}, Dims{2}, w.fake);
    const TensorView dense(base.data<float>(), DType::kFloat32, Dims{3}, w.fake);
    for (int i = 0; i < 4; ++i) {
      call_often(op, dense, out, 2);
      CHECK(weight_present == 0);
      CHECK(out.data<float>()[2] == 6.0f);
      call_often(op, stepped, out, 2);
      CHECK(out.data<float>()[2] == 10.0f);
      const auto made = op.call({{"x", dense}, {"weight", weight}});
      REQUIRE(made);
      CHECK(weight_present == 1);
      CHECK((*made)[0].data<float>()[1] == 4.0f);
      CHECK_FALSE(op.last_call()->has_out);
    }
  }

  TEST_CASE("what was evicted is not launched from memory: it is built again") {
    EngineOptions options;
    options.call_keys_per_instance = 2;
    World w(options);
    FakeRow& row = w.row("fast");
    Op op = w.make();
    const Tensor memory = w.tensor({64});
    const Tensor out = w.tensor({64});
    const auto view = [&](const Tensor& t, std::int64_t n) {
      return TensorView(t.data<float>(), DType::kFloat32, Dims{n}, w.fake);
    };
    call_often(op, view(memory, 1), view(out, 1));
    REQUIRE(keeps_a_call(op));
    const int before = row.builds;
    for (std::int64_t n = 2; n < 12; ++n) call_often(op, view(memory, n), view(out, n), 1);
    CHECK(row.builds == before + 10);
    call_often(op, view(memory, 1), view(out, 1), 1);
    CHECK(row.builds == before + 11);
  }

  TEST_CASE("a new default target takes a remembered call at once, and so does the way back") {
    World w;
    FakeRow& row = w.row("fast");
    FakeTarget accel{"accel"};
    w.acme->add_target(accel.row());
    Op op = w.make();
    const Tensor x = w.tensor({3});
    const Tensor out = w.tensor({3});
    call_often(op, x, out);
    REQUIRE(keeps_a_call(op));

    REQUIRE(w.engine->set_default_target("accel"));
    call_often(op, x, out, 1);
    CHECK(accel.launches == 1);
    CHECK(out.data<float>()[2] == 9.0f);
    CHECK(op.last_call()->target == "accel");

    REQUIRE(w.engine->set_default_target(""));
    call_often(op, x, out, 2);
    CHECK(accel.launches == 1);
    CHECK(out.data<float>()[2] == 6.0f);
    CHECK(row.launches == 6);
  }

  TEST_CASE(
      "a plugin that is taken out leaves remembered calls as they were, and serves no new one") {
    World w;
    FakeRow& row = w.row("fast");
    Op op = w.make();
    const Tensor x = w.tensor({3});
    const Tensor out = w.tensor({3});
    call_often(op, x, out);

    REQUIRE(w.engine->registry().withdraw("acme"));
    w.engine->registry().publish();

    call_often(op, x, out, 1);
    CHECK(row.launches == 5);
    Op later = w.make();
    CHECK(later.call({{"x", x}}).error().code() == ErrorCode::kOpNotAvailable);
  }

  TEST_CASE("a failing launch of a remembered call keeps the binding and the earlier record") {
    World w;
    FakeRow& row = w.row("fast");
    Op op = w.make();
    const Tensor x = w.tensor({3});
    const Tensor out = w.tensor({3});
    call_often(op, x, out);
    row.launch = [](const tenon_launch&, tenon_reason&) { return TENON_DEVICE; };
    const TensorView* px = &x.view();
    const TensorArg args[] = {{&px, 1}, {}};

    const auto failed = op.call_out(args, out);

    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kDeviceError);
    CHECK(op.serving_target() == "builtin");
    CHECK(op.last_call()->kernel() == "acme:fast");
    row.launch = doubles;
    call_often(op, x, out, 1);
    CHECK(row.builds == 1);
  }

  TEST_CASE("each thread remembers its own calls; a new table of one is seen by the others") {
    World w;
    FakeRow& row = w.row("fast");
    Op op = w.make();
    const Tensor x = w.tensor({3});
    const Tensor out = w.tensor({3});
    call_often(op, x, out);
    std::thread([&] {
      const Tensor mine = w.tensor({7});
      const Tensor result = w.tensor({7});
      CHECK_FALSE(keeps_a_call(op));
      call_often(op, mine, result, 3);
      CHECK(op.last_call()->indices == std::vector<NamedValue>{{"n", 7}});
    }).join();
    call_often(op, x, out, 2);
    CHECK(row.builds == 2);
    CHECK(op.last_call()->indices == std::vector<NamedValue>{{"n", 3}});
  }

  TEST_CASE("a call that goes through copies is not remembered, and stays right") {
    World w;
    w.row("dense");
    Op op = w.make();
    const Tensor base = w.tensor({6});
    const Tensor out = w.tensor({3});
    const TensorView stepped(base.data<float>(), DType::kFloat32, Dims{3}, Dims{2}, w.fake);
    for (int i = 0; i < 4; ++i) {
      base.data<float>()[4] = static_cast<float>(i);
      call_often(op, stepped, out, 1);
      CHECK(out.data<float>()[2] == static_cast<float>(2 * i));
      CHECK(op.last_call()->copies == 1);
    }
  }
}
