// Programs: every operator of the language as instructions, and no tree walked at a call.
#include <string>
#include <vector>

#include "plan_support.hpp"
#include "signature/plan.hpp"
#include "tenon/manifest/check.hpp"

namespace tenon::manifest::test {
namespace {

TEST_SUITE_BEGIN("manifest/plan_program");

std::string text_of(const tenon_value& v) {
  switch (v.kind) {
    case TENON_VALUE_NONE:
      return "None";
    case TENON_VALUE_BOOL:
      return v.i != 0 ? "true" : "false";
    case TENON_VALUE_INT:
      return std::to_string(v.i);
    case TENON_VALUE_FLOAT:
      return std::to_string(v.f);
    case TENON_VALUE_DTYPE:
      return "dtype " + std::to_string(v.i);
    case TENON_VALUE_STR:
      return std::string(static_cast<const char*>(v.data), v.count);
    case TENON_VALUE_INTS: {
      std::string text = "[";
      for (std::uint64_t i = 0; i < v.count; ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(static_cast<const std::int64_t*>(v.data)[i]);
      return text + "]";
    }
    default:
      return "kind " + std::to_string(v.kind);
  }
}

/// Trees that the call on this frame leaves to the walker.
std::size_t walked(Call& call) {
  return static_cast<const signature::Plan&>(call.plan()).walked_parts(call.frame());
}

/// The field `v` of a call on x: float16[2, 3, 5], which makes S = (2, 3), M = 5.
std::string field(std::string_view expression) {
  const auto plan = plan_of(
      "    forall: {S: Shape, M: Dim, T: \"DType[float16 | float32]\"}\n"
      "    params: {n: {type: int}, ks: {type: \"list[int]\"}, mode: {type: \"'a' | 'b'\"}, f: "
      "{type: float}, w: {type: \"int | None\", default: null}}\n"
      "    inputs: {x: {dtype: T, shape: \"[*S, M]\"}}\n"
      "    outputs: {y: {dtype: T, shape: \"[M]\"}}\n",
      "  interfaces: {demo: {call: {v: \"" + std::string(expression) +
          "\"}, args: {x: \"[]\", y: \"[]\"}}}\n");
  Call call(plan, {{"n", -7}, {"ks", {4, 1}}, {"mode", "a"}, {"f", 1.5}});
  call.set("x", DType::kFloat16, {2, 3, 5});
  REQUIRE(call.check());
  CHECK(walked(call) == 0);
  std::vector<tenon_value> fields(1);
  if (!plan->eval_call(0, call.construction(), call.arguments(), call.frame(), {}, fields))
    return "no value";
  return text_of(fields[0]);
}

TEST_CASE("arithmetic on sizes and parameters is Python's") {
  CHECK(field("n // M") == "-2");
  CHECK(field("n % M") == "3");
  CHECK(field("M // n") == "-1");
  CHECK(field("-M - n") == "2");
  CHECK(field("2 * M + M * n - 3") == "-28");
  CHECK(field("M // 2 + M % 3") == "4");
  CHECK(field("M // (M - 5)") == "no value");
  CHECK(field("M % (M - 5)") == "no value");
  CHECK(field("9223372036854775807 - 5 + M + n") == "9223372036854775800");
  CHECK(field("9223372036854775807 + M + n") == "no value");
  CHECK(field("f * M") == "7.500000");
  CHECK(field("-(f + M)") == "-6.500000");
  CHECK(field("f // M") == "0.000000");
}

TEST_CASE("conditions stop where they are decided") {
  CHECK(field("M if M > 4 else n // (M - 5)") == "5");
  CHECK(field("M > 4 or n // (M - 5) == 0") == "true");
  CHECK(field("M < 4 and n // (M - 5) == 0") == "false");
  CHECK(field("M < 4 or n // (M - 5) == 0") == "no value");
  CHECK(field("not (M == 5 and n < 0)") == "false");
  CHECK(field("n < M < 6") == "true");
  CHECK(field("n < M < 5 < 6") == "false");
  CHECK(field("not n < M <= 5 != 7") == "false");
  CHECK(field("M % 5 == 0 and M % 4 != 0 and M % S[0] == 1") == "true");
  CHECK(field("f < M") == "true");
  CHECK(field("M if present(w) else -M") == "-5");
  CHECK(field("'x' if M > 4 else 'y'") == "x");
  CHECK(field("(M if M > 9 else n) if S[0] == 2 else 1") == "-7");
}

TEST_CASE("sequences are compared, cut, joined with the primitives") {
  CHECK(field("S[0] + S[-1] * S[M - 4]") == "11");
  CHECK(field("S[M]") == "no value");
  CHECK(field("S[::-1]") == "[3, 2]");
  CHECK(field("S[M - 4:]") == "[3]");
  CHECK(field("S == (2, M - 2)") == "true");
  CHECK(field("S < (2, M)") == "true");
  CHECK(field("M in S") == "false");
  CHECK(field("M - 2 not in (1, S[0])") == "true");
  CHECK(field("(M, n, S[0])") == "[5, -7, 2]");
  CHECK(field("(M,)") == "[5]");
  CHECK(field("max(S) + min((M, n)) + len(S) + prod(S)") == "4");
  CHECK(field("max(S[:0], default=M)") == "5");
  CHECK(field("reduced(S, 0, M > 4, 'full')") == "[1, 3]");
  CHECK(field("broadcast(S, (M, 1, 1))") == "[5, 2, 3]");
  CHECK(field("conv.out(M, 3, 2, 1, 1) + ceil_div(n, M)") == "2");
  CHECK(field("per_axis(n if M > 9 else M, 0, 2)") == "5");
}

TEST_CASE("comprehensions run over what a call brings") {
  CHECK(field("sum(k * M for k in ks)") == "25");
  CHECK(field("sum(s + M for s in S)") == "15");
  CHECK(field("all(s > 1 and s < M for s in S)") == "true");
  CHECK(field("max(sum(a * b for b in S) for a in (M, n))") == "25");
  CHECK(field("sum(1 if s == 3 else M for s in S)") == "6");
  CHECK(field("sum(s for s in S[:0])") == "0");
  CHECK(field("sum(k // (M - 5) for k in ks)") == "no value");
}

TEST_CASE("dtypes are compared and computed") {
  CHECK(field("T") == "dtype 69634");  // float, 16 bits, one lane
  CHECK(field("T == 'float16'") == "true");
  CHECK(field("T in ('float32', 'bfloat16')") == "false");
  CHECK(field("promote_int_to_float(T)") == "dtype 69634");
  CHECK(field("M if T == 'float16' and mode == 'a' else n") == "5");
}

TEST_CASE("a let that only the call reads may hold a comprehension inside another") {
  const auto plan = plan_of(
      "    forall: {S: Shape, T: \"DType[float32]\"}\n"
      "    inputs: {x: {dtype: T, shape: \"[*S]\"}}\n"
      "    outputs: {y: {dtype: T, shape: \"[*S]\"}}\n"
      "    let: {L: \"sum(a for a in S)\"}\n",
      "  interfaces: {demo: {call: {v: \"sum(b * L for b in S)\"}, args: {x: \"[v]\", y: "
      "\"[v]\"}}}\n");
  Call call(plan);
  call.set("x", DType::kFloat32, {2, 3});
  REQUIRE(call.check());
  std::vector<tenon_value> fields(1);

  REQUIRE(plan->eval_call(0, call.construction(), call.arguments(), call.frame(), {}, fields));

  CHECK(fields[0].i == 25);
  CHECK(walked(call) == 0);
}

TEST_CASE("shapes of arguments are expressions over the fields") {
  const auto plan = plan_of(
      "    forall: {S: Shape, M: Dim, T: \"DType[float32]\"}\n"
      "    params: {mode: {type: \"'a' | 'b'\"}}\n"
      "    inputs: {x: {dtype: T, shape: \"[*S, M]\"}}\n"
      "    outputs: {y: {dtype: T, shape: \"[*S, M]\"}}\n",
      "  interfaces: {demo: {call: {m: M, l: S, mode: mode, big: \"M > 4\"}, args: {\n"
      "    x: \"[m // 2 + 1, *l, 3]\", y: \"[*l[::-1], m if mode == 'a' and big else 1, len(l), "
      "m - 6 if big else 0]\"}}}\n");
  Call call(plan, {{"mode", "a"}});
  call.set("x", DType::kFloat32, {2, 3, 5});
  REQUIRE(call.check());
  std::vector<tenon_value> fields(4);
  REQUIRE(plan->eval_call(0, call.construction(), call.arguments(), call.frame(), {}, fields));
  Dims shape;

  CHECK(plan->eval_arg_shape(0, 0, 0, call.frame(), fields, shape));
  CHECK(shape == Dims{3, 2, 3, 3});
  CHECK_FALSE(plan->eval_arg_shape(0, 1, 0, call.frame(), fields, shape));  // m - 6 is negative
  fields[0].i = 9;
  CHECK(plan->eval_arg_shape(0, 1, 0, call.frame(), fields, shape));
  CHECK(shape == Dims{3, 2, 9, 2, 3});
  fields[0].kind = TENON_VALUE_FLOAT;
  CHECK_FALSE(plan->eval_arg_shape(0, 0, 0, call.frame(), fields, shape));
  CHECK(walked(call) == 0);
}

TEST_CASE("lets, dtypes and shapes of inputs that are computed have instructions too") {
  const auto plan = plan_of(
      "    forall: {S: Shape, N: Dim, T: \"DType[float16 | float32]\"}\n"
      "    params: {dim: {type: \"int | list[int] | None\", default: null}, o: {type: \"float16 | "
      "float32 | None\", default: null}}\n"
      "    let: {R: \"reduced(S, dim, True, 'full')\", P: \"N * N\"}\n"
      "    inputs:\n      x: {dtype: T, shape: \"[*S]\"}\n"
      "      n: {dtype: int32, shape: \"[N]\", device: cpu}\n"
      "      r: {dtype: \"coalesce_dtype(o, T)\", shape: \"[P, *R, N + 1]\"}\n"
      "    outputs: {y: {dtype: \"coalesce_dtype(o, T)\", shape: \"[*reduced(S, dim, False, "
      "'full'), P]\"}}\n"
      "    shape_rules: [\"all(s > 0 for s in S)\", \"N in (1, 2, len(S))\"]\n");
  Call call(plan, {{"dim", {0}}});
  call.set("x", DType::kFloat16, {4, 3, 5}).set("n", DType::kInt32, {3});
  call.set("r", DType::kFloat16, {9, 1, 3, 5, 4});

  REQUIRE(call.check());
  CHECK(call.output() == "float16[3, 5, 9]");
  CHECK(walked(call) == 0);

  call.set("r", DType::kFloat16, {9, 1, 3, 6, 4});
  CHECK_FALSE(call.check());
  call.set("r", DType::kFloat32, {9, 1, 3, 5, 4});
  CHECK_FALSE(call.check());
  call.set("r", DType::kFloat16, {9, 1, 3, 5});
  CHECK_FALSE(call.check());
}

TEST_CASE("a construction-time tensor whose size a call decides has instructions too") {
  const auto plan = plan_of(
      "    forall: {S: Shape, D: Dim, T: \"DType[float32]\"}\n"
      "    params: {cos: {dtype: T, shape: \"[8, D // 2]\"}}\n"
      "    inputs: {x: {dtype: T, shape: \"[*S, D]\"}}\n"
      "    outputs: {y: {dtype: T, shape: \"[*S, D]\"}}\n");
  const Tensor cos = Tensor::host(DType::kFloat32, Dims{8, 4}).value();
  Call call(plan, {}, {{"cos", cos}});
  call.set("x", DType::kFloat32, {2, 9});

  REQUIRE(call.check());
  CHECK(walked(call) == 0);
  call.set("x", DType::kFloat32, {2, 10});
  CHECK_FALSE(call.check());
}

TEST_CASE("no tree of a shipped entry is walked, on any row") {
  const CheckedSet checked = check(load_shipped());
  std::size_t calls = 0;
  for (std::size_t i = 0; i < checked.plans.size(); ++i) {
    REQUIRE(checked.plans[i]);
    const OpDecl& decl = checked.plans[i]->decl();
    if (decl.name.find("Concat") != std::string::npos) continue;
    for (const WorkloadCase& row : checked.workloads[i].cases) {
      Call call(checked.plans[i], row.params);
      for (const CaseTensor& t : row.tensors) {
        if (t.present && !t.list) call.set(t.name, t.dtype, Dims(std::span(t.shape)));
      }
      INFO(row.id);
      REQUIRE(call.check());
      CHECK(walked(call) == 0);
      ++calls;
    }
  }
  CHECK(calls > 20);
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::manifest::test
