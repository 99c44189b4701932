// What TileOPs' files write beside the language's own constructs: formulas under either name,
// keyword-only inputs, the result buffer `out`, classes of other libraries, indices of generators.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "plan_support.hpp"
#include "tenon/core/roofline.hpp"
#include "tenon/manifest/check.hpp"

using namespace tenon;
using namespace tenon::manifest;        // NOLINT(google-build-using-namespace): one layer's names
using namespace tenon::manifest::test;  // NOLINT(google-build-using-namespace)

namespace {

const CheckedSet& style() {
  static const CheckedSet checked = check(
      load_folder(std::filesystem::path(TENON_SOURCE_DIR) / "tests" / "manifest" / "tileops_style")
          .value());
  return checked;
}

std::size_t number_of(std::string_view op) {
  const auto& entries = style().set.entries;
  const auto found = std::find_if(
      entries.begin(), entries.end(), [&](const Entry& e) { return e.decl.name == op; });
  REQUIRE(found != entries.end());
  return static_cast<std::size_t>(found - entries.begin());
}

std::vector<std::string> schemas_of(std::string_view op) {
  std::vector<std::string> schemas;
  for (const EffectBranch& branch : style().plans[number_of(op)]->decl().branches)
    schemas.push_back(branch.schema);
  return schemas;
}

std::string with_func(std::string_view name) {
  std::string text = demo(kUnary);
  const std::string before = "{flops: \"0\"}";
  text.replace(text.find(before), before.size(), "{func: " + std::string(name) + "}");
  return text;
}

std::string with_type(std::string_view type, std::string_view rule = "True") {
  return demo(
      "    forall: {S: Shape, T: \"DType[float16 | float32]\"}\n"
      "    params: {p: {type: \"" +
      std::string(type) +
      "\", default: null}}\n"
      "    inputs: {x: {dtype: T, shape: \"[*S]\"}}\n"
      "    outputs: {y: {dtype: T, shape: \"[*S]\"}}\n"
      "    shape_rules: [\"" +
      std::string(rule) + "\"]\n");
}

}  // namespace

