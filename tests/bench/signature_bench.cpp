// How long a signature check takes: the good path, on a warm frame.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "tenon/core/plan.hpp"
#include "tenon/manifest/compile.hpp"
#include "tenon/manifest/reader.hpp"

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
    - "H > 0"
    - "H % G == 0"
    - "0 < D <= 256"
    - "D % 8 == 0"
    - "Q <= S or not causal"
    - "S > 0"
    - "not present(window) or window.value > 0"
    - "not present(rope_cos) or 2 * R <= D"
    - "block > 0 and block % 16 == 0"
    - "T == 'float16' or D % 16 == 0"
    - "not present(rope_cos) or P >= S"
  workloads: [{B: 1, Q: 4, S: 4, H: 4, G: 2, D: 64, dtype_cases: [{T: float16}], label: a}]
  roofline: {flops: "0"}
)yaml";

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
    for (auto _ : state) benchmark::DoNotOptimize(plan->check(*construction, args, *frame));
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
  if (state.range(0) == 8) {
    for (std::uintptr_t i = 4; i < 7; ++i)
      views.emplace_back(memory(i), DType::kFloat32, Dims{2, 8});
    for (std::uintptr_t i = 7; i < 9; ++i)
      views.emplace_back(memory(i), DType::kFloat16, Dims{8192, 64});
  }
  Fixture f(std::move(plan), {{"causal", true}}, std::move(views), &out);
  f.run(state);
}
BENCHMARK(attention)->ArgName("inputs")->Arg(3)->Arg(8);

void call_fields(benchmark::State& state) {
  Fixture f(shipped("RMSNormFwdOp"),
            {{"normalized_shape", {4096}}},
            {TensorView(memory(1), DType::kFloat16, {2048, 4096}),
             TensorView(memory(2), DType::kFloat16, {4096})},
            nullptr);
  std::vector<tenon_value> fields(f.plan->decl().interfaces.front().fields.size());
  for (auto _ : state) {
    f.plan->check(*f.construction, f.args, *f.frame);
    benchmark::DoNotOptimize(f.plan->eval_call(0, *f.construction, f.args, *f.frame, {}, fields));
  }
}
BENCHMARK(call_fields);

}  // namespace
}  // namespace tenon::manifest

BENCHMARK_MAIN();
