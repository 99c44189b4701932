// Sixteen threads on a thousand instances: random shapes and layouts, builds and launches that
// fail, targets and snapshots that change. Every result is right or an error that was injected, and
// memory stays flat. TENON_SOAK_SECONDS says how long.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "core/support/scale_world.hpp"
#include "tenon/core/composition.hpp"
#include "tenon/core/flow.hpp"

using namespace tenon;
using tenon::test::doubles;
using tenon::test::FakePlugin;
using tenon::test::FakeRow;
using tenon::test::HandPlan;
using tenon::test::ScaleWorld;

namespace {

constexpr int kThreads = 16;
constexpr std::size_t kInstances = 1000;
constexpr std::int64_t kMaxSize = 48;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kMeasuresMemory = false;
#else
constexpr bool kMeasuresMemory = true;
#endif

int soak_seconds() {
  const char* text = std::getenv("TENON_SOAK_SECONDS");
  return text == nullptr ? 5 : std::atoi(text);
}

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// True once in `every` calls, without order between threads.
bool now_and_then(std::atomic<std::uint64_t>& counter, std::uint64_t every) {
  return counter.fetch_add(1, std::memory_order_relaxed) % every == every - 1;
}

// x doubled twice, through two stages.
class TwiceFlow final : public Flow {
 public:
  [[nodiscard]] std::string_view name() const override { return "direct"; }
  [[nodiscard]] bool view_as(const FlowContext& context,
                             std::uint32_t arg,
                             const TensorView& tensor,
                             const Dims& shape,
                             TensorView& view) const override {
    return find_flow("direct")->view_as(context, arg, tensor, shape, view);
  }
  [[nodiscard]] bool composes() const override { return true; }
  [[nodiscard]] Result<void> compose(Composition& c) const override {
    const TensorView* x = c.input("x");
    TensorView between;
    TENON_TRY_ASSIGN(between, c.temporary(x->dtype, x->shape));
    TENON_TRY(stage(c, "first", *x, between));
    return stage(c, "second", between, *c.output("output"));
  }

 private:
  static Result<void> stage(Composition& c,
                            std::string_view name,
                            const TensorView& from,
                            const TensorView& to) {
    Composition::Delegate delegate;
    TENON_TRY_ASSIGN(delegate, c.delegate_for(name, {}, [] { return std::vector<NamedValue>(); }));
    const TensorView* px = &from;
    const TensorArg args[] = {{&px, 1}, {}};
    return c.run(delegate, args, to);
  }
};

struct Soak : ScaleWorld {
  explicit Soak(EngineOptions options) : ScaleWorld(std::move(options)) {
    twice_plan = std::make_shared<HandPlan>("TwiceFwdOp", "twice_fwd");
    twice_plan->compose_of(
        {{"first", "ScaleFwdOp", "", false}, {"second", "ScaleFwdOp", "", false}});
    REQUIRE(engine->registry().add_op(twice_plan, &flow));
    FakeRow& fast = row("fast");
    fast.workspace_bytes = 128;
    fast.build = [this](tenon_reason&) {
      return now_and_then(build_count, 37) ? TENON_UNAVAILABLE : TENON_OK;
    };
    fast.launch = [this](const tenon_launch& l, tenon_reason& r) {
      if (now_and_then(launch_count, 211)) return TENON_DEVICE;
      std::memset(l.workspace, 0x5a, l.workspace_bytes);
      return doubles(l, r);
    };
    publish();
  }

  std::atomic<std::uint64_t> build_count{0};
  std::atomic<std::uint64_t> launch_count{0};
  TwiceFlow flow;
  std::shared_ptr<HandPlan> twice_plan;
};

class Instances {
 public:
  explicit Instances(Soak& world) : world_(world), slots_(kInstances) {
    for (std::size_t i = 0; i < kInstances; ++i) renew(i);
  }
  std::shared_ptr<Op> get(std::size_t i) {
    const std::lock_guard lock(slots_[i].mutex);
    return slots_[i].op;
  }
  void renew(std::size_t i) {
    auto made = std::make_shared<Op>(
        world_.engine->make(is_twice(i) ? "TwiceFwdOp" : "ScaleFwdOp").value());
    const std::lock_guard lock(slots_[i].mutex);
    slots_[i].op.swap(made);
  }
  static bool is_twice(std::size_t i) { return i % 5 == 0; }

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<Op> op;
  };
  Soak& world_;
  std::vector<Slot> slots_;
};

