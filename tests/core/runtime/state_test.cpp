// The state of an instance, group by group, and what each of the seven steps leaves when it fails:
// in the call that selected the target, and in a later one.
#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "core/support/fake_target.hpp"
#include "core/support/scale_world.hpp"

using namespace tenon;
using tenon::test::doubles;
using tenon::test::FakeKind;
using tenon::test::FakePlugin;
using tenon::test::FakeRow;
using tenon::test::FakeTarget;
using tenon::test::refuse_with;
using World = tenon::test::ScaleWorld;

namespace {

tenon_status no_driver(const tenon_launch&, tenon_reason&) { return TENON_DEVICE; }

// Fails one call of an instance by `break_it`, first in a call that has to select the target, then
// in one that finds it selected; `mend` in between.
void fails_in(World& w,
              ErrorCode code,
              const std::function<void()>& break_it,
              const std::function<void()>& mend) {
  Op op = w.make();
  const std::uint64_t key = op.key();
  break_it();

  const auto first = op.call({{"x", w.tensor({3})}});

  REQUIRE_FALSE(first);
  CHECK(first.error().code() == code);
  // The binding group is reset: nothing of it remains.
  CHECK(op.serving_target().empty());
  CHECK(op.built_entries().empty());
  // There was no success to record, and what construction settled is as it was.
  CHECK_FALSE(op.last_call());
  CHECK(op.key() == key);

  mend();
  REQUIRE(op.call({{"x", w.tensor({3})}}));
  CHECK(op.serving_target() == "builtin");
  break_it();

  const auto later = op.call({{"x", w.tensor({5})}});

  REQUIRE_FALSE(later);
  CHECK(later.error().code() == code);
  // An earlier call selected the target: it and its kernels stay, and so does the record.
  CHECK(op.serving_target() == "builtin");
  CHECK(op.built_entries().size() >= 1);
  CHECK(op.last_call()->indices == std::vector<NamedValue>{{"n", 3}});
  mend();
  CHECK(op.call({{"x", w.tensor({5})}}));
}

}  // namespace

