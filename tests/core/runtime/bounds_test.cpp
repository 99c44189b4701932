// Caches are bounded, what is used stays, and counters tell.
#include <algorithm>
#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "core/support/chain_world.hpp"

using namespace tenon;
using tenon::test::ChainWorld;
using tenon::test::FakeRow;
using tenon::test::no_params;
using World = tenon::test::ScaleWorld;

namespace {

// PairFwdOp whose sub-ops are made anew for every size.
void key_by_size(ChainWorld& w) {
  w.pair_flow.script = [](Composition& c) -> Result<void> {
    const TensorView* x = c.input("x");
    TensorView between;
    TENON_TRY_ASSIGN(between, c.temporary(x->dtype, x->shape));
    const std::int64_t size[] = {x->shape[0]};
    Composition::Delegate first;
    Composition::Delegate second;
    TENON_TRY_ASSIGN(first, c.delegate_for("first", size, no_params));
    TENON_TRY_ASSIGN(second, c.delegate_for("second", size, no_params));
    const TensorArg args[] = {{&x, 1}, {}};
    TENON_TRY(c.run(first, args, between));
    const TensorView* px = &between;
    const TensorArg again[] = {{&px, 1}, {}};
    return c.run(second, again, *c.output("output"));
  };
}

}  // namespace