TEST_SUITE("manifest/tileops_files") {
  TEST_CASE("a formula may have any dotted name, and one that is not here is an advisory") {
    for (const char* name : {"tileops.perf.formulas.some_formula",
                             "tileops._perf.formulas.some_formula",
                             "vendor.costs.some_formula"}) {
      const CheckedSet checked = check(load(with_func(name)));
      INFO(name);
      const auto& items = checked.diagnostics.items();
      const auto found = std::find_if(items.begin(), items.end(), [](const Diagnostic& d) {
        return d.rule == "roofline.unknown";
      });
      REQUIRE(found != items.end());
      CHECK(found->severity == Severity::kAdvisory);
      CHECK(found->found == name);
      CHECK(checked.plans.front() != nullptr);
    }
    for (const char* name : {"formula", "a..b", "\"a.b c\"", "a.1b", ".a", "a."})
      CHECK_MESSAGE(rules(load(with_func(name)).diagnostics) == "roofline.func@9:20", name);
  }

  TEST_CASE("TileOPs' two places of formulas are one: what is registered once serves both") {
    REQUIRE(register_roofline("tileops._perf.formulas.either_place", [](const RooflineCall& call) {
      return Result<Cost>(Cost{static_cast<double>(call.tensors.size()), 1.0});
    }));

    for (const char* prefix : {"tileops.perf.formulas.", "tileops._perf.formulas."}) {
      CHECK(find_roofline(std::string(prefix) + "either_place") != nullptr);
      const CheckedSet checked = check(load(with_func(std::string(prefix) + "either_place")));
      Call call(checked.plans.front());
      call.set("x", DType::kFloat32, {4});
      REQUIRE(call.check());
      CHECK(call.plan().cost(call.construction(), call.arguments(), call.frame()).value().flops ==
            2.0);
    }
    CHECK_FALSE(register_roofline("tileops.perf.formulas.either_place",
                                  [](const RooflineCall&) { return Result<Cost>(Cost{}); }));
    CHECK(find_roofline("other._perf.formulas.either_place") == nullptr);
  }

  TEST_CASE("an index that only generators read is the row's: a call knows nothing of it") {
    const std::size_t at = number_of("WindowScoreFwdOp");
    const Workloads& workloads = style().workloads[at];

    CHECK(workloads.cases.size() == 3);
    for (const WorkloadCase& one : workloads.cases) {
      std::vector<std::string> solved;
      for (const NamedValue& index : one.indices) solved.push_back(index.first);
      CHECK(solved == std::vector<std::string>{"Q", "D", "T"});
    }
    CHECK(workloads.cases.front().tensors[1].values->values ==
          std::vector<std::int64_t>{0, 0, 5, 5});
    CHECK(workloads.cases.front().tensors[2].values->values ==
          std::vector<std::int64_t>{4, 5, 6, 7});
  }

  TEST_CASE("the round trip still compares every index that a call solves") {
    // K is solved twice by the row's own shapes: a row that contradicts itself is refused.
    const CheckedSet checked = check(load(entry(
        "    forall: {N: Dim, first: Dim, L: \"Seq[Int]\", T: \"DType[float32]\"}\n"
        "    inputs:\n"
        "      x: {dtype: T, shape: \"[N]\"}\n"
        "      w: {dtype: int32, shape: \"[N]\", values: \"key_windows(L, first, 2, 'start')\"}\n"
        "    outputs: {y: {dtype: T, shape: \"[N]\"}}\n",
        "",
        "DemoFwdOp",
        "[{first: 1, L: [4], dtype_cases: [{T: float32}], label: a},"
        " {first: 1, N: 3, L: [4], dtype_cases: [{T: float32}], label: b}]")));

    CHECK(rules(checked.diagnostics) == "row.extra@10:85");
    CHECK(checked.workloads.front().cases.size() == 1);
  }

  TEST_CASE("an input called out is passed by every call, and its schema is the out form") {
    CHECK(schemas_of("RepeatRowsFwdOp") ==
          std::vector<std::string>{"tenon::repeat_rows_fwd.out(Tensor x, Tensor counts, Tensor? "
                                   "scale=None, *, bool check=False, Tensor(a!) out) -> "
                                   "Tensor(a!)"});

    Call call(style().plans[number_of("RepeatRowsFwdOp")]);
    call.set("x", DType::kFloat32, {3, 4}).set("counts", DType::kInt64, {3});
    CHECK(call.why().message() == "RepeatRowsFwdOp needs its input 'out' ([N, D])");
    call.set("out", DType::kFloat32, {6, 4});
    REQUIRE(call.check());
    CHECK(call.frame().outputs.front().alias_input == 3);
    CHECK(call.frame().outputs.front().shape == Dims{6, 4});
    CHECK(call.frame().written_inputs == std::vector<bool>{false, false, false, true});
    const auto traffic = call.plan().traffic(call.construction(), call.arguments(), call.frame());
    REQUIRE(traffic.size() == 3);
    CHECK(traffic[2].tensor == "out");
    CHECK(traffic[2].read_bytes == 0);
    CHECK(traffic[2].written_bytes == 96);

    call.out(TensorView(reinterpret_cast<void*>(0x1000), DType::kFloat32, {6, 4}));
    CHECK(call.why().hint() == "'out' is an input here: pass it with the others");
  }

  TEST_CASE("a result buffer called out is checked as what is written is") {
    Call call(style().plans[number_of("RepeatRowsFwdOp")]);
    const TensorView x(reinterpret_cast<void*>(0x1000), DType::kFloat32, {3, 4});
    call.set("x", x).set("counts", DType::kInt64, {3});
    call.set("out", TensorView(reinterpret_cast<void*>(0x1010), DType::kFloat32, {2, 4}));
    CHECK(call.why().message().find("out") != std::string::npos);

    TensorView still(reinterpret_cast<void*>(0x9000), DType::kFloat32, {6, 4});
    still.strides = {0, 1};
    call.set("out", still);
    CHECK_FALSE(call.check());
    call.set("out", DType::kFloat16, {6, 4});
    CHECK_FALSE(call.check());
  }

  TEST_CASE("keyword-only inputs stand behind the star, but one that is written") {
    const std::vector<std::string> schemas = schemas_of("AffineFwdOp");

    REQUIRE(schemas.size() == 4);
    CHECK(schemas[0] ==
          "tenon::affine_fwd(Tensor x, Tensor? weight=None, *, Tensor? bias=None, Tensor? "
          "state=None, float eps=0.0) -> Tensor");
    CHECK(schemas[2] ==
          "tenon::affine_fwd.mut_state(Tensor x, Tensor? weight=None, Tensor(a!)? state=None, *, "
          "Tensor? bias=None, float eps=0.0) -> Tensor");
    CHECK(schemas[3] ==
          "tenon::affine_fwd.mut_state_out(Tensor x, Tensor? weight=None, Tensor(a!)? state=None, "
          "*, Tensor? bias=None, float eps=0.0, Tensor(b!) out) -> Tensor(b!)");
  }

  TEST_CASE("a capitalised name that nothing is near is a class of another library") {
    const CheckedSet checked = check(load(with_type("SomeForeignSpec | None", "not present(p)")));

    CHECK(checked.diagnostics.error_count() == 1);  // the row gives nothing
    CHECK(rules(checked.diagnostics) == "schema.none@1:1 type.object@6:25 row.missing@10:15");
    CHECK(checked.diagnostics.advisory_count() == 2);
    REQUIRE(checked.plans.front() != nullptr);
    const EffectBranch& branch = checked.plans.front()->decl().branches.front();
    CHECK(branch.schema.empty());
    Call call(checked.plans.front());
    CHECK(call.set("x", DType::kFloat32, {2}).check());
    CHECK(Call(checked.plans.front(), {{"p", OpaqueValue{"{a: 1}"}}}).construction_error());
  }

  TEST_CASE("a name near a type or an algebraic type is a misspelling") {
    const auto rule_of = [](std::string_view type, std::string_view types) {
      std::vector<NamedText> files{{"demo.yaml", with_type(type)}};
      if (!types.empty()) files.push_back({"types.yaml", std::string(types)});
      return rules(load_texts(files).diagnostics);
    };
    constexpr std::string_view kTypes = "adts: {RowLayout: {sum: {tight: {}}}}\n";

    CHECK(rule_of("RowLayuot", kTypes) == "type.unknown@6:25");
    CHECK(rule_of("RowLayuot", "") == "type.object@6:25");
    CHECK(rule_of("Boolean", "") == "type.unknown@6:25");
    CHECK(rule_of("foreign_spec", "") == "type.unknown@6:25");
    CHECK(rule_of("RowLayout", kTypes).empty());
  }
}
