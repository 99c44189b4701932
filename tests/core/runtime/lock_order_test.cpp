// The order of locks: whichever one is taken while another is held is never held while that one is
// taken. One thread shows it, where a deadlock would need two at the right moment. An executable of
// its own, since it interposes the pthread mutexes.
#include <array>
#include <atomic>
#include <cstddef>
#include <dlfcn.h>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "core/support/chain_world.hpp"

namespace {

constexpr std::size_t kMaxHeld = 32;
constexpr std::size_t kMaxEdges = 1 << 16;

// Which mutex was taken while which was held. Allocates nothing: it runs inside of locks.
struct Recorder {
  struct Edge {
    const void* held;
    const void* taken;
  };
  std::atomic<bool> on{false};
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
  std::array<Edge, kMaxEdges> edges{};
  std::size_t count = 0;
  bool overrun = false;

  void add(const void* held, const void* taken) {
    while (busy.test_and_set(std::memory_order_acquire)) {
    }
    bool known = false;
    for (std::size_t i = 0; i < count && !known; ++i)
      known = edges[i].held == held && edges[i].taken == taken;
    if (!known && count == kMaxEdges) overrun = true;
    if (!known && count < kMaxEdges) edges[count++] = {held, taken};
    busy.clear(std::memory_order_release);
  }
};
Recorder recorder;

struct Held {
  std::array<const void*, kMaxHeld> mutexes{};
  std::size_t count = 0;
};
thread_local Held held;

bool reaches(const void* from, const void* to, std::vector<const void*>& seen) {
  if (from == to) return true;
  for (const void* s : seen) {
    if (s == from) return false;
  }
  seen.push_back(from);
  for (std::size_t i = 0; i < recorder.count; ++i) {
    if (recorder.edges[i].held == from && reaches(recorder.edges[i].taken, to, seen)) return true;
  }
  return false;
}

// Edges that close a circle.
std::size_t circles() {
  std::size_t n = 0;
  for (std::size_t i = 0; i < recorder.count; ++i) {
    std::vector<const void*> seen;
    n += reaches(recorder.edges[i].taken, recorder.edges[i].held, seen) ? 1 : 0;
  }
  return n;
}

// Records while it lives.
struct Recording {
  Recording() {
    recorder.count = 0;
    recorder.on = true;
  }
  ~Recording() { recorder.on = false; }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
};

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static const auto kReal = real<int (*)(pthread_mutex_t*)>("pthread_mutex_lock");
  if (recorder.on) {
    for (std::size_t i = 0; i < held.count; ++i) recorder.add(held.mutexes[i], mutex);
  }
  const int status = kReal(mutex);
  if (held.count < kMaxHeld) held.mutexes[held.count++] = mutex;
  return status;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  static const auto kReal = real<int (*)(pthread_mutex_t*)>("pthread_mutex_unlock");
  for (std::size_t i = held.count; i-- > 0;) {
    if (held.mutexes[i] != mutex) continue;
    for (std::size_t k = i + 1; k < held.count; ++k) held.mutexes[k - 1] = held.mutexes[k];
    --held.count;
    break;
  }
  return kReal(mutex);
}

}  // extern "C"

using namespace tenon;
using World = tenon::test::ChainWorld;

TEST_SUITE("core/runtime/lock_order") {
  TEST_CASE("two mutexes that are taken in both orders are told") {
    std::mutex a;
    std::mutex b;
    const Recording recording;
    {
      const std::lock_guard first(a);
      const std::lock_guard second(b);
    }
    CHECK(circles() == 0);
    const std::lock_guard first(b);
    const std::lock_guard second(a);
    CHECK(circles() == 2);
  }

  TEST_CASE("making copiers and sub-ops, evicting, undoing and tuning keep one order of locks") {
    EngineOptions options;
    options.built_entries = 2;
    options.call_keys_per_instance = 4;
    World w(options);
    w.scale->tune = [](const tenon_launch&, tenon_reason&) { return TENON_OK; };
    std::vector<Op> ops;  // all live to the end: an address means one mutex
    for (int i = 0; i < 4; ++i) ops.push_back(w.make_op(i == 0 ? "OuterFwdOp" : "ScaleFwdOp"));
    const Tensor memory = w.tensor({32});
    const Recording recording;
    const auto all = [&](std::int64_t from) {
      for (std::int64_t n = from; n < from + 6; ++n) {
        TensorView x = memory.view();
        x.shape = Dims{n};
        x.strides = Dims{2};
        for (Op& op : ops) (void)op.call({{"x", x}});
      }
    };

    all(1);  // copiers, sub-ops, builds, evictions of keys and of kernels
    const auto good = w.scale->launch;
    w.scale->launch = World::broken;
    all(1);  // failures
    w.scale->launch = good;
    REQUIRE(w.engine->set_default_target("fake"));
    all(2);
    for (Op& op : ops) (void)op.request_tune();
    std::thread other([&] { all(3); });
    all(4);
    other.join();
    (void)w.engine->counters();

    CHECK_FALSE(recorder.overrun);
    CHECK(recorder.count > 10);
    CHECK(circles() == 0);
    CHECK(w.engine->counters().kernels_evicted > 0);
    CHECK(w.copy->launches > 0);
  }
}