TEST_SUITE("core/runtime/bounds") {
  TEST_CASE("built kernels of a Runtime are bounded across its instances") {
    EngineOptions options;
    options.built_entries = 8;
    World w(options);
    FakeRow& row = w.row("fast");
    std::vector<Op> ops;
    for (int i = 0; i < 10; ++i) ops.push_back(w.make());

    for (std::int64_t n = 1; n <= 40; ++n)
      REQUIRE(ops[static_cast<std::size_t>(n) % ops.size()].call({{"x", w.tensor({n})}}));

    const EngineCounters c = w.engine->counters();
    CHECK(c.instances == 10);
    CHECK(c.kernels_built == 40);
    CHECK(c.kernels_live <= 8);
    CHECK(c.kernels_live + c.kernels_evicted == 40);
    CHECK(row.destroys == static_cast<int>(c.kernels_evicted));
    CHECK(ops[0].call({{"x", w.tensor({1})}}));  // what was evicted is built again
    CHECK(row.builds == 41);
  }

  TEST_CASE("a kernel that is used all the time stays while others come and go") {
    EngineOptions options;
    options.built_entries = 8;
    World w(options);
    FakeRow& row = w.row("fast");
    Op op = w.make();
    const Tensor hot = w.tensor({100});
    REQUIRE(op.call({{"x", hot}}));
    for (std::int64_t n = 1; n <= 60; ++n) {
      REQUIRE(op.call({{"x", w.tensor({n})}}));
      REQUIRE(op.call({{"x", hot}}));
    }
    CHECK(row.builds == 61);
    CHECK(w.engine->counters().kernels_evicted >= 50);
  }

  TEST_CASE("instances leave the table at their end, and evicted call keys are counted") {
    EngineOptions options;
    options.call_keys_per_instance = 4;
    World w(options);
    w.row("fast");
    {
      Op op = w.make();
      for (std::int64_t n = 1; n <= 10; ++n) REQUIRE(op.call({{"x", w.tensor({n})}}));
      CHECK(w.engine->counters().instances == 1);
      CHECK(w.engine->counters().call_keys_evicted == 6);
      // The table before the last one is let go with the next change.
      CHECK(w.engine->counters().kernels_live <= 5);
    }
    CHECK(w.engine->counters().instances == 0);
    CHECK(w.engine->counters().kernels_live == 0);
  }

  TEST_CASE("threads that overrun the bound together build and evict without harm") {
    EngineOptions options;
    options.built_entries = 16;
    options.call_keys_per_instance = 8;
    World w(options);
    w.row("fast");
    Op shared = w.make();
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::int64_t i = 0; i < 200; ++i) {
          Tensor memory = Tensor::host(DType::kFloat32, Dims{64}).value();
          const std::int64_t n = 1 + (i * 7 + t * 13) % 60;
          memory.data<float>()[n - 1] = static_cast<float>(n);
          const TensorView x(memory.data<float>(), DType::kFloat32, Dims{n}, w.fake);
          const TensorView* px = &x;
          const TensorArg args[] = {{&px, 1}, {}};
          if (!shared.call_out(args, x) ||
              memory.data<float>()[n - 1] != 2.0f * static_cast<float>(n))
            ++failures;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    CHECK(failures == 0);
    CHECK(w.engine->counters().kernels_live <= 16);
  }

  TEST_CASE("sub-ops that are keyed by size are bounded, and the one that is used stays") {
    EngineOptions options;
    options.call_keys_per_instance = 8;
    ChainWorld w(options);
    key_by_size(w);
    Op op = w.make_op("PairFwdOp");
    const Tensor hot = w.tensor({1000});
    REQUIRE(op.call({{"x", hot}}));
    const auto kept = op.held_delegates();
    REQUIRE(kept.size() == 2);

    for (std::int64_t n = 1; n <= 100; ++n) {
      const auto out = op.call({{"x", w.tensor({n})}});
      if (!out) FAIL(out.error().to_string());
      CHECK((*out)[0].data<float>()[n - 1] == static_cast<float>(n) + 1);
      REQUIRE(op.call({{"x", hot}}));
      CHECK(op.held_delegates().size() <= 8);
      CHECK(op.last_call()->stages.size() == 2);  // what the record tells of is there
    }

    // The instance, what it holds, and what this thread holds of what went since.
    CHECK(w.engine->counters().instances <= 1 + 8 + 8 + 2);
    CHECK(w.engine->counters().sub_ops_evicted >= 150);
    const auto held = op.held_delegates();
    for (const HeldDelegate& each : kept) {
      CHECK(std::any_of(
          held.begin(), held.end(), [&](const HeldDelegate& h) { return h.op == each.op; }));
    }
  }

  TEST_CASE("sub-ops that are given are never let go") {
    EngineOptions options;
    options.call_keys_per_instance = 2;
    ChainWorld w(options);
    key_by_size(w);
    InstanceOptions given;
    given.delegates["first"] = std::make_shared<Op>(w.make_op("ScaleFwdOp"));
    Op op = w.make_op("PairFwdOp", given);
    for (std::int64_t n = 1; n <= 10; ++n) {
      const auto out = op.call({{"x", w.tensor({n})}});
      REQUIRE(out);
      CHECK((*out)[0].data<float>()[n - 1] == static_cast<float>(n) + 1);
    }
    CHECK(given.delegates["first"]->last_call()->indices ==
          std::vector<NamedValue>{{"n", std::int64_t{10}}});
  }

  TEST_CASE("threads that ask for more sub-ops than there may be get right results") {
    EngineOptions options;
    options.call_keys_per_instance = 6;
    ChainWorld w(options);
    key_by_size(w);
    std::atomic<int> failures{0};
    {
      Op op = w.make_op("PairFwdOp");
      std::vector<std::thread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
          for (std::int64_t i = 0; i < 200; ++i) {
            const std::int64_t n = 1 + (i * 7 + t * 13) % 40;
            Tensor memory = Tensor::host(DType::kFloat32, Dims{2 * n}).value();
            memory.data<float>()[n - 1] = static_cast<float>(n);
            const TensorView x(memory.data<float>(), DType::kFloat32, Dims{n}, w.fake);
            const TensorView y(memory.data<float>() + n, DType::kFloat32, Dims{n}, w.fake);
            const TensorView* px = &x;
            const TensorArg args[] = {{&px, 1}, {}};
            if (!op.call_out(args, y) ||
                memory.data<float>()[2 * n - 1] != static_cast<float>(n) + 1 ||
                op.last_call()->stages.size() != 2)
              ++failures;
          }
        });
      }
      for (auto& thread : threads) thread.join();
      CHECK(op.held_delegates().size() <= 6);
    }
    CHECK(failures == 0);
    CHECK(w.engine->counters().instances == 0);
  }
}
