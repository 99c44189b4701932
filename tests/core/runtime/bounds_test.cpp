// Caches are bounded, what is used stays, and counters tell.
#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "core/support/scale_world.hpp"

using namespace tenon;
using tenon::test::FakeRow;
using World = tenon::test::ScaleWorld;

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
}
