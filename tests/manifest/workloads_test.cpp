// Workload rows as calls: solved indices, generated contents, ids, and rows that cannot be
// instantiated.
#include "tenon/manifest/workloads.hpp"

#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "support.hpp"
#include "tenon/manifest/check.hpp"

using namespace tenon;            // NOLINT(google-build-using-namespace): one layer's names
using namespace tenon::manifest;  // NOLINT(google-build-using-namespace)

namespace {

std::string base(const std::string& name) {
  std::ifstream stream(TENON_SOURCE_DIR "/tests/manifest/bases/" + name, std::ios::binary);
  REQUIRE(stream.good());
  return {std::istreambuf_iterator<char>(stream), {}};
}

CheckedSet checked(const std::string& name,
                   std::string_view before = {},
                   std::string_view after = {}) {
  std::string text = base(name);
  if (!before.empty()) {
    const std::size_t at = text.find(before);
    REQUIRE(at != std::string::npos);
    text.replace(at, before.size(), after);
  }
  const std::vector<NamedText> files{{"types.yaml", base("types.yaml")}, {name, text}};
  return check(load_texts(files));
}

const CaseTensor& tensor(const WorkloadCase& c, std::string_view name) {
  for (const auto* list : {&c.tensors, &c.outputs}) {
    for (const CaseTensor& t : *list) {
      if (t.name == name) return t;
    }
  }
  FAIL("no such tensor");
  return c.tensors.front();
}

Value index(const WorkloadCase& c, std::string_view name) {
  for (const NamedValue& v : c.indices) {
    if (v.first == name) return v.second;
  }
  return {};
}

using Sizes = std::vector<std::int64_t>;

}  // namespace

