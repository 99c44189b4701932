// Rooflines that are registered functions of the checked call.
#include "tenon/core/roofline.hpp"

#include "plan_support.hpp"
#include "tenon/manifest/check.hpp"

namespace tenon::manifest::test {
namespace {

TEST_SUITE_BEGIN("manifest/roofline");

std::string ragged(std::string_view function) {
  return "RaggedFwdOp:\n  family: demo\n  status: spec-only\n  signature:\n"
         "    forall: {Q: Dim, B: Dim, D: Dim, L: \"Seq[Int]\", T: \"DType[float16]\"}\n"
         "    params: {scale: {type: int, default: 2}}\n    let: {twice: \"2 * D\"}\n"
         "    inputs:\n      x: {dtype: T, shape: \"[Q, D]\"}\n"
         "      cu: {dtype: int32, shape: \"[B + 1]\", values: \"prefix_sum(L)\"}\n"
         "      w: {dtype: T, shape: \"[D]\", optional: true}\n"
         "    outputs: {y: {dtype: T, shape: \"[Q, twice]\"}}\n"
         "  workloads: [{Q: 9, D: 4, L: [2, 3, 4], dtype_cases: [{T: float16}], label: a}]\n"
         "  roofline: {func: tileops.perf.formulas." +
         std::string(function) + "}\n";
}

CheckedSet checked(std::string_view function) {
  const std::vector<NamedText> files{{"demo.yaml", ragged(function)}};
  return check(load_texts(files));
}

TEST_CASE("a registered function sees the call, and a row's generated tensors") {
  RooflineCall seen;
  const auto registered =
      register_roofline("tileops.perf.formulas.ragged_seen", [&](const RooflineCall& call) {
        seen = call;
        double squares = 0;
        const auto& cu = *call.tensor("cu");
        for (std::size_t i = 1; cu.contents && i < cu.contents->size(); ++i) {
          const auto length = static_cast<double>((*cu.contents)[i] - (*cu.contents)[i - 1]);
          squares += length * length;
        }
        return Result<Cost>(Cost{squares * static_cast<double>(call.size("D")), 7});
      });
  REQUIRE(registered);

  const CheckedSet set = checked("ragged_seen");

  CHECK_MESSAGE(set.diagnostics.empty(), set.diagnostics.to_text());
  REQUIRE(set.workloads[0].cases.size() == 1);
  REQUIRE(set.workloads[0].cases[0].cost);
  CHECK(set.workloads[0].cases[0].cost->flops == 4 * (4 + 9 + 16));
  CHECK(set.workloads[0].cases[0].cost->bytes == 7);
  CHECK(seen.op == "RaggedFwdOp");
  REQUIRE(seen.param("scale"));
  CHECK(*seen.param("scale") == Value(2));
  CHECK(seen.size("Q") == 9);
  CHECK(seen.size("B") == 3);
  CHECK(seen.size("twice") == 8);
  CHECK(seen.index("Z") == nullptr);
  CHECK(seen.param("Z") == nullptr);
  CHECK(seen.tensor("Z") == nullptr);
  CHECK(seen.tensor("cu")->contents == std::vector<std::int64_t>{0, 2, 5, 9});
  CHECK(seen.tensor("x")->bytes == 2 * 9 * 4);
  CHECK(seen.tensor("x")->shape == std::vector<std::int64_t>{9, 4});
  CHECK(seen.tensor("y")->bytes == 2 * 9 * 8);
  CHECK_FALSE(seen.tensor("x")->contents);
  CHECK_FALSE(seen.tensor("w")->present);
}

TEST_CASE("a call's metadata in host memory is read as it lies; a meta call has none") {
  std::optional<std::vector<std::int64_t>> contents;
  REQUIRE(register_roofline("tileops.perf.formulas.ragged_host", [&](const RooflineCall& call) {
    contents = call.tensor("cu")->contents;
    return Result<Cost>(Cost{});
  }));
  const CheckedSet set = checked("ragged_host");
  REQUIRE(set.plans[0]);
  Call call(set.plans[0]);
  const std::int32_t memory[] = {0, -1, 4, -1, 9};
  call.set("x", DType::kFloat16, {9, 4});
  call.set("cu", TensorView(const_cast<std::int32_t*>(memory), DType::kInt32, Dims{3}, Dims{2}));
  REQUIRE(call.check());

  REQUIRE(set.plans[0]->cost(call.construction(), call.arguments(), call.frame()));
  CHECK(contents == std::vector<std::int64_t>{0, 4, 9});
  CallArgs meta = call.arguments();
  meta.meta = true;
  REQUIRE(set.plans[0]->cost(call.construction(), meta, call.frame()));
  CHECK_FALSE(contents);
}

TEST_CASE("an unknown function is an advisory, and what a function refuses is said") {
  const CheckedSet unknown = checked("ragged_unknown");
  REQUIRE(unknown.diagnostics.size() == 1);
  CHECK(unknown.diagnostics.items()[0].rule == "roofline.unknown");
  CHECK(unknown.diagnostics.items()[0].severity == Severity::kAdvisory);
  CHECK_FALSE(unknown.workloads[0].cases.at(0).cost);
  Call call(unknown.plans[0]);
  call.set("x", DType::kFloat16, {9, 4}).set("cu", DType::kInt32, {4});
  REQUIRE(call.check());
  CHECK(call.plan().cost(call.construction(), call.arguments(), call.frame()).error().code() ==
        ErrorCode::kOpNotAvailable);

  REQUIRE(register_roofline("tileops.perf.formulas.ragged_refuses", [](const RooflineCall&) {
    return Result<Cost>(fail(ErrorCode::kInternal, "no formula for ragged calls"));
  }));
  const CheckedSet refused = checked("ragged_refuses");
  REQUIRE(refused.diagnostics.size() == 1);
  CHECK(refused.diagnostics.items()[0].rule == "row.roofline");
  CHECK(refused.diagnostics.items()[0].text.find("no formula for ragged calls") !=
        std::string::npos);
}

TEST_CASE("a roofline function has a dotted name of its own") {
  const RooflineFunction none = [](const RooflineCall&) { return Result<Cost>(Cost{}); };
  REQUIRE(register_roofline("tileops.perf.formulas.once", none));

  CHECK(register_roofline("tileops.perf.formulas.once", none).error().message() ==
        "the roofline function 'tileops.perf.formulas.once' cannot be registered: the name is "
        "taken");
  CHECK_FALSE(register_roofline("once", none));
  CHECK_FALSE(register_roofline("tileops.perf.formulas.", none));
  CHECK_FALSE(register_roofline("tileops.perf..once", none));
  CHECK_FALSE(register_roofline("vendor.costs.2x", none));
  CHECK(register_roofline("vendor.costs.once", none));
  CHECK_FALSE(register_roofline("tileops.perf.formulas.empty", {}));
  CHECK(find_roofline("tileops.perf.formulas.once") != nullptr);
  CHECK(find_roofline("tileops.perf.formulas.empty") == nullptr);
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::manifest::test
