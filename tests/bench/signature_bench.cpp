// How long a signature check takes: the good path, on a warm frame, beside what any dispatch costs:
// an indirect call, a lookup in a hash table, a whole call of ATen's where libtorch is installed.
// Allocations are counted, and are an error.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <benchmark/benchmark.h>

#include "dispatch/aten_rows.hpp"
#include "goals.hpp"
#include "tenon/core/plan.hpp"
#include "tenon/manifest/compile.hpp"
#include "tenon/manifest/reader.hpp"

namespace {
thread_local std::uint64_t allocation_count = 0;
}  // namespace

// Counts for this executable; every form of new ends here. Not inlined: gcc would then see memory
// of `new` given to `free`, and warn.
[[gnu::noinline]] void* operator new(std::size_t size_bytes) {
  ++allocation_count;
  if (void* memory = std::malloc(size_bytes == 0 ? 1 : size_bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tenon::manifest {
namespace {

/// Dense grouped-query attention: 3 to 8 inputs, 10 refinements.
constexpr std::string_view kAttention = R"yaml(GQADenseFwdOp:
  family: demo
  status: spec-only
  signature:
    forall: {B: Dim, Q: Dim, S: Dim, H: Dim, G: Dim, D: Dim, P: Dim, R: Dim, T: "DType[float16 | bfloat16]"}
    params:
      causal: {type: bool, default: false}
      scale: {type: "float | None", default: null}
      window: {type: "int | None", default: null}
      block: {type: int, default: 64}
    inputs:
      q: {dtype: T, shape: "[B, Q, H, D]"}
      k: {dtype: T, shape: "[B, S, G, D]"}
      v: {dtype: T, shape: "[B, S, G, D]"}
      q_scale: {dtype: float32, shape: "[B, G]", optional: true}
      k_scale: {dtype: float32, shape: "[B, G]", optional: "present(q_scale)"}
      v_scale: {dtype: float32, shape: "[B, G]", optional: "present(q_scale)"}
      rope_cos: {dtype: T, shape: "[P, R]", optional: true}
      rope_sin: {dtype: T, shape: "[P, R]", optional: "present(rope_cos)"}
    outputs:
      o: {dtype: T, shape: "[B, Q, H, D]", buffer: out}
    shape_rules:
    - "G > 0"
    - "H % G == 0"
    - "0 < D <= 256"
    - "D % 8 == 0"
    - "Q <= S or not causal"
    - "not present(window) or window.value > 0"
    - "not present(rope_cos) or 2 * R <= D"
    - "block > 0 and block % 16 == 0"
    - "T == 'float16' or D % 16 == 0"
    - "not present(rope_cos) or P >= S"
  workloads: [{B: 1, Q: 4, S: 4, H: 4, G: 2, D: 64, dtype_cases: [{T: float16}], label: a}]
  roofline: {flops: "0"}
)yaml";

/// Times `body`, and counts what it allocates.
template <class Body>
void measure(benchmark::State& state, Body&& body) {
  const std::uint64_t before = allocation_count;
  for (auto _ : state) body();
  const std::uint64_t allocations = allocation_count - before;
  state.counters["allocations"] = static_cast<double>(allocations);
  if (allocations != 0) state.SkipWithError("heap memory was allocated on the good path");
}

// ---- What any dispatch costs
// -----------------------------------------------------------------------------

std::int64_t one_more(std::int64_t n) { return n + 1; }
std::int64_t one_less(std::int64_t n) { return n - 1; }

void indirect_call(benchmark::State& state) {
  std::int64_t (*volatile function)(std::int64_t) = state.max_iterations > 0 ? one_more : one_less;
  std::int64_t n = 0;
  measure(state, [&] { benchmark::DoNotOptimize(n = function(n)); });
}
BENCHMARK(indirect_call);

/// By a 64-bit key, among as many as a large application keeps.
void hash_lookup(benchmark::State& state) {
  std::unordered_map<std::uint64_t, std::uint64_t> table;
  for (std::uint64_t i = 0; i < 1024; ++i) table[i * 0x9e3779b97f4a7c15u] = i;
  std::uint64_t i = 0;
  measure(state, [&] {
    i = (i + 1) % 1024;
    benchmark::DoNotOptimize(table.find(i * 0x9e3779b97f4a7c15u)->second);
  });
}
BENCHMARK(hash_lookup);

void aten_add_out(benchmark::State& state) {
  if (!bench::has_aten()) {
    state.SkipWithError("libtorch-dev is not installed");
    return;
  }
  constexpr std::int64_t kBatch = 1000;
  while (state.KeepRunningBatch(kBatch)) bench::aten_add_out(kBatch);
}
BENCHMARK(aten_add_out);

// ---- Checks
// ------------------------------------------------------------------------------------------------

struct Fixture {
  std::shared_ptr<const SignaturePlan> plan;
  std::shared_ptr<const Construction> construction;
  std::unique_ptr<CallFrame> frame;
  std::vector<TensorView> views;
  std::vector<const TensorView*> pointers;
  std::vector<TensorArg> inputs;
  TensorView out;
  CallArgs args;

  Fixture(std::shared_ptr<const SignaturePlan> made,
          const std::vector<NamedValue>& params,
          std::vector<TensorView> tensors,
          const TensorView* result)
      : plan(std::move(made)),
        construction(plan->construct(params, {}).value()),
        frame(plan->make_frame()),
        views(std::move(tensors)),
        inputs(plan->decl().inputs.size()) {
    for (const TensorView& v : views) pointers.push_back(&v);
    for (std::size_t i = 0; i < pointers.size(); ++i) {
      if (views[i].data != nullptr) inputs[i] = {&pointers[i], 1};
    }
    args.inputs = inputs;
    if (result != nullptr) {
      out = *result;
      args.out = &out;
    }
    if (!plan->check(*construction, args, *frame)) {
      std::fprintf(stderr, "%s\n", plan->failure(*construction, args, *frame).to_string().c_str());
      std::abort();
    }
  }
  void run(benchmark::State& state) {
    measure(state, [&p = *plan, &c = *construction, &f = *frame, this] {
      benchmark::DoNotOptimize(p.check(c, args, f));
    });
  }
};

std::shared_ptr<const SignaturePlan> shipped(std::string_view name) {
  static const LoadedSet loaded =
      load_folder(std::string(TENON_SOURCE_DIR) + "/manifest/ops").value();
  DiagnosticList diagnostics;
  return compile(*loaded.set.find(name), loaded.set.adts, diagnostics);
}

void* memory(std::uintptr_t n) { return reinterpret_cast<void*>(n << 40); }

void rms_norm(benchmark::State& state) {
  const TensorView out(memory(9), DType::kFloat16, {2048, 4096});
  Fixture f(shipped("RMSNormFwdOp"),
            {{"normalized_shape", {4096}}},
            {TensorView(memory(1), DType::kFloat16, {2048, 4096}),
             TensorView(memory(2), DType::kFloat16, {4096})},
            state.range(0) != 0 ? &out : nullptr);
  f.run(state);
}
BENCHMARK(rms_norm)->ArgName("out")->Arg(0)->Arg(1);

void add(benchmark::State& state) {
  const TensorView out(memory(9), DType::kFloat32, {1});
  Fixture f(
      shipped("AddFwdOp"),
      {},
      {TensorView(memory(1), DType::kFloat32, {1}), TensorView(memory(2), DType::kFloat32, {1})},
      state.range(0) != 0 ? &out : nullptr);
  f.run(state);
}
BENCHMARK(add)->ArgName("out")->Arg(0)->Arg(1);

void matmul(benchmark::State& state) {
  Fixture f(shipped("MatMulFwdOp"),
            {},
            {TensorView(memory(1), DType::kFloat32, {4, 33, 65}),
             TensorView(memory(2), DType::kFloat32, {65, 17})},
            nullptr);
  f.run(state);
}
BENCHMARK(matmul);

void attention(benchmark::State& state) {
  const std::vector<NamedText> files{{"demo.yaml", std::string(kAttention)}};
  const LoadedSet loaded = load_texts(files);
  DiagnosticList diagnostics = loaded.diagnostics;
  auto plan = compile(loaded.set.entries.front(), loaded.set.adts, diagnostics);
  if (plan == nullptr) {
    std::fprintf(stderr, "%s\n", diagnostics.to_text().c_str());
    std::abort();
  }
  const TensorView out(memory(9), DType::kFloat16, {2, 128, 32, 128});
  std::vector<TensorView> views{TensorView(memory(1), DType::kFloat16, {2, 128, 32, 128}),
                                TensorView(memory(2), DType::kFloat16, {2, 4096, 8, 128}),
                                TensorView(memory(3), DType::kFloat16, {2, 4096, 8, 128})};
  const bool with_rope = state.range(0) == 8;
  if (with_rope) {
    for (std::uintptr_t i = 4; i < 7; ++i)
      views.emplace_back(memory(i), DType::kFloat32, Dims{2, 8});
    for (std::uintptr_t i = 7; i < 9; ++i)
      views.emplace_back(memory(i), DType::kFloat16, Dims{8192, 64});
  }
  Fixture f(std::move(plan), {{"causal", true}}, std::move(views), &out);
  f.run(state);
}
BENCHMARK(attention)->ArgName("inputs")->Arg(3)->Arg(8);

/// The broadcasting form: both operands are stretched.
void broadcasting_add(benchmark::State& state) {
  Fixture f(shipped("AddFwdOp"),
            {},
            {TensorView(memory(1), DType::kFloat32, {16, 1, 32, 128}),
             TensorView(memory(2), DType::kFloat32, {8, 1, 128})},
            nullptr);
  f.run(state);
}
BENCHMARK(broadcasting_add);

// ---- The call spec and the shapes of arguments, after a check
// -------------------------------------------

void rms_norm_call(benchmark::State& state) {
  Fixture f(shipped("RMSNormFwdOp"),
            {{"normalized_shape", {4096}}},
            {TensorView(memory(1), DType::kFloat16, {2048, 4096}),
             TensorView(memory(2), DType::kFloat16, {4096})},
            nullptr);
  const SignaturePlan& plan = *f.plan;
  std::vector<tenon_value> fields(plan.decl().interfaces.front().fields.size());
  const auto args = static_cast<std::uint32_t>(plan.decl().interfaces.front().args.size());
  Dims shape;
  measure(state, [&] {
    // A check begins what the frame's memory holds anew: without it, evaluation would fill it.
    benchmark::DoNotOptimize(plan.check(*f.construction, f.args, *f.frame));
    benchmark::DoNotOptimize(plan.eval_call(0, *f.construction, f.args, *f.frame, {}, fields));
    for (std::uint32_t i = 0; i < args; ++i)
      benchmark::DoNotOptimize(plan.eval_arg_shape(0, i, 0, *f.frame, fields, shape));
  });
}
BENCHMARK(rms_norm_call);

// ---- Loading
// -----------------------------------------------------------------------------------------------

/// 400 entries in 8 files, read, checked and compiled.
void load_400_entries(benchmark::State& state) {
  std::vector<NamedText> files;
  for (int file = 0; file < 8; ++file) {
    std::string text;
    for (int i = 0; i < 50; ++i) {
      std::string entry(kAttention);
      const std::string number = std::to_string(file * 50 + i);
      entry.replace(0, std::string_view("GQADenseFwdOp").size(), "GQADense" + number + "FwdOp");
      text += entry;
    }
    files.push_back({"demo_" + std::to_string(file) + ".yaml", std::move(text)});
  }
  for (auto _ : state) {
    const LoadedSet loaded = load_texts(files);
    DiagnosticList diagnostics = loaded.diagnostics;
    std::size_t plans = 0;
    for (const Entry& entry : loaded.set.entries)
      plans += compile(entry, loaded.set.adts, diagnostics) != nullptr ? 1 : 0;
    if (plans != 400) state.SkipWithError(diagnostics.to_text().c_str());
  }
}
BENCHMARK(load_400_entries)->Unit(benchmark::kMillisecond);

void verdicts(const bench::Keeper& rows) {
  std::printf("\nATen %s\n", bench::aten_version());
  const double whole = rows.ns("aten_add_out");
  const auto share = [&](const char* what, const char* row, double goal) {
    bench::verdict(what, bench::ratio(rows.ns(row), whole), goal, "x");
  };
  share("check of RMSNorm over a whole at::add_out", "rms_norm/out:0", 0.1);
  share("the same with out given", "rms_norm/out:1", 0.1);
  share("check of attention, 3 inputs, over a whole at::add_out", "attention/inputs:3", 0.2);
  share("check of attention, 8 inputs, over a whole at::add_out", "attention/inputs:8", 0.2);
}

}  // namespace
}  // namespace tenon::manifest

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  tenon::bench::Keeper rows;
  benchmark::RunSpecifiedBenchmarks(&rows);
  tenon::manifest::verdicts(rows);
  return 0;
}