struct Tally {
  std::atomic<std::uint64_t> right{0};
  std::atomic<std::uint64_t> injected{0};
  std::atomic<std::uint64_t> wrong{0};
};

void call_at_random(Soak& world, Instances& instances, Tally& tally, unsigned seed) {
  std::minstd_rand random(seed);
  const auto one_of = [&](std::uint64_t n) { return random() % n; };
  std::vector<float> from(2 * kMaxSize);
  std::vector<float> to(kMaxSize);
  for (int calls = 0; calls < 200; ++calls) {
    const std::size_t at = one_of(kInstances);
    const auto n = static_cast<std::int64_t>(1 + one_of(kMaxSize));
    const auto step = static_cast<std::int64_t>(1 + one_of(2));
    for (float& v : from) v = static_cast<float>(one_of(1000));
    const TensorView x(from.data(), DType::kFloat32, Dims{n}, Dims{step}, world.fake);
    const TensorView out(to.data(), DType::kFloat32, Dims{n}, world.fake);
    const TensorView* px = &x;
    const TensorArg args[] = {{&px, 1}, {}};
    const auto op = instances.get(at);
    const auto called = op->call_out(args, out);
    if (!called) {
      const ErrorCode code = called.error().code();
      ++(code == ErrorCode::kBuildFailed || code == ErrorCode::kDeviceError ? tally.injected
                                                                            : tally.wrong);
      continue;
    }
    const float factor = Instances::is_twice(at) ? 4.0f : 2.0f;
    bool all = true;
    for (std::int64_t i = 0; i < n; ++i)
      all = all &&
            to[static_cast<std::size_t>(i)] == factor * from[static_cast<std::size_t>(i * step)];
    const auto record = op->last_call();
    all = all && record && !record->kernels.empty();
    ++(all ? tally.right : tally.wrong);
    if (one_of(50) == 0) instances.renew(one_of(kInstances));
  }
}

}  // namespace

TEST_CASE(
    "D67, D69 and D70 soak: threads, instances, failures and changes, and memory stays flat") {
  EngineOptions options;
  options.built_entries = 512;
  options.call_keys_per_instance = 16;
  Soak world(options);
  Tally tally;
  std::size_t early_bytes = 0;
  {
    Instances instances(world);
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (unsigned round = 0; !stop; ++round)
          call_at_random(world, instances, tally, 1 + static_cast<unsigned>(t) + 100 * round);
      });
    }
    threads.emplace_back([&] {
      for (int i = 0; !stop; ++i) {
        (void)world.engine->set_default_target(i % 2 == 0 ? "fake" : "");
        world.engine->registry().publish();
        (void)world.engine->counters();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(soak_seconds());
    const auto early = end - std::chrono::seconds(soak_seconds()) / 3;
    std::this_thread::sleep_until(early);
    early_bytes = resident_bytes();
    std::this_thread::sleep_until(end);
    stop = true;
    for (auto& thread : threads) thread.join();
    const std::size_t late_bytes = resident_bytes();
    MESSAGE("right " << tally.right.load() << ", injected failures " << tally.injected.load()
                     << ", resident " << early_bytes / 1024 << " KiB after two thirds, "
                     << late_bytes / 1024 << " KiB at the end");
    CHECK(world.engine->counters().kernels_live <= 512 + kThreads);
    // Each thread meets a thousand instances before its tables stop growing. What a sanitizer keeps
    // of each address that it saw is not Tenon's memory.
    if (kMeasuresMemory && soak_seconds() >= 60) CHECK(late_bytes < early_bytes + early_bytes / 20);
  }
  CHECK(tally.wrong == 0);
  CHECK(tally.right > 1000);
  CHECK(tally.injected > 0);
  CHECK(world.engine->counters().instances == 0);
  CHECK(world.engine->counters().kernels_live == 0);
}
