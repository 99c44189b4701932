// Reported failures of other projects (D numbers) that a plan alone can repeat.
#include <initializer_list>
#include <string>
#include <utility>

#include "plan_support.hpp"
#include "tenon/manifest/check.hpp"

namespace tenon::manifest::test {
namespace {

TEST_SUITE_BEGIN("manifest/plan_cases");

constexpr auto kF16 = DType::kFloat16;
constexpr auto kF32 = DType::kFloat32;

TEST_CASE("D29: two namespaces may have an op of one name, and each keeps its own contract") {
  const auto plan = [](const std::string& ns, std::string_view signature) {
    const std::vector<NamedText> files{
        {"demo.yaml", entry(signature, "", "NormFwdOp", "[{label: a}]")}};
    LoadOptions options;
    options.ns = ns;
    const LoadedSet loaded = load_texts(files, options);
    DiagnosticList diagnostics = loaded.diagnostics;
    return compile(loaded.set.entries.at(0), loaded.set.adts, diagnostics);
  };
  const auto a = plan("a", kUnary);
  const auto b = plan("b",
                      "    forall: {M: Dim, T: \"DType[float32]\"}\n"
                      "    inputs: {p: {dtype: T, shape: \"[M]\"}, q: {dtype: T, shape: \"[M]\"}}\n"
                      "    outputs: {y: {dtype: T, shape: \"[]\"}}\n");

  REQUIRE(a);
  REQUIRE(b);
  CHECK(a->decl().full_name() == "a::NormFwdOp");
  CHECK(b->decl().full_name() == "b::NormFwdOp");
  CHECK(a->decl().branches.at(0).schema == "a::norm_fwd(Tensor x) -> Tensor");
  CHECK(b->decl().branches.at(0).schema == "b::norm_fwd(Tensor p, Tensor q) -> Tensor");
}

TEST_CASE("D32: a roofline that divides by zero or overflows has an answer, and it is an error") {
  const auto cost = [](std::string_view flops, const Dims& shape) {
    const std::string text =
        "DemoFwdOp:\n  family: demo\n  status: spec-only\n  signature:\n"
        "    forall: {A: Dim, B: Dim, C: Dim, T: \"DType[float32]\"}\n"
        "    inputs: {x: {dtype: T, shape: \"[A, B, C]\"}}\n"
        "    outputs: {y: {dtype: T, shape: \"[A]\"}}\n"
        "  workloads: [{A: 1, B: 1, C: 1, dtype_cases: [{T: float32}], label: a}]\n"
        "  roofline: {flops: \"" +
        std::string(flops) + "\"}\n";
    Compiled compiled = compile_text(text);
    INFO(compiled.text());
    REQUIRE(compiled.plan);
    Call call(compiled.plan);
    call.set("x", kF32, shape);
    REQUIRE(call.check());
    const auto result = compiled.plan->cost(call.construction(), call.arguments(), call.frame());
    return result ? std::to_string(result->flops) : result.error().message();
  };

  CHECK(cost("A * B // C", {4, 5, 0}) == "'A * B // C' has no value: 20 // 0 divides by zero");
  CHECK(cost("A % C", {4, 5, 0}) == "'A % C' has no value: 4 % 0 divides by zero");
  const Dims large{1 << 20, 1 << 10, 1 << 20};
  CHECK(
      cost("A * A * C * C", large) ==
      "'A * A * C * C' has no value: 1152921504606846976 * 1048576 does not fit a 64-bit integer");
  CHECK(cost("1.0 * A * A * C * C", large) ==
        std::to_string(1208925819614629174706176.0));  // 2^80: floats do not overflow
}

TEST_CASE("D32: a name that no roofline can read is an error at load that names it") {
  const Compiled compiled = compile_text(
      "DemoFwdOp:\n  family: demo\n  status: spec-only\n  signature:\n"
      "    forall: {A: Dim, T: \"DType[float32]\"}\n"
      "    inputs: {x: {dtype: T, shape: \"[A]\"}}\n    outputs: {y: {dtype: T, shape: \"[A]\"}}\n"
      "  workloads: [{A: 1, dtype_cases: [{T: float32}], label: a}]\n"
      "  roofline: {flops: \"A * Z\"}\n");

  CHECK(compiled.plan == nullptr);
  CHECK(compiled.mentions("'Z' is no name that can be read here [expr.name]"));
}

TEST_CASE("D35: query heads that the key heads do not divide are refused with both numbers") {
  const auto plan = plan_of(
      "    forall: {B: Dim, S: Dim, H: Dim, G: Dim, D: Dim, T: \"DType[float16]\"}\n"
      "    inputs:\n      q: {dtype: T, shape: \"[B, S, H, D]\"}\n"
      "      k: {dtype: T, shape: \"[B, S, G, D]\"}\n"
      "    outputs: {o: {dtype: T, shape: \"[B, S, H, D]\"}}\n"
      "    shape_rules: [\"G > 0 and H % G == 0\"]\n");
  const auto verdict = [&](std::int64_t heads, std::int64_t key_heads) {
    Call call(plan);
    call.set("q", kF16, {1, 8, heads, 64}).set("k", kF16, {1, 8, key_heads, 64});
    return call.check()
               ? std::string()
               : plan->failure(call.construction(), call.arguments(), call.frame()).message();
  };

  CHECK(verdict(8, 3) == "'G > 0 and H % G == 0' does not hold where G = 3, H = 8");
  CHECK(verdict(3, 2) == "'G > 0 and H % G == 0' does not hold where G = 2, H = 3");
  CHECK(verdict(4, 0) == "'G > 0 and H % G == 0' does not hold where G = 0, H = 4");
  CHECK(verdict(2, 4) == "'G > 0 and H % G == 0' does not hold where G = 4, H = 2");
  for (const auto& [h, g] : {std::pair{6, 2}, {8, 1}, {8, 8}}) CHECK(verdict(h, g).empty());
}

TEST_CASE("D38: a maximum wants elements on the axes that it reduces, and only there") {
  const auto plan = plan_of(
      "    forall: {S: Shape, T: \"DType[float32]\"}\n"
      "    params: {dim: {type: \"int | list[int] | None\", default: null}}\n"
      "    inputs: {x: {dtype: T, shape: \"[*S]\"}}\n"
      "    outputs: {y: {dtype: T, shape: \"[*reduced(S, dim, False, 'full')]\"}}\n"
      "    shape_rules:\n"
      "    - \"sum(1 if n == 0 else 0 for n in S) == sum(1 if n == 0 else 0 for n in reduced(S, "
      "dim, True, 'full'))\"\n");
  const auto verdict = [&](const std::vector<NamedValue>& params) {
    Call call(plan, params);
    call.set("x", kF32, {0, 4});
    return call.check() ? call.output() : "refused";
  };

  CHECK(verdict({{"dim", 1}}) == "float32[0]");
  CHECK(verdict({{"dim", 0}}) == "refused");
  CHECK(verdict({}) == "refused");
  Call empty(plan, {{"dim", 1}});
  empty.set("x", kF32, {0, 4});
  REQUIRE(empty.check());
  CHECK(empty.frame().nothing_to_do);  // nothing is launched for it

  const auto sum = shipped("SumFwdOp");
  for (const auto& [dim, output] :
       std::initializer_list<std::pair<Value, std::string>>{{Value(ValueList{{1}}), "float32[0]"},
                                                            {Value(ValueList{{0}}), "float32[4]"},
                                                            {Value(), "float32[]"}}) {
    Call call(sum, {{"dim", dim}});
    call.set("x", kF32, {0, 4});
    REQUIRE(call.check());
    CHECK(call.output() == output);
    CHECK(call.frame().nothing_to_do == (output == "float32[0]"));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::manifest::test