TEST_SUITE("manifest/workloads") {
  TEST_CASE("a row becomes one call for each dtype case, with its tensors and contents") {
    const CheckedSet set = checked("rich.yaml");
    REQUIRE_MESSAGE(set.diagnostics.empty(), set.diagnostics.to_text());

    const std::vector<WorkloadCase>& cases = set.workloads[0].cases;

    REQUIRE(cases.size() == 2);
    const WorkloadCase& first = cases[0];
    CHECK(first.id == "first-float16-int32-float32");
    CHECK(index(first, "D") == Value(2));
    CHECK(tensor(first, "x").shape == Sizes{2, 3, 2});
    CHECK(tensor(first, "x").dtype == DType::kFloat16);
    CHECK(tensor(first, "lens").shape == Sizes{3});
    CHECK(tensor(first, "lens").dtype == DType::kInt32);
    REQUIRE(tensor(first, "lens").values.has_value());
    CHECK(tensor(first, "lens").values->values == Sizes{0, 4, 9});
    CHECK(tensor(first, "table").present);
    CHECK(tensor(first, "g").present);
    CHECK(tensor(first, "y").shape == Sizes{2, 3, 2});
    CHECK_FALSE(tensor(first, "stats").present);
    REQUIRE(first.cost.has_value());
    CHECK(first.cost->flops == 24.0);
    CHECK(first.cost->bytes == 48.0);
    const WorkloadCase& second = cases[1];
    CHECK(second.id == "second-float32-int64-float64");
    CHECK(tensor(second, "lens").values->values == Sizes{0, 2, 4, 6, 8, 10, 12, 14, 16});
    CHECK_FALSE(tensor(second, "w").present);
    CHECK(tensor(second, "stats").shape == Sizes{7});
    CHECK(tensor(second, "stats").dtype == DType::kFloat64);
  }

  TEST_CASE("a branch decides what a row must give") {
    const CheckedSet set = checked("product.yaml");
    REQUIRE_MESSAGE(set.diagnostics.empty(), set.diagnostics.to_text());

    const std::vector<WorkloadCase>& cases = set.workloads[0].cases;

    REQUIRE(cases.size() == 3);
    CHECK(tensor(cases[0], "a").shape == Sizes{8, 16});
    CHECK(tensor(cases[1], "a").shape == Sizes{16, 8});
    CHECK(cases[2].id == "flipped-float32");
  }

  TEST_CASE("an algebraic value chooses shapes, and a function without a body has no cost") {
    const CheckedSet set = checked("layout.yaml");
    REQUIRE_MESSAGE(set.diagnostics.error_count() == 0, set.diagnostics.to_text());

    const std::vector<WorkloadCase>& cases = set.workloads[0].cases;

    REQUIRE(cases.size() == 2);
    CHECK(tensor(cases[0], "x").shape == Sizes{4, 2});
    CHECK(tensor(cases[1], "x").shape == Sizes{4, 2, 16});
    CHECK_FALSE(cases[0].cost.has_value());
  }

  TEST_CASE("a row that needs an unknown generator is listed, and nothing else fails") {
    const CheckedSet set = checked("rich.yaml", "\"prefix_sum(L)\"", "\"prefix_steps(L)\"");

    CHECK(set.diagnostics.error_count() == 0);
    CHECK(set.plans[0] != nullptr);
    CHECK(set.workloads[0].cases.empty());
    REQUIRE(set.workloads[0].skipped.size() == 2);
    CHECK(set.workloads[0].skipped[0].reason == "'prefix_steps' is not known here");
  }

  TEST_CASE("random contents are the same on every run and differ between tensors") {
    const auto find = [](const CheckedSet& set) -> const GeneratedTensor& {
      return *tensor(set.workloads[0].cases[0], "ids").values;
    };
    const std::string text = test::entry(
        "    forall: {R: Dim, T: \"DType[float32]\"}\n"
        "    inputs: {x: {dtype: T, shape: \"[R]\"}, ids: {dtype: int32, shape: \"[R, 3]\", "
        "values: \"topk_ids(R, 3, 50)\"},\n"
        "      more: {dtype: int32, shape: \"[R, 3]\", values: \"topk_ids(R, 3, 50)\"}}\n",
        "",
        "DemoFwdOp",
        "[{R: 40, dtype_cases: [{T: float32}], label: a}]");

    const CheckedSet one = check(test::load(text));
    const CheckedSet two = check(test::load(text));

    REQUIRE_MESSAGE(one.diagnostics.empty(), one.diagnostics.to_text());
    CHECK(find(one) == find(two));
    CHECK_FALSE(find(one) == *tensor(one.workloads[0].cases[0], "more").values);
  }

  TEST_CASE("a generator may wait for an index that another one solves") {
    const CheckedSet set = check(test::load(test::entry(
        "    forall: {B: Dim, G: Dim, L: \"Seq[Int]\"}\n"
        "    inputs: {cu: {dtype: int32, shape: \"[B + 1]\", values: \"prefix_sum(L)\"},\n"
        "      whole: {dtype: int64, shape: \"[G]\", values: \"as_tensor(balanced_sizes(B, "
        "1))\"}}\n",
        "",
        "DemoFwdOp",
        "[{L: [3, 4, 5], label: a}]")));

    REQUIRE_MESSAGE(set.diagnostics.empty(), set.diagnostics.to_text());
    const WorkloadCase& only = set.workloads[0].cases.at(0);
    CHECK(index(only, "B") == Value(3));
    CHECK(tensor(only, "whole").values->values == Sizes{3});
  }

  TEST_CASE("a generator whose arguments nobody gives is an error of the row") {
    const CheckedSet set = check(test::load(
        test::entry("    forall: {B: Dim, C: Dim}\n"
                    "    inputs: {a: {dtype: int32, shape: \"[B]\", values: \"full((C,), 1)\"}, b: "
                    "{dtype: int32, shape: \"[C]\", values: \"full((B,), 1)\"}}\n",
                    "",
                    "DemoFwdOp",
                    "[{B: 2, label: a}]")));

    CHECK(test::rules(set.diagnostics) == "row.missing@7:15");
  }

  TEST_CASE("a predicate may not read a tensor that can be absent where its own is passed") {
    const CheckedSet set = check(test::load(test::entry(
        "    forall: {B: Dim, L: \"Seq[Int]\", T: \"DType[float32]\"}\n"
        "    inputs:\n      x: {dtype: T, shape: \"[B]\"}\n"
        "      a: {dtype: int32, shape: \"[B]\", values: \"as_tensor(L)\", requires: "
        "[\"attn.paged_fits(b, 8)\"], optional: true}\n"
        "      b: {dtype: int32, shape: \"[B + 1]\", values: \"prefix_sum(L)\", optional: true}\n",
        "",
        "DemoFwdOp",
        "[{L: [1], some: [a, b], dtype_cases: [{T: float32}], label: a}]")));

    CHECK(test::rules(set.diagnostics) == "predicate.absent@8:74");
  }

  TEST_CASE("tuples have their length, lists of tensors as many elements as their index") {
    const auto load = [](std::string_view p) {
      return check(test::load(
          test::entry("    forall: {S: \"Seq[Shape]\", T: \"DType[float32]\"}\n    params: {p: "
                      "{type: \"int | tuple[int, int]\"}}\n"
                      "    inputs: {xs: {dtype: T, list: {min: 1}, shape: \"[*S[i]]\"}}\n    "
                      "outputs: {y: {dtype: T, shape: \"[*broadcast_all(S)]\"}}\n",
                      "",
                      "DemoFwdOp",
                      "[{S: [[2, 3], [3]], p: " + std::string(p) +
                          ", dtype_cases: [{T: float32}], label: a}]")));
    };
    const CheckedSet right = load("[1, 2]");

    REQUIRE_MESSAGE(right.diagnostics.empty(), right.diagnostics.to_text());
    const WorkloadCase& only = right.workloads[0].cases.at(0);
    CHECK(tensor(only, "xs").elements == std::vector<Sizes>{{2, 3}, {3}});
    CHECK(tensor(only, "y").shape == Sizes{2, 3});
    CHECK(test::rules(load("[0]").diagnostics) == "row.value@9:37");
  }
}
