// How many calls a second the host enqueues: Tenon's, the plugin's kernel with a prepared launch
// struct, and bare launches of the same kernel, in turn in one process.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

#include "bench.hpp"
#include "runtime/hit_memo.hpp"
#include "runtime/instance.hpp"

namespace tenon::gpu_check {
namespace {

constexpr std::int64_t kCount = 4096;
constexpr int kCalls = 2000;
constexpr int kRounds = 41;
constexpr int kReplayedCalls = 1000;

/// What raw_launches.cu exports.
using BareAdd =
    void (*)(const void* a, const void* b, void* out, long long count, void* stream, int calls);

BareAdd bare_add(const std::string& path) {
  if (path.empty()) return nullptr;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* found = library == nullptr ? nullptr : dlsym(library, "tenon_bare_add");
  if (found == nullptr) {
    const char* why = dlerror();
    std::printf("STOP: %s\n", why == nullptr ? "tenon_bare_add is null" : why);
    std::exit(3);
  }
  return reinterpret_cast<BareAdd>(found);
}

/// One way to enqueue the kernel, and the rates of its rounds.
struct Side {
  std::function<void()> enqueue;  ///< kCalls of them
  std::vector<double> rates;      ///< calls a second
};

double at_share(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

void time_in_turn(Bench& bench, std::vector<Side>& sides) {
  for (int round = -2; round < kRounds; ++round) {
    for (Side& side : sides) {
      const auto start = std::chrono::steady_clock::now();
      side.enqueue();
      must(bench.devices().synchronize(bench.entry()));
      const double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (round >= 0) side.rates.push_back(kCalls / seconds);
    }
  }
}

}  // namespace

void bench_launches(Bench& bench, void* stream, const std::string& bare) {
  const BareAdd add = bare_add(bare);
  const Row small = row("launches",
                        "AddFwdOp",
                        "add_fwd",
                        {},
                        {{"self", Dims{kCount}}, {"other", Dims{kCount}}},
                        Dims{kCount});
  Op op = must(bench.make(small.call, ""));
  const auto set = make_set(bench, small, op.decl());
  const TensorView out = set->out.view();
  const auto call = [&](int calls) {
    must(on_stream(bench.device(), stream, [&]() -> Result<void> {
      for (int i = 0; i < calls; ++i) TENON_TRY(op.call_out(set->arguments, out));
      return {};
    }));
  };
  call(4);
  const HitMemo* memo = op.instance().thread_state().memos[0].get();
  if (memo == nullptr || memo->launches().empty()) {
    std::printf("STOP: no hit is kept\n");
    std::exit(3);
  }
  const KeptLaunch& kept = memo->launches().front();
  const tenon_kernel kernel = kept.entry->built->kernel();
  tenon_reason reason{};
  reason.struct_size = sizeof reason;
  const auto launch_bare = [&](int calls) {
    add(set->views[0].first(), set->views[1].first(), out.first(), kCount, stream, calls);
  };

  std::vector<Side> sides(add == nullptr ? 2 : 3);
  sides[0].enqueue = [&] { call(kCalls); };
  sides[1].enqueue = [&] {
    for (int i = 0; i < kCalls; ++i) kernel.launch(kernel.state, &kept.request, &reason);
  };
  if (add != nullptr) sides[2].enqueue = [&] { launch_bare(kCalls); };
  time_in_turn(bench, sides);

  const Times replay = time_replays(bench, stream, kReplayedCalls, [&] { call(kReplayedCalls); });
  std::printf(
      "{\"row\": \"launches of add 4096\", \"calls_per_s\": %.0f, \"built_per_s\": %.0f, "
      "\"replay_us\": %.3f",
      at_share(sides[0].rates, 0.5),
      at_share(sides[1].rates, 0.5),
      replay.median_us);
  if (add != nullptr) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < kRounds; ++i)
      ratios.push_back(sides[0].rates[i] / sides[2].rates[i]);
    const Times bare_replay =
        time_replays(bench, stream, kReplayedCalls, [&] { launch_bare(kReplayedCalls); });
    std::printf(
        ", \"bare_per_s\": %.0f, \"ratio\": %.3f, \"ratio_p10\": %.3f, \"ratio_p90\": %.3f, "
        "\"bare_replay_us\": %.3f",
        at_share(sides[2].rates, 0.5),
        at_share(ratios, 0.5),
        at_share(ratios, 0.1),
        at_share(ratios, 0.9),
        bare_replay.median_us);
  }
  std::printf("}\n");
  std::fflush(stdout);
}

}  // namespace tenon::gpu_check
