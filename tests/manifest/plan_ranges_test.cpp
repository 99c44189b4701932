// Inference on sizes given as ranges: what tracers ask before any size is known.
#include "plan_support.hpp"

namespace tenon::manifest::test {
namespace {

TEST_SUITE_BEGIN("manifest/plan_ranges");

constexpr auto kF32 = DType::kFloat32;
using Inputs = std::vector<std::optional<RangedTensor>>;

RangedTensor tensor(std::vector<SizeRange> sizes) { return {kF32, std::move(sizes), {}}; }

Result<RangedOutputs> infer(const std::shared_ptr<const SignaturePlan>& plan,
                            const std::vector<NamedValue>& params,
                            const Inputs& inputs) {
  return plan->infer_ranges(*plan->construct(params, {}).value(), inputs, false);
}

TEST_CASE("sizes that are points infer as a call does, without guards") {
  const auto result =
      infer(shipped("MatMulFwdOp"),
            {},
            {tensor({{4, 4}, {1, 1}, {33, 33}, {65, 65}}), tensor({{3, 3}, {65, 65}, {17, 17}})});

  REQUIRE(result);
  CHECK(result->outputs[0].sizes == std::vector<SizeRange>{{4, 4}, {3, 3}, {33, 33}, {17, 17}});
  CHECK(result->guards.empty());
}

TEST_CASE("a range passes through, and what it leaves open becomes a guard") {
  const auto result =
      infer(shipped("MatMulFwdOp"), {}, {tensor({{1, 64}, {8, 128}}), tensor({{32, 32}, {5, 7}})});

  REQUIRE(result);
  CHECK(result->outputs[0].sizes == std::vector<SizeRange>{{1, 64}, {5, 7}});
  CHECK(result->guards == std::vector<std::string>{"size of b on axis 0 == K"});
}

TEST_CASE("ranges that can never meet are refused with both") {
  const auto result =
      infer(shipped("MatMulFwdOp"), {}, {tensor({{1, 64}, {8, 16}}), tensor({{32, 40}, {5, 7}})});

  REQUIRE_FALSE(result);
  CHECK(result.error().message() == "b has size 32..40 on axis 0, but K is 8..16");
}

TEST_CASE("broadcasting covers the sizes that may be 1") {
  const auto add = shipped("AddFwdOp");
  const auto sizes = [&](SizeRange a, SizeRange b) {
    const auto result = infer(add, {}, {tensor({a}), tensor({b})});
    return result ? std::optional(result->outputs[0].sizes[0]) : std::nullopt;
  };

  CHECK(sizes({1, 8}, {4, 4}) == SizeRange{4, 4});
  CHECK(sizes({1, 1}, {0, 9}) == SizeRange{0, 9});
  CHECK(sizes({2, 8}, {4, 16}) == SizeRange{4, 8});
  CHECK_FALSE(sizes({2, 3}, {4, 16}));
}

TEST_CASE("a window's ends come from the ends of its length") {
  const auto plan = plan_of(
      "    forall: {L: Dim, T: \"DType[float32]\"}\n    params: {k: {type: int}}\n    inputs: {x: "
      "{dtype: T, shape: \"[L]\"}}\n"
      "    outputs: {y: {dtype: T, shape: \"[conv.out(L, k, 2, 0, 1)]\"}}\n    shape_rules: [\"L % "
      "2 == 0\", \"L < 100\"]\n");

  const auto result = infer(plan, {{"k", 3}}, {tensor({{3, 33}})});

  REQUIRE(result);
  CHECK(result->outputs[0].sizes == std::vector<SizeRange>{{1, 16}});
  CHECK(result->guards == std::vector<std::string>{"L % 2 == 0"});
  CHECK_FALSE(infer(plan, {{"k", 3}}, {tensor({{100, 200}})}));
}

TEST_CASE("2 * N halves a range, and an odd size is left to a guard") {
  const auto plan = plan_of(
      "    forall: {N: Dim, T: \"DType[float32]\"}\n    inputs: {x: {dtype: T, shape: \"[2 * "
      "N]\"}}\n    outputs: {y: {dtype: T, shape: \"[N]\"}}\n");

  const auto result = infer(plan, {}, {tensor({{3, 9}})});

  REQUIRE(result);
  CHECK(result->outputs[0].sizes == std::vector<SizeRange>{{2, 4}});
  CHECK(result->guards.size() == 1);
  CHECK_FALSE(infer(plan, {}, {tensor({{3, 3}})}));
}

TEST_CASE("reductions and normalised axes keep the ranges of what remains") {
  const auto sum = infer(
      shipped("SumFwdOp"), {{"dim", {-1}}, {"keepdim", true}}, {tensor({{1, 9}, {5, 6}, {0, 3}})});
  REQUIRE(sum);
  CHECK(sum->outputs[0].sizes == std::vector<SizeRange>{{1, 9}, {5, 6}, {1, 1}});

  const auto norm = infer(shipped("RMSNormFwdOp"),
                          {{"normalized_shape", {8}}},
                          {tensor({{1, 9}, {8, 8}}), std::nullopt});
  REQUIRE(norm);
  CHECK(norm->outputs[0].sizes == std::vector<SizeRange>{{1, 9}, {8, 8}});
  CHECK(norm->guards.empty());
  CHECK_FALSE(infer(shipped("SumFwdOp"), {{"dim", {3}}}, {tensor({{1, 9}, {5, 6}})}));
}

TEST_CASE("what has no value for some sizes in the ranges is a guard") {
  const auto guards = [](std::string_view axis, SizeRange a, SizeRange b) {
    const auto plan = plan_of(
        "    forall: {A: Dim, B: Dim, T: \"DType[float32]\"}\n"
        "    inputs: {x: {dtype: T, shape: \"[A, B]\"}}\n"
        "    outputs: {o: {dtype: T, shape: \"[" +
        std::string(axis) + "]\"}}\n");
    const auto result = infer(plan, {}, {tensor({a, b})});
    return result ? result->guards : std::vector<std::string>{result.error().message()};
  };
  using Texts = std::vector<std::string>;

  CHECK(guards("A // B", {4, 9}, {0, 3}) == Texts{"A // B has a value"});
  CHECK(guards("A // B", {4, 9}, {1, 3}).empty());
  CHECK(guards("A % B", {4, 9}, {0, 3}) == Texts{"A % B has a value"});
  CHECK(guards("A * B", {4, 9}, {0, std::int64_t{1} << 62}) == Texts{"A * B has a value"});
  CHECK(guards("*broadcast((A,), (B,))", {4, 4}, {1, 4}) ==
        Texts{"broadcast((A,), (B,)) has a value"});
  CHECK(guards("*broadcast((A,), (B,))", {4, 4}, {1, 1}).empty());
  CHECK(guards("(3, 5)[B]", {4, 4}, {0, 9}) == Texts{"(3, 5)[B] has a value"});
  CHECK(guards("mhc.expansion(A)", {3, 9}, {0, 1}) == Texts{"mhc.expansion(A) has a value"});
  CHECK(guards("A if B > 0 else A // B", {4, 4}, {1, 2}).empty());
  CHECK(guards("A if B > 0 else A // B", {4, 4}, {0, 2}) ==
        Texts{"A if B > 0 else A // B has a value"});
  CHECK(guards("A - B", {4, 4}, {3, 5}) == Texts{"A - B >= 0"});
}

TEST_CASE("combinations of dtypes and devices are checked as in a call") {
  const auto plan = plan_of(
      "    forall: {A: Dim, T: \"DType[float32 | float16]\", U: \"DType[float32 | float16]\"}\n"
      "    inputs: {x: {dtype: T, shape: \"[A]\"}, y: {dtype: U, shape: \"[A]\"}}\n"
      "    outputs: {o: {dtype: T, shape: \"[A]\"}}\n"
      "    dtype_combos: [{T: float16, U: float32}, {T: float32, U: float32}]\n");
  RangedTensor x = tensor({{1, 9}});
  RangedTensor y = tensor({{1, 9}});

  CHECK(infer(plan, {}, {x, y}));
  y.dtype = DType::kFloat16;
  const auto combo = infer(plan, {}, {x, y});
  REQUIRE_FALSE(combo);
  CHECK(combo.error().message() ==
        "T = float32, U = float16 is no supported combination of dtypes");
  y.dtype = kF32;
  y.device = Device{DeviceKind::of("acme"), 1};
  const auto device = infer(plan, {}, {x, y});
  REQUIRE_FALSE(device);
  CHECK(device.error().message() ==
        "x is on cpu:0, but y is on acme:1: one call runs on one device");
}

TEST_CASE("every call in the ranges that passes lies in what they infer") {
  const auto plan = plan_of(
      "    forall: {A: Dim, B: Dim, T: \"DType[float32]\"}\n    params: {p: {type: int, default: "
      "3}}\n"
      "    inputs:\n      x: {dtype: T, shape: \"[A, B]\"}\n      y: {dtype: T, shape: \"[B + "
      "1]\"}\n"
      "    outputs: {o: {dtype: T, shape: \"[A * B - A, (A + B) // p, ceil_div(A, 4), A % 5, "
      "max((A, B)) - min((A, B)), A if A > B else B]\"}}\n");
  const SizeRange a{0, 7};
  const SizeRange b{1, 6};
  const auto ranges = infer(plan, {}, {tensor({a, b}), tensor({{0, 9}})});
  REQUIRE(ranges);

  Call call(plan);
  for (std::int64_t i = a.low; i <= a.high; ++i) {
    for (std::int64_t k = b.low; k <= b.high; ++k) {
      call.set("x", kF32, {i, k}).set("y", kF32, {k + 1});
      if (!call.check()) continue;
      for (std::size_t axis = 0; axis < ranges->outputs[0].sizes.size(); ++axis) {
        const std::int64_t size = call.frame().outputs[0].shape[axis];
        CHECK(size >= ranges->outputs[0].sizes[axis].low);
        CHECK(size <= ranges->outputs[0].sizes[axis].high);
      }
    }
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::manifest::test
