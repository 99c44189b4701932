// What the registry adds to a call, beside ATen in the same run: the rows of the performance goals.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <malloc.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "aten_rows.hpp"
#include "fake_family.hpp"
#include "goals.hpp"
#include "runtime/hit_memo.hpp"
#include "runtime/instance.hpp"
#include "tenon/tenon.hpp"

namespace tenon::bench {
namespace {

[[noreturn]] void give_up(const Error& error) {
  std::fprintf(stderr, "%s\n", error.to_string().c_str());
  std::exit(1);
}

Runtime& runtime() {
  static Runtime made = [] {
    RuntimeOptions options;
    options.plugin_paths = {TENON_CPU_PLUGIN};
    options.standard_folders = false;
    options.environment = loader::Environment::of({});
    auto runtime = Runtime::create(std::move(options));
    if (!runtime) give_up(runtime.error());
    return std::move(*runtime);
  }();
  return made;
}

/// An add of one float32 element, ready to be called.
struct Add {
  Op op;
  Tensor a;
  Tensor b;
  Tensor out;
  const TensorView* pa = &a.view();
  const TensorView* pb = &b.view();
  TensorArg args[2] = {{&pa, 1}, {&pb, 1}};

  Add() : op(make()), a(one(1.5f)), b(one(2.5f)), out(one(0.0f)) {
    for (int i = 0; i < 4; ++i) {
      if (auto called = op.call_out(args, out.view()); !called) give_up(called.error());
    }
    if (out.data<float>()[0] != 4.0f) std::abort();
  }
  Add(const Add&) = delete;
  Add& operator=(const Add&) = delete;

  void hit() { benchmark::DoNotOptimize(op.call_out(args, out.view())); }

