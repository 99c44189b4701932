// Lists of tensors: solved element by element, joined, split and told apart in messages.
#include "plan_support.hpp"

namespace tenon::manifest::test {
namespace {

TEST_SUITE_BEGIN("manifest/plan_lists");

constexpr auto kF32 = DType::kFloat32;

std::shared_ptr<const SignaturePlan> concat() {
  return plan_of(
      "    forall: {S: \"Seq[Shape]\", T: \"DType[float16 | float32]\"}\n    params: {axis: {type: "
      "int, default: 0}}\n"
      "    inputs: {xs: {dtype: T, list: {min: 1, max: 3}, shape: \"[*S[i]]\"}}\n"
      "    outputs: {output: {dtype: T, shape: \"[*concat.out(S, axis)]\", buffer: out}}\n"
      "    shape_rules: [\"concat.ok(S, axis)\"]\n");
}

TEST_CASE("a concatenation adds the sizes on its axis") {
  Call call(concat(), {{"axis", -1}});
  call.set_list("xs", kF32, {{2, 3}, {2, 5}, {2, 0}});

  REQUIRE(call.check());

  CHECK(call.output() == "float32[2, 8]");
  CHECK(
      call.index("S") ==
      Value::list({Value::list({2, 3}, true), Value::list({2, 5}, true), Value::list({2, 0}, true)},
                  true));
  call.set_list("xs", kF32, {{2, 3}, {1, 5}});
  CHECK(call.why().message().find("'concat.ok(S, axis)' does not hold") == 0);
}

TEST_CASE("a list has its bounds and one dtype") {
  Call call(concat());
  call.set_list("xs", kF32, {{1}, {1}, {1}, {1}});
  CHECK(call.why().message() == "xs has 4 tensors, allowed are 1 to 3");
  call.set_list("xs", DType::kInt8, {{1}});
  CHECK(call.why().message().find("xs is int8, but T is one of float16, float32") == 0);
}

TEST_CASE("out may overlap no element of a list") {
  Call call(concat());
  call.set_list("xs", kF32, {{4}, {4}}).out(kF32, {8});
  CHECK(call.check());
  const TensorArg xs = call.arguments().inputs[0];
  call.out(TensorView(static_cast<std::byte*>(xs.items[1]->data) + 4, kF32, {8}));
  CHECK(call.why().message() == "out overlaps xs in part");
}

TEST_CASE("a split makes as many outputs as its sizes say") {
  const auto plan = plan_of(
      "    forall: {S: Shape, T: \"DType[float32]\"}\n    params: {axis: {type: int, default: 0}, "
      "sizes: {type: \"list[int]\"}}\n"
      "    inputs: {x: {dtype: T, shape: \"[*S]\"}}\n"
      "    outputs: {parts: {dtype: T, list: \"len(sizes)\", shape: \"[*split.out(S, axis, sizes, "
      "i)]\"}}\n");
  Call call(plan, {{"axis", 1}, {"sizes", {3, 0, 5}}});
  call.set("x", kF32, {4, 8});

  REQUIRE(call.check());

  CHECK(call.frame().outputs[0].list_count == 3);
  REQUIRE(call.frame().list_outputs.size() == 3);
  CHECK(call.frame().list_outputs[0].shape == Dims{4, 3});
  CHECK(call.frame().list_outputs[1].shape == Dims{4, 0});
  CHECK(call.frame().list_outputs[2].shape == Dims{4, 5});
  CHECK_FALSE(call.frame().nothing_to_do);
  CHECK(call.plan().traffic(call.construction(), call.arguments(), call.frame())[1].written_bytes ==
        4 * 8 * 4);
  call.set("x", kF32, {4, 9});
  CHECK(call.why().message().find("the sizes [3, 0, 5] add up to 8, but axis 1 has size 9") !=
        std::string::npos);
}

TEST_CASE("sizes per element and sizes in common are told apart") {
  const auto plan = plan_of(
      "    forall: {N: \"Seq[Dim]\", K: Dim, T: \"DType[float32]\"}\n"
      "    inputs:\n      xs: {dtype: T, list: {min: 1}, shape: \"[N[i], K]\"}\n      ys: {dtype: "
      "T, list: {min: 1}, shape: \"[K, N[i]]\"}\n"
      "    outputs: {output: {dtype: T, shape: \"[sum(N), K]\"}}\n");
  Call call(plan);
  call.set_list("xs", kF32, {{2, 7}, {3, 7}}).set_list("ys", kF32, {{7, 2}, {7, 3}});
  REQUIRE(call.check());
  CHECK(call.output() == "float32[5, 7]");
  call.set_list("ys", kF32, {{7, 2}, {7, 4}});
  CHECK(call.why().message().find("ys[1] has size 4 on axis 1") == 0);
  call.set_list("ys", kF32, {{7, 2}});
  CHECK(call.why().message() == "ys has 1 tensors, but N has 2 items");
  call.set_list("xs", kF32, {{2, 7}, {3, 8}}).set_list("ys", kF32, {{7, 2}, {7, 3}});
  CHECK(call.why().message().find("xs[1] has size 8 on axis 1, but K is 7") == 0);
  call.set_list("xs", kF32, {{2, 7}, {3}});
  CHECK(call.why().message() == "xs[1] has rank 1 (shape [3]), but is declared [N[i], K]");
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::manifest::test
