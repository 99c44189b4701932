// Archives of plan data: what is written is read back, and what is damaged is refused.
#include "tenon/core/signature/archive.hpp"

#include <limits>
#include <string>

#include <doctest/doctest.h>

namespace tenon::signature {
namespace {

TEST_SUITE_BEGIN("signature/archive");

PlanData sample() {
  PlanData data;
  data.decl.name = "DemoFwdOp";
  data.decl.params.push_back({"alpha", "Number", Value(-0.5), true, {"demo.yaml", 3, 4}});
  data.decl.params.push_back(
      {"sizes", "list[int]", Value({-1, std::numeric_limits<std::int64_t>::min()}), false, {}});
  data.decl.params.push_back(
      {"layout", "Layout", Value(AdtValue{"masked", {{"max_m", 5}}}), false, {}});
  data.decl.tolerance = ToleranceDecl{"why", {{DType::kFloat16, {1e-2, 1e-3}}}};
  data.decl.inputs.emplace_back();
  data.decl.inputs.back().list = ListBounds{1, 3};
  data.decl.inputs.back().dtypes = {DType::kBool, DType::kFloat4E2M1FNx2};
  TypeMember member;
  member.optional_items = {true, false};
  data.param_types.push_back({{member}, true});
  data.pool.add(Op::kInt, 7, {}, std::numeric_limits<std::int64_t>::max());
  data.pool.intern("a");
  data.flops.root = 0;
  return data;
}

TEST_CASE("what was written is read back, to the last byte") {
  const std::string bytes = write_plan(sample());

  const Result<PlanData> read = read_plan(bytes);

  REQUIRE(read);
  CHECK(write_plan(*read) == bytes);
  CHECK(read->decl.params[0].default_value == Value(-0.5));
  CHECK(read->decl.params[1].default_value ==
        Value({-1, std::numeric_limits<std::int64_t>::min()}));
  CHECK(read->decl.params[2].default_value == sample().decl.params[2].default_value);
  CHECK(read->decl.inputs[0].dtypes == DTypeSet{DType::kBool, DType::kFloat4E2M1FNx2});
  CHECK(read->param_types[0].members[0].optional_items == std::vector<bool>{true, false});
  CHECK(read->pool.at(0).value == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("every cut and every changed byte is refused") {
  const std::string bytes = write_plan(sample());

  for (std::size_t i = 0; i < bytes.size(); ++i) {
    CHECK_FALSE(read_plan(std::string_view(bytes).substr(0, i)));
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x41);
    CHECK_FALSE(read_plan(changed));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::signature