 private:
  static Op make() {
    auto op = runtime().make("AddFwdOp");
    if (!op) give_up(op.error());
    return std::move(*op);
  }
  static Tensor one(float value) {
    auto t = runtime().engine().devices().make_tensor(DType::kFloat32, Dims{1}, Device{});
    if (!t) give_up(t.error());
    t->data<float>()[0] = value;
    return std::move(*t);
  }
};

void hit_out(benchmark::State& state) {
  Add add;
  for (auto _ : state) add.hit();
}
BENCHMARK(hit_out);

/// The kernel that the hit launches, with the struct that it launches it with.
void raw_launch(benchmark::State& state) {
  Add add;
  const HitMemo* memo = add.op.instance().thread_state().memos[0].get();
  if (memo == nullptr || memo->launches().empty()) std::abort();
  const KeptLaunch& kept = memo->launches().front();
  const tenon_kernel kernel = kept.entry->built->kernel();
  tenon_reason reason{};
  reason.struct_size = sizeof reason;
  for (auto _ : state)
    benchmark::DoNotOptimize(kernel.launch(kernel.state, &kept.request, &reason));
}
BENCHMARK(raw_launch);

void hit_made(benchmark::State& state) {
  Add add;
  Tensor made;
  for (auto _ : state) {
    auto called = add.op.call_into(add.args, {&made, 1});
    benchmark::DoNotOptimize(called);
  }
}
BENCHMARK(hit_made);

void hit_named(benchmark::State& state) {
  Add add;
  for (auto _ : state) benchmark::DoNotOptimize(add.op.call({{"self", add.a}, {"other", add.b}}));
}
BENCHMARK(hit_named);

/// Calls per second of two threads, on one instance or on one each.
void two_threads(benchmark::State& state) {
  const bool shared = state.range(0) == 1;
  constexpr int kCalls = 200000;
  Add first;
  Add second;
  for (auto _ : state) {
    std::atomic<int> ready{0};
    const auto loop = [&](Op& op) {
      // Tensors of its own: what threads share is the instance.
      Add own;
      for (int i = 0; i < 4; ++i) (void)op.call_out(own.args, own.out.view());
      ++ready;
      while (ready.load() < 2) std::this_thread::yield();
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < kCalls; ++i)
        benchmark::DoNotOptimize(op.call_out(own.args, own.out.view()));
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    double other = 0;
    std::thread thread([&] { other = loop(shared ? first.op : second.op); });
    const double mine = loop(first.op);
    thread.join();
    state.SetIterationTime(std::max(mine, other) / kCalls);
  }
}
BENCHMARK(two_threads)->ArgName("shared")->Arg(0)->Arg(1)->UseManualTime()->Iterations(5);

void miss_64(benchmark::State& state) {
  FakeFamily family(64);
  for (auto _ : state) family.miss();
}
BENCHMARK(miss_64)->Iterations(4000);

void explain_64(benchmark::State& state) {
  FakeFamily family(64);
  for (auto _ : state) family.explain();
}
BENCHMARK(explain_64);

void aten(benchmark::State& state, void (*rows)(std::int64_t)) {
  if (!has_aten()) {
    state.SkipWithError("libtorch-dev is not installed");
    return;
  }
  constexpr std::int64_t kBatch = 1000;
  while (state.KeepRunningBatch(kBatch)) rows(kBatch);
}
BENCHMARK_CAPTURE(aten, add_out, &aten_add_out);
BENCHMARK_CAPTURE(aten, add, &aten_add);
BENCHMARK_CAPTURE(aten, empty, &aten_empty);

/// Heap memory that a call of one more shape takes for good, on average over 500 of them.
double bytes_per_call_spec() {
  constexpr std::int64_t kFirst = 2;
  constexpr std::int64_t kShapes = 500;
  auto op = runtime().make("AddFwdOp");
  if (!op) give_up(op.error());
  auto memory =
      runtime().engine().devices().make_tensor(DType::kFloat32, Dims{kFirst + kShapes}, Device{});
  if (!memory) give_up(memory.error());
  std::fill_n(memory->data<float>(), kFirst + kShapes, 1.0f);
  const auto call = [&](std::int64_t size) {
    const TensorView view(memory->view().data, DType::kFloat32, Dims{size}, Device{});
    const TensorView* const pointer = &view;
    const TensorArg args[2] = {{&pointer, 1}, {&pointer, 1}};
    if (auto called = op->call_out(args, view); !called) give_up(called.error());
  };
  // What a thread and an instance have once is there before, and so are the kept calls.
  for (int i = 0; i < 16; ++i) call(kFirst - i % 2);
  const std::size_t before = mallinfo2().uordblks;
  for (std::int64_t i = 1; i <= kShapes; ++i) call(kFirst + i - 1);
  return static_cast<double>(mallinfo2().uordblks - before) / static_cast<double>(kShapes);
}

void verdicts(const Keeper& rows) {
  std::printf("\nATen %s\n", aten_version());
  const double out = rows.ns("hit_out");
  const double raw = rows.ns("raw_launch");
  verdict("hit, out given, over at::add_out", ratio(out, rows.ns("aten/add_out")), 0.2, "x");
  verdict("hit, out given, beyond the raw launch", raw < 0 ? -1 : out - raw, 40, "ns");
  verdict("hit, output made, over at::add",
          ratio(rows.ns("hit_made"), rows.ns("aten/add")),
          1 / 3.,
          "x");
  verdict("two threads on one instance over two on their own",
          ratio(rows.ns("two_threads/shared:1"), rows.ns("two_threads/shared:0")),
          1 / 0.9,
          "x");
  verdict("miss among 64 implementations", rows.ns("miss_64") / 1000, 20, "us");
  verdict("explain over a miss", ratio(rows.ns("explain_64"), rows.ns("miss_64")), 10, "x");
  verdict("memory of one more cached call", bytes_per_call_spec(), 2048, "bytes");
}

}  // namespace
}  // namespace tenon::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  tenon::bench::Keeper rows;
  benchmark::RunSpecifiedBenchmarks(&rows);
  tenon::bench::verdicts(rows);
  return 0;
}