TEST_SUITE("core/runtime/state") {
  TEST_CASE("step 2, the signature: a call that is refused selects nothing and changes nothing") {
    World w;
    FakeRow& row = w.row("fast");
    Op op = w.make();
    const auto bad = [&] {
      return op.call({{"x", w.tensor({3})}, {"weight", w.tensor({4})}}).error().code();
    };
    CHECK(bad() == ErrorCode::kSignatureMismatch);
    CHECK(op.serving_target().empty());
    CHECK(row.refuses == 0);
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    CHECK(bad() == ErrorCode::kSignatureMismatch);
    CHECK(op.serving_target() == "builtin");
    CHECK(op.last_call()->kernel() == "acme:fast");
  }

  TEST_CASE("step 3, the empty call: it binds nothing, and is recorded without a kernel") {
    World w;
    w.row("fast");
    Op op = w.make();
    REQUIRE(op.call({{"x", w.tensor({0})}}));
    CHECK(op.serving_target().empty());
    CHECK(op.last_call()->kernels.empty());
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    REQUIRE(op.call({{"x", w.tensor({0})}}));
    CHECK(op.serving_target() == "builtin");
    CHECK(op.built_entries().size() == 1);
    CHECK(op.last_call()->kernels.empty());
  }

  TEST_CASE("step 4, the target: one that cannot be chosen binds nothing") {
    World w;
    w.row("fast");
    FakeTarget a{"a"};
    FakeTarget b{"b"};
    w.device_plugin->add_target(a.row());
    w.device_plugin->add_target(b.row());
    Op op = w.make();
    a.claims = b.claims = true;
    const Tensor x = w.tensor({3});
    CHECK(op.call({{"x", x}}).error().code() == ErrorCode::kAmbiguousTarget);
    CHECK(op.serving_target().empty());
    a.claims = b.claims = false;
    REQUIRE(op.call({{"x", x}}));
    a.claims = b.claims = true;  // later calls keep the binding and ask nobody
    CHECK(op.call({{"x", x}}));
    CHECK(op.serving_target() == "builtin");
  }

  TEST_CASE("step 4, the target: a mismatch undoes the binding that the call made, and no other") {
    World w;
    w.kind.count = 2;
    w.row("fast");
    w.make();
    InstanceOptions second;
    second.target = "fake:1";
    Op op = w.make(second);
    const Tensor here = w.tensor({3});
    CHECK(op.call({{"x", here}}).error().code() == ErrorCode::kTargetMismatch);
    CHECK(op.serving_target().empty());
    const Tensor there =
        w.engine->devices().make_tensor(DType::kFloat32, Dims{3}, Device{w.fake.kind, 1}).value();
    REQUIRE(op.call({{"x", there}}));
    CHECK(op.call({{"x", here}}).error().code() == ErrorCode::kTargetMismatch);
    CHECK(op.serving_target() == "fake");
    CHECK(op.built_entries().size() == 1);
  }

  TEST_CASE("step 5, the run: no kernel serves") {
    World w;
    FakeRow& row = w.row("fast");
    fails_in(
        w,
        ErrorCode::kNoImplementation,
        [&] {
          row.refuse = [](const tenon_device&, const tenon_call&, tenon_reason& r) {
            return refuse_with(r, TENON_REASON_SIZE, 0, "n", "no");
          };
        },
        [&] { row.refuse = nullptr; });
  }

  TEST_CASE("step 5, the run: a build fails") {
    World w;
    FakeRow& row = w.row("fast");
    fails_in(
        w,
        ErrorCode::kBuildFailed,
        [&] { row.build = [](tenon_reason&) { return TENON_UNAVAILABLE; }; },
        [&] { row.build = nullptr; });
  }

  TEST_CASE("step 5, the run: a launch fails") {
    World w;
    FakeRow& row = w.row("fast");
    fails_in(
        w, ErrorCode::kDeviceError, [&] { row.launch = no_driver; }, [&] { row.launch = doubles; });
  }

  TEST_CASE("step 5, the run: the output finds no memory") {
    World w;
    w.row("fast");
    Op op = w.make();
    const Tensor x = w.tensor({3});
    const Tensor y = w.tensor({5});
    w.kind.fail_allocs = 1;
    CHECK(op.call({{"x", x}}).error().code() == ErrorCode::kOutOfMemory);
    CHECK(op.serving_target().empty());
    REQUIRE(op.call({{"x", x}}));
    w.kind.fail_allocs = 1;
    CHECK(op.call({{"x", y}}).error().code() == ErrorCode::kOutOfMemory);
    CHECK(op.serving_target() == "builtin");
    CHECK(op.last_call()->indices == std::vector<NamedValue>{{"n", 3}});
    CHECK(op.call({{"x", y}}));
  }

  TEST_CASE("bytes that were written stay written, and a made output is let go") {
    World w;
    FakeRow& row = w.row("fast");
    row.launch = [](const tenon_launch& l, tenon_reason& r) {
      (void)doubles(l, r);
      return TENON_DEVICE;
    };
    Op op = w.make();
    const Tensor x = w.tensor({3});
    const Tensor out = w.tensor({3}, 0.0f);
    const std::int64_t before = w.kind.live_bytes;
    REQUIRE_FALSE(op.call({{"x", x}}, {&out.view(), {}}));
    CHECK(out.data<float>()[2] == 6.0f);
    REQUIRE_FALSE(op.call({{"x", x}}));
    CHECK(w.kind.live_bytes == before);
  }

  TEST_CASE("an undo keeps what construction and running settled") {
    World w;
    FakeRow& row = w.row("fast");
    int tunes = 0;
    row.tune = [&](const tenon_launch&, tenon_reason&) {
      ++tunes;
      return TENON_OK;
    };
    row.launch = no_driver;
    InstanceOptions options;
    options.kernel_override = {{"scale_fwd", "acme:fast"}};
    Op op = w.make(options);
    (void)op.request_tune();
    REQUIRE_FALSE(op.call({{"x", w.tensor({3})}}));
    CHECK(tunes == 1);  // tuned mode came before; the kernel was let go with the binding
    row.launch = doubles;
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    CHECK(tunes == 2);  // it is still in tuned mode
    CHECK(op.last_call()->kernel() == "acme:fast");
  }

  TEST_CASE("two devices of different arch get two kernels for one call, on one instance") {
    World w;
    w.kind.count = 2;
    w.kind.second_archs = {"f3"};
    w.row("two").archs = {"f2"};
    w.row("three").archs = {"f3"};
    Op op = w.make();
    const Tensor there =
        w.engine->devices().make_tensor(DType::kFloat32, Dims{3}, Device{w.fake.kind, 1}).value();
    for (int i = 0; i < 3; ++i) {
      REQUIRE(op.call({{"x", w.tensor({3})}}));
      CHECK(op.last_call()->kernel() == "acme:two");
      REQUIRE(op.call({{"x", there}}));
      CHECK(op.last_call()->kernel() == "acme:three");
    }
  }

  TEST_CASE("what was declared is enumerated, never what happens to run") {
    World w;
    w.row("b").preferred_over = {"a"};
    w.row("a");
    Op op = w.make();
    using Pairs = std::vector<std::pair<std::string, std::string>>;
    CHECK(op.iter_kernels() == Pairs{{"scale_fwd", "acme:a"}, {"scale_fwd", "acme:b"}});
    CHECK(op.built_entries().empty());
    CHECK(op.held_delegates().empty());
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    REQUIRE(op.built_entries().size() == 1);
    CHECK(op.built_entries()[0].kernel == "acme:b");
    CHECK(op.built_entries()[0].interface == "scale_fwd");
    CHECK(op.built_entries()[0].device == w.fake);
  }

  TEST_CASE(
      "group construction: parameters, requested target, table, precedence and key are settled "
      "once, whatever calls do") {
    World w;
    FakeRow& fast = w.row("fast");
    w.row("slow");
    fast.preferred_over = {"slow"};
    InstanceOptions options;
    options.target = "fake";
    Op op = w.make(options);
    const std::uint64_t key = op.key();
    const auto table = op.iter_kernels();
    fast.launch = no_driver;
    REQUIRE_FALSE(op.call({{"x", w.tensor({3})}}));  // undone
    fast.launch = doubles;
    REQUIRE(w.engine->registry().withdraw("acme"));
    w.engine->registry().publish();
    REQUIRE(w.engine->set_default_target("builtin"));

    REQUIRE(op.call({{"x", w.tensor({3})}}));

    CHECK(op.key() == key);
    CHECK(op.iter_kernels() == table);     // of the snapshot that was current then
    CHECK(op.serving_target() == "fake");  // its own request, not the later default
    CHECK(op.last_call()->kernel() == "acme:fast");
  }

  TEST_CASE("group binding: target, entries by call and built entries are all reset by an undo") {
    World w;
    FakeRow& row = w.row("fast");
    Op op = w.make();
    row.launch = no_driver;
    REQUIRE_FALSE(op.call({{"x", w.tensor({3})}}));
    CHECK(op.serving_target().empty());
    CHECK(op.built_entries().empty());
    // No thread sees the entry any more: the kernel goes with the next table, at the latest.
    row.launch = doubles;
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    CHECK(row.builds == 2);  // the entry by call key was reset, too
    CHECK(row.refuses == 2);
    CHECK(row.destroys == 1);
    CHECK(op.built_entries().size() == 1);
  }

  TEST_CASE("calls that all fail at once undo each other's bindings, and each gets its error") {
    World w;
    w.row("fast").launch = no_driver;
    w.publish();
    constexpr int kThreads = 4;
    constexpr int kCalls = 20'000;
    Op op = w.make();
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        std::array<float, 3> from{1, 2, 3};
        std::array<float, 3> to{};
        const TensorView x(from.data(), DType::kFloat32, Dims{3}, Dims{1}, w.fake);
        const TensorView out(to.data(), DType::kFloat32, Dims{3}, w.fake);
        const TensorView* px = &x;
        const TensorArg args[] = {{&px, 1}, {}};
        for (int i = 0; i < kCalls; ++i) {
          const auto called = op.call_out(args, out);
          if (!called && called.error().code() == ErrorCode::kDeviceError) ++refused;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    CHECK(refused == kThreads * kCalls);
    CHECK(op.serving_target().empty());
    CHECK(op.built_entries().empty());
  }

  TEST_CASE("group running: tuned mode, last call and effect branch are kept by an undo") {
    World w;
    FakeRow& row = w.row("fast");
    FakeTarget other{"other"};
    w.acme->add_target(other.row());
    Op op = w.make();
    const Tensor out = w.tensor({3}, 0.0f);
    REQUIRE(op.call({{"x", w.tensor({3})}}, {&out.view(), {}}));
    const std::uint32_t branch = op.last_call()->branch;
    REQUIRE(w.engine->set_default_target("fake"));  // the next call selects again
    row.launch = no_driver;
    row.build = [](tenon_reason&) { return TENON_UNAVAILABLE; };

    REQUIRE_FALSE(op.call({{"x", w.tensor({5})}}));

    CHECK(op.serving_target().empty());
    REQUIRE(op.last_call());
    CHECK(op.last_call()->has_out);
    CHECK(op.last_call()->branch == branch);
    CHECK(op.last_call()->indices == std::vector<NamedValue>{{"n", 3}});
  }
}
