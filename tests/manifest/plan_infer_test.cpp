// Inference: what solves, what only checks, and what a call that does not fit is told.
#include "plan_support.hpp"

namespace tenon::manifest::test {
namespace {

TEST_SUITE_BEGIN("manifest/plan_infer");

constexpr auto kF32 = DType::kFloat32;
constexpr auto kF16 = DType::kFloat16;

/// A signature with one dtype index T; `body` holds the rest, indented by four.
std::string with_t(std::string_view forall, std::string_view body) {
  return "    forall: {" + std::string(forall) + (forall.empty() ? "" : ", ") +
         "T: \"DType[float16 | float32]\"}\n" + std::string(body);
}

TEST_CASE("2 * N solves an even axis and rejects an odd one") {
  Call call(plan_of(with_t("N: Dim",
                           "    inputs: {x: {dtype: T, shape: \"[2 * N]\"}}\n    outputs: {y: "
                           "{dtype: T, shape: \"[N]\"}}\n")));
  call.set("x", kF32, {10});
  REQUIRE(call.check());
  CHECK(call.output() == "float32[5]");

  call.set("x", kF32, {11});

  CHECK(call.why().message() ==
        "x has size 11 on axis 0, but 2 * N is declared there: no integer N gives it");
}

TEST_CASE("N + 1 and W - 1 solve, down to zero and not below") {
  Call call(plan_of(with_t("N: Dim, W: Dim",
                           "    inputs: {x: {dtype: T, shape: \"[N + 1, W - 1]\"}}\n    outputs: "
                           "{y: {dtype: T, shape: \"[N, W]\"}}\n")));
  call.set("x", kF32, {1, 0});
  REQUIRE(call.check());
  CHECK(call.output() == "float32[0, 1]");

  call.set("x", kF32, {0, 4});

  CHECK(call.why().message() ==
        "x has size 0 on axis 0, but N + 1 is declared there: N would be negative");
}

TEST_CASE("an offset from a parameter solves by two evaluations") {
  Call call(plan_of(with_t("D: Dim",
                           "    params: {tail: {type: int}}\n    inputs: {x: {dtype: T, shape: "
                           "\"[D + tail]\"}}\n    outputs: {y: {dtype: T, shape: \"[D]\"}}\n")),
            {{"tail", 64}});
  call.set("x", kF32, {576});
  REQUIRE(call.check());
  CHECK(call.output() == "float32[512]");
  call.set("x", kF32, {63});
  CHECK_FALSE(call.check());
}

TEST_CASE("N * 2 and K // 2 only check") {
  const auto compiled =
      compile_text(demo(with_t("N: Dim",
                               "    inputs: {x: {dtype: T, shape: \"[N * 2]\"}}\n    outputs: {y: "
                               "{dtype: T, shape: \"[N]\"}}\n")));
  CHECK(compiled.plan == nullptr);
  CHECK(compiled.mentions("nothing solves 'N'"));

  Call call(plan_of(with_t("N: Dim",
                           "    inputs: {x: {dtype: T, shape: \"[N, N // 2, N * 2]\"}}\n    "
                           "outputs: {y: {dtype: T, shape: \"[]\"}}\n")));
  call.set("x", kF32, {5, 2, 10});
  CHECK(call.check());
  call.set("x", kF32, {5, 3, 10});
  CHECK(call.why().message() == "x has size 3 on axis 1, but N // 2 is 2 (N = 5)");
}

TEST_CASE("a splice in the middle takes the axes between") {
  Call call(plan_of(with_t("A: Dim, S: Shape, Z: Dim",
                           "    inputs: {x: {dtype: T, shape: \"[A, *S, Z]\"}}\n    outputs: {y: "
                           "{dtype: T, shape: \"[Z, *S, A]\"}}\n")));
  call.set("x", kF32, {2, 3, 4, 5});
  REQUIRE(call.check());
  CHECK(call.output() == "float32[5, 3, 4, 2]");
  call.set("x", kF32, {2, 5});
  REQUIRE(call.check());
  CHECK(call.output() == "float32[5, 2]");
  call.set("x", kF32, {5});
  CHECK(call.why().message() == "x has rank 1 (shape [5]), but is declared [A, *S, Z]");
}

TEST_CASE("an index solved twice must agree, whatever the order of declaration") {
  const auto plan =
      plan_of(with_t("N: Dim, M: Dim",
                     "    inputs:\n      x: {dtype: T, shape: \"[N + M]\"}\n      y: {dtype: T, "
                     "shape: \"[2 * N]\"}\n      z: {dtype: T, shape: \"[N]\"}\n"
                     "    outputs: {o: {dtype: T, shape: \"[M]\"}}\n"));
  Call call(plan);
  call.set("x", kF32, {7}).set("y", kF32, {6}).set("z", kF32, {3});
  REQUIRE(call.check());
  CHECK(call.output() == "float32[4]");

  call.set("z", kF32, {4});

  CHECK(call.why().message() == "z has N = 4 on axis 0, but y bound N = 3 on axis 0");
}

TEST_CASE("an index that nothing solves is rejected at load, with its branch") {
  const auto compiled =
      compile_text(demo(with_t("N: Dim, B: Dim",
                               "    inputs:\n      x: {dtype: T, shape: \"[N]\"}\n      b: {dtype: "
                               "T, shape: \"[B]\", optional: true}\n"
                               "    outputs: {y: {dtype: T, shape: \"[N, B]\"}}\n")));
  CHECK(compiled.plan == nullptr);
  CHECK(compiled.mentions("nothing solves 'B' (at b absent)"));
}

TEST_CASE("two unknown splices of one tensor solve nothing") {
  const auto compiled =
      compile_text(demo(with_t("A: Shape, B: Shape",
                               "    inputs: {x: {dtype: T, shape: \"[*A, *B]\"}}\n    outputs: {y: "
                               "{dtype: T, shape: \"[*A]\"}}\n")));
  CHECK(compiled.plan == nullptr);
  CHECK(compiled.mentions("nothing solves 'A'"));
}

TEST_CASE("a splice bound by one tensor is checked in another, axis by axis") {
  Call call(
      plan_of(with_t("S: Shape, K: Dim",
                     "    inputs:\n      x: {dtype: T, shape: \"[*S, K]\"}\n      y: {dtype: T, "
                     "shape: \"[K, *S]\"}\n    outputs: {o: {dtype: T, shape: \"[*S]\"}}\n")));
  call.set("x", kF32, {2, 3, 4}).set("y", kF32, {4, 2, 3});
  CHECK(call.check());
  call.set("y", kF32, {4, 2, 5});
  CHECK(call.why().message() == "y has size 5 on axis 2, but x bound S[1] = 3 on axis 1");
  call.set("y", kF32, {4, 2});
  CHECK(call.why().message() == "y has rank 2 (shape [4, 2]), but is declared [K, *S]");
}

TEST_CASE("floor division and modulo of negative numbers are Python's") {
  Call call(plan_of(with_t("N: Dim",
                           "    params: {p: {type: int}}\n    inputs: {x: {dtype: T, shape: "
                           "\"[N]\"}}\n    outputs: {y: {dtype: T, shape: \"[N]\"}}\n"
                           "    shape_rules:\n    - \"(p - N) // 3 == -2\"\n    - \"(p - N) % 3 == "
                           "1\"\n    - \"(N - p) % -3 == -1\"\n")),
            {{"p", 0}});
  call.set("x", kF32, {5});
  CHECK(call.check());
  call.set("x", kF32, {6});
  CHECK(call.why().message() == "'(p - N) % 3 == 1' does not hold where p = 0, N = 6");
}

TEST_CASE("arithmetic beyond 64 bits rejects the call and names the numbers") {
  Call call(plan_of(with_t("N: Dim",
                           "    params: {p: {type: int}}\n    inputs: {x: {dtype: T, shape: "
                           "\"[N]\"}}\n    outputs: {y: {dtype: T, shape: \"[N]\"}}\n"
                           "    shape_rules: [\"N * p > 0\"]\n")),
            {{"p", std::int64_t{1} << 62}});
  call.set("x", kF32, {1});
  CHECK(call.check());
  call.set("x", kF32, {2});
  CHECK(call.why().message().find("2 * 4611686018427387904 does not fit a 64-bit integer") !=
        std::string::npos);
}

TEST_CASE("a zero divisor rejects the call, but not where it is never reached") {
  Call call(
      plan_of(with_t("N: Dim",
                     "    params: {p: {type: int}}\n    inputs: {x: {dtype: T, shape: \"[N]\"}}\n  "
                     "  outputs: {y: {dtype: T, shape: \"[N]\"}}\n"
                     "    shape_rules: [\"N == 0 or 12 % N == 0\", \"p == 0 or N % p == 0\"]\n")),
      {{"p", 0}});
  call.set("x", kF32, {0});
  CHECK(call.check());
  call.set("x", kF32, {4});
  CHECK(call.check());
  call.set("x", kF32, {5});
  CHECK_FALSE(call.check());

  Call bad(plan_of(with_t("N: Dim",
                          "    inputs: {x: {dtype: T, shape: \"[N]\"}}\n    outputs: {y: {dtype: "
                          "T, shape: \"[N]\"}}\n    shape_rules: [\"12 % N == 0\"]\n")));
  bad.set("x", kF32, {0});
  CHECK(bad.why().message().find("divides by zero") != std::string::npos);
}

TEST_CASE("pooling infers with and without ceil_mode") {
  const auto plan = plan_of(with_t("B: Dim, L: Dim",
                                   "    params: {k: {type: int}, s: {type: \"int | None\", "
                                   "default: null}, ceil_mode: {type: bool, default: false}}\n"
                                   "    inputs: {x: {dtype: T, shape: \"[B, L]\"}}\n"
                                   "    outputs: {y: {dtype: T, shape: \"[B, pool.out(L, k, "
                                   "s.value if present(s) else k, 0, 1, ceil_mode)]\"}}\n"));
  Call call(plan, {{"k", 3}, {"s", 2}, {"ceil_mode", true}});
  call.set("x", kF32, {4, 8});
  REQUIRE(call.check());
  CHECK(call.output() == "float32[4, 4]");
  Call plain(plan, {{"k", 3}});
  plain.set("x", kF32, {4, 8});
  REQUIRE(plain.check());
  CHECK(plain.output() == "float32[4, 2]");
}

TEST_CASE("per_axis reads a number or a tuple per axis") {
  const auto plan =
      plan_of(with_t("H: Dim, W: Dim",
                     "    params: {stride: {type: \"int | tuple[int, int]\", default: 1}}\n"
                     "    inputs: {x: {dtype: T, shape: \"[H, W]\"}}\n"
                     "    outputs: {y: {dtype: T, shape: \"[ceil_div(H, per_axis(stride, 0, 2)), "
                     "ceil_div(W, per_axis(stride, 1, 2))]\"}}\n"));
  Call one(plan, {{"stride", 2}});
  one.set("x", kF32, {5, 7});
  REQUIRE(one.check());
  CHECK(one.output() == "float32[3, 4]");
  Call two(plan, {{"stride", Value::list({1, 3}, true)}});
  two.set("x", kF32, {5, 7});
  REQUIRE(two.check());
  CHECK(two.output() == "float32[5, 3]");
  Call wrong(plan, {{"stride", {1, 2, 3}}});
  REQUIRE(wrong.construction_error());
  CHECK(wrong.construction_error()->message().find(
            "parameter 'stride' of DemoFwdOp: [1, 2, 3] is no int | tuple[int, int]") == 0);
  Call zero(plan, {{"stride", 0}});
  zero.set("x", kF32, {5, 7});
  CHECK(zero.why().message().find("ceil_div: the divisor 0 is not positive") != std::string::npos);
}

TEST_CASE("a negative output axis rejects the call") {
  Call call(
      plan_of(with_t("L: Dim",
                     "    params: {k: {type: int}}\n    inputs: {x: {dtype: T, shape: \"[L]\"}}\n  "
                     "  outputs: {y: {dtype: T, shape: \"[conv.out(L, k, 1, 0, 1)]\"}}\n")),
      {{"k", 9}});
  call.set("x", kF32, {4});
  CHECK(call.why().message() ==
        "y would have size -4 on axis 0, declared as conv.out(L, k, 1, 0, 1)");
}

TEST_CASE("a dtype is solved before anything reads it, whatever the order of the shapes") {
  const auto plan = plan_of(
      "    forall: {A: Shape, B: Shape, T: \"DType[float16 | float32]\"}\n"
      "    inputs: {x: {dtype: T, shape: \"[*A, *B]\"}, z: {dtype: T, shape: \"[*B]\"}}\n"
      "    outputs: {y: {dtype: T, shape: \"[*A]\"}}\n");
  Call call(plan);
  call.set("x", kF16, {2, 3}).set("z", kF16, {3});
  REQUIRE(call.check());
  CHECK(call.output() == "float16[2]");
  call.set("z", kF32, {3});
  CHECK(call.why().message() == "z is float32, but x is float16: both are declared T");

  const auto let = plan_of(
      "    forall: {M: Dim, T: \"DType[int32 | float32]\"}\n"
      "    let: {W: \"2 if T == 'int32' else 1\"}\n"
      "    inputs: {z: {dtype: \"promote_int_to_float(T)\", shape: \"[2 * M]\"}, x: {dtype: T, "
      "shape: \"[W * M]\"}}\n"
      "    outputs: {y: {dtype: \"promote_int_to_float(T)\", shape: \"[M]\"}}\n");
  Call promoted(let);
  promoted.set("x", DType::kInt32, {6}).set("z", kF32, {6});
  REQUIRE(promoted.check());
  CHECK(promoted.output() == "float32[3]");
  promoted.set("x", kF32, {6});
  CHECK_FALSE(promoted.check());
  promoted.set("x", kF32, {3});
  CHECK(promoted.check());
}

TEST_CASE("D37: a dtype parameter decides the output and what must match it") {
  const auto plan = plan_of(
      with_t("N: Dim",
             "    params: {out_dtype: {type: \"float16 | float32 | None\", default: null}}\n"
             "    inputs:\n      x: {dtype: T, shape: \"[N]\"}\n      bias: {dtype: "
             "\"coalesce_dtype(out_dtype, T)\", shape: \"[N]\"}\n"
             "    outputs: {y: {dtype: \"coalesce_dtype(out_dtype, T)\", shape: \"[N]\"}}\n"));
  Call omitted(plan);
  omitted.set("x", kF16, {4}).set("bias", kF16, {4});
  REQUIRE(omitted.check());
  CHECK(omitted.output() == "float16[4]");
  Call given(plan, {{"out_dtype", "float32"}});
  given.set("x", kF16, {4}).set("bias", kF32, {4});
  REQUIRE(given.check());
  CHECK(given.output() == "float32[4]");
  given.set("bias", kF16, {4});
  CHECK(given.why().message() ==
        "bias is float16, expected float32 (coalesce_dtype(out_dtype, T))");
}

TEST_CASE("D39: strides of axes of size 1 do not make a tensor non-contiguous") {
  Call call(plan_of(with_t("S: Shape",
                           "    inputs: {x: {dtype: T, shape: \"[*S]\", contiguous: true}}\n    "
                           "outputs: {y: {dtype: T, shape: \"[*S]\"}}\n")));
  for (const std::int64_t stride : {128, 262144, 0, 7}) {
    call.set("x", TensorView(nullptr, kF32, {16, 1, 2048, 128}, {262144, stride, 128, 1}));
    CHECK(call.check());
  }
  call.set("x", TensorView(nullptr, kF32, {2, 4}, {1, 2}));
  CHECK(call.why().message().find("x is not contiguous (shape [2, 4], strides [1, 2])") == 0);
}

TEST_CASE("D41: an optional scratch input of length 0 leaves a call with an output to be run") {
  Call call(plan_of(
      with_t("N: Dim, P: Dim",
             "    inputs:\n      x: {dtype: T, shape: \"[N]\"}\n      state: {dtype: T, shape: "
             "\"[P]\", optional: true}\n    outputs: {y: {dtype: T, shape: \"[N]\"}}\n")));
  call.set("x", kF32, {4}).set("state", kF32, {0});
  REQUIRE(call.check());
  CHECK_FALSE(call.frame().nothing_to_do);
  call.set("x", kF32, {0});
  REQUIRE(call.check());
  CHECK(call.frame().nothing_to_do);
}

TEST_CASE("inputs that come together share a condition") {
  const auto plan = plan_of(
      with_t("N: Dim",
             "    params: {pos: {type: \"'none' | 'rope'\", default: none}}\n    inputs:\n      x: "
             "{dtype: T, shape: \"[N]\"}\n"
             "      cos: {dtype: T, shape: \"[N]\", optional: \"pos == 'rope'\"}\n      sin: "
             "{dtype: T, shape: \"[N]\", optional: \"present(cos)\"}\n"
             "    outputs: {y: {dtype: T, shape: \"[N]\", nullable: \"pos == 'rope'\"}}\n"));
  Call plain(plan);
  plain.set("x", kF32, {4});
  REQUIRE(plain.check());
  CHECK(plain.output() == "absent");
  plain.set("cos", kF32, {4});
  CHECK(plain.why().message() == "cos is given, but it is present exactly when pos == 'rope'");
  Call rope(plan, {{"pos", "rope"}});
  rope.set("x", kF32, {4}).set("cos", kF32, {4});
  CHECK(rope.why().message() == "sin is absent, but it is present exactly when present(cos)");
  rope.set("sin", kF32, {4});
  REQUIRE(rope.check());
  CHECK(rope.output() == "float32[4]");
}

TEST_CASE("a domain restriction rejects a point before any branch is chosen") {
  const auto plan = plan_of(
      with_t("N: Dim",
             "    params: {training: {type: bool, default: false}}\n    inputs:\n      x: {dtype: "
             "T, shape: \"[N]\"}\n      mean: {dtype: T, shape: \"[N]\", optional: true}\n"
             "    outputs: {y: {dtype: T, shape: \"[N]\"}}\n    shape_rules: [\"training or "
             "present(mean)\"]\n"));
  Call call(plan);
  call.set("x", kF32, {4});
  CHECK(call.why().message() ==
        "'training or present(mean)' does not hold for the inputs that are present");
  call.set("mean", kF32, {4});
  CHECK(call.check());
  Call training(plan, {{"training", true}});
  training.set("x", kF32, {4});
  CHECK(training.check());
}

TEST_CASE("a construction-time tensor solves at construction and is checked in the call") {
  const auto plan = plan_of(with_t(
      "D: Dim, R: \"DType[float32]\"",
      "    params:\n      factors: {dtype: R, shape: \"[D // 2]\", optional: true}\n    inputs: "
      "{x: {dtype: T, shape: \"[D]\"}}\n    outputs: {y: {dtype: T, shape: \"[D]\"}}\n"));
  Call call(plan, {}, {{"factors", Tensor::host(kF32, {4}).value()}});
  call.set("x", kF32, {8});
  CHECK(call.check());
  call.set("x", kF32, {10});
  CHECK(call.why().message() == "factors has size 4 on axis 0, but D // 2 is 5 (D = 10)");
  Call without(plan);
  without.set("x", kF32, {10});
  CHECK(without.check());
}

TEST_CASE("dtype combinations are the exact list") {
  const auto plan = plan_of(
      "    forall: {N: Dim, A: \"DType[float16 | float32]\", B: \"DType[float16 | float32]\"}\n    "
      "inputs:\n      x: {dtype: A, shape: \"[N]\"}\n      y: {dtype: B, shape: \"[N]\"}\n"
      "    outputs: {o: {dtype: A, shape: \"[N]\"}}\n    dtype_combos:\n    - {A: float16, B: "
      "float32}\n    - {A: float16, B: float16}\n");
  Call call(plan);
  call.set("x", kF16, {4}).set("y", kF32, {4});
  CHECK(call.check());
  call.set("x", kF32, {4});
  CHECK(call.why().message() == "A = float32, B = float32 is no supported combination of dtypes");
}

TEST_CASE("written inputs are checked like out, and an alias output is the input") {
  const auto plan = plan_of(
      with_t("S: Shape",
             "    params: {inplace: {type: bool, default: false}}\n    inputs:\n      x: {dtype: "
             "T, shape: \"[*S]\", mutated: inplace}\n      y: {dtype: T, shape: \"[*S]\"}\n"
             "    outputs: {o: {dtype: T, shape: \"[*S]\", alias: x}}\n"));
  auto* memory = reinterpret_cast<void*>(4096);
  Call fresh(plan);
  fresh.set("x", TensorView(memory, kF32, {4})).set("y", TensorView(memory, kF32, {4}));
  REQUIRE(fresh.check());
  CHECK(fresh.frame().outputs[0].alias_input == -1);
  Call in_place(plan, {{"inplace", true}});
  in_place.set("x", kF32, {4}).set("y", kF32, {4});
  REQUIRE(in_place.check());
  CHECK(in_place.frame().outputs[0].alias_input == 0);
  CHECK(static_cast<bool>(in_place.frame().written_inputs[0]));
  in_place.set("x", TensorView(memory, kF32, {4}))
      .set("y", TensorView(static_cast<std::byte*>(memory) + 4, kF32, {4}));
  CHECK(in_place.why().message() == "x overlaps y in part");
  in_place.set("x", TensorView(memory, kF32, {4}, {0})).set("y", kF32, {4});
  CHECK(in_place.why().message() == "x overlaps itself: shape [4] with strides [0]");
}

TEST_CASE("a device: cpu input stays where it is and takes no part in the call's device") {
  const auto plan =
      plan_of(with_t("N: Dim",
                     "    inputs:\n      n: {dtype: int32, shape: \"[]\", device: cpu}\n      x: "
                     "{dtype: T, shape: \"[N]\"}\n    outputs: {y: {dtype: T, shape: \"[N]\"}}\n"));
  const Device acme{DeviceKind::of("acme"), 0};
  Call call(plan);
  call.set("n", DType::kInt32, {}).set("x", kF32, {4}, acme);
  REQUIRE(call.check());
  CHECK(call.frame().device == acme);
  call.set("n", DType::kInt32, {}, acme);
  CHECK(call.why().message() == "n is on acme:0, but is declared device: cpu");
}

TEST_CASE(
    "checks on a warm frame allocate nothing and give the same answers on changing branches") {
  const auto plan = shipped("LayerNormFwdOp");
  Call call(plan, {{"normalized_shape", {8}}});
  call.set("x", kF32, {2, 8});
  for (int round = 0; round < 3; ++round) {
    CHECK(call.clear("weight").no_out().check());
    CHECK(call.set("weight", kF32, {8}).check());
    CHECK(call.out(kF32, {2, 8}).check());
    CHECK_FALSE(call.set("weight", kF32, {7}).check());
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::manifest::test
