// The manifest that the build compiled is the one that reading its YAML gives.
#include "tenon/manifest/compiled.hpp"

#include "plan_support.hpp"
#include "tenon/core/signature/archive.hpp"

namespace tenon::manifest::test {
namespace {

TEST_SUITE_BEGIN("manifest/compiled");

TEST_CASE("compiled plans equal the interpreted ones, entry by entry and byte by byte") {
  LoadedSet loaded = load_shipped();
  const auto compiled = compiled_manifest();

  REQUIRE(compiled.size() == loaded.set.entries.size());

  for (std::size_t i = 0; i < compiled.size(); ++i) {
    const auto data = compile_data(loaded.set.entries[i], loaded.set.adts, loaded.diagnostics);
    REQUIRE(data);
    CHECK(compiled[i].name == data->decl.name);
    CHECK(compiled[i].bytes == signature::write_plan(*data));
  }
}

TEST_CASE("a compiled plan infers like an interpreted one") {
  const auto plans = load_compiled();
  REQUIRE(plans);
  for (const auto& plan : *plans) {
    if (plan->decl().name != "MatMulFwdOp") continue;
    Call call(plan);
    call.set("a", DType::kFloat32, {4, 1, 33, 65}).set("b", DType::kFloat32, {3, 65, 17});
    REQUIRE(call.check());
    CHECK(call.output() == "float32[4, 3, 33, 17]");
    call.set("b", DType::kFloat32, {3, 64, 17});
    CHECK(call.why().where().find("matmul.yaml:") != std::string::npos);
    return;
  }
  FAIL("no MatMulFwdOp in the compiled manifest");
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::manifest::test
