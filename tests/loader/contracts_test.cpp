// A plugin that was built against an older contract, in a host whose manifest has moved on (abi.md
// R23).
#include <string>

#include <doctest/doctest.h>

#include "support/test_env.hpp"
#include "tenon/tenon.hpp"

namespace tenon {
namespace {

Runtime runtime_of(const std::string& version, const test::TempDir& folder) {
  RuntimeOptions options;
  options.plugin_paths = {TENON_BLEND_PLUGIN, TENON_CPU_PLUGIN};
  options.manifest_paths = {std::string(TENON_CONTRACTS) + "/" + version};
  options.standard_folders = false;
  options.environment = loader::Environment::of({});
  options.settings = {{"caches.directory", folder / "cache"}};
  auto made = Runtime::create(options);
  if (!made) FAIL(made.error().to_string());
  return std::move(*made);
}

Tensor of(DType dtype, float value = 3) {
  Tensor made = Tensor::host(dtype, {2, 2}).value();
  for (int i = 0; i < 4; ++i) {
    if (dtype == DType::kFloat32) made.data<float>()[i] = value;
    if (dtype == DType::kFloat64) made.data<double>()[i] = static_cast<double>(value);
  }
  return made;
}

/// A call of dtypes and modes that the plugin knows is served by it, with the right value.
void check_old_calls(const Runtime& runtime) {
  Op plain = runtime.make("BlendFwdOp").value();
  const auto out = plain.call({{"x", of(DType::kFloat32)}, {"y", of(DType::kFloat32, 4)}});
  if (!out) FAIL(out.error().to_string());
  CHECK((*out)[0].data<float>()[3] == 7.0f);
  CHECK(plain.last_call()->kernel() == "blend:old");
  Op halved = runtime.make("BlendFwdOp", {{"mode", "halved"}}).value();
  const auto half = halved.call({{"x", of(DType::kFloat64)}, {"y", of(DType::kFloat64, 4)}});
  if (!half) FAIL(half.error().to_string());
  CHECK((*half)[0].data<double>()[3] == 3.5);
}

/// The call is refused on the plugin's behalf, by the name of what it uses, in the error and in
/// explain.
void check_newer(Op op, const std::vector<NamedTensor>& tensors, const std::string& name) {
  CAPTURE(name);
  const auto out = op.call(tensors);
  REQUIRE_FALSE(out);
  CHECK(out.error().code() == ErrorCode::kNoImplementation);
  CHECK(out.error().message().find(name) != std::string::npos);
  std::vector<NamedSpec> specs;
  for (const auto& each : tensors) specs.push_back({each.name, each.tensor.spec()});
  const std::string table = op.explain(specs).table();
  CAPTURE(table);
  CHECK(table.find("blend:old") != std::string::npos);
  CHECK(table.find(name) != std::string::npos);
}

}  // namespace

TEST_SUITE("loader/contracts") {
  TEST_CASE("a plugin serves the contract that it was built against") {
    const test::TempDir folder;
    check_old_calls(runtime_of("v1", folder));
  }

  TEST_CASE(
      "after the manifest gained a dtype, a mode, a parameter and an input, the plugin loads and "
      "serves as before") {
    const test::TempDir folder;
    const Runtime runtime = runtime_of("v2", folder);
    REQUIRE(runtime.plugins().size() == 2);
    const PluginRecord& record = runtime.plugins()[0];
    REQUIRE_MESSAGE(record.state == PluginState::kActive, record.reason);
    CHECK(record.kernel_types == 1);
    CHECK(record.rejected_rows.empty());
    check_old_calls(runtime);
  }

  TEST_CASE("it is passed over by name only where a call uses what is new") {
    const test::TempDir folder;
    const Runtime runtime = runtime_of("v2", folder);
    const std::vector<NamedTensor> both{{"x", of(DType::kFloat32)}, {"y", of(DType::kFloat32)}};
    check_newer(runtime.make("BlendFwdOp").value(),
                {{"x", of(DType::kFloat16)}, {"y", of(DType::kFloat16)}},
                "float16");
    check_newer(
        runtime.make("BlendFwdOp").value(),
        {{"x", of(DType::kFloat32)}, {"y", of(DType::kFloat32)}, {"mask", of(DType::kFloat32)}},
        "mask");
    check_newer(runtime.make("BlendFwdOp", {{"mode", "doubled"}}).value(), both, "doubled");
    check_newer(runtime.make("BlendFwdOp", {{"bias", 0.5}}).value(), both, "bias");
    check_old_calls(runtime);
  }

  TEST_CASE(
      "a manifest without something that the plugin lists drops its row by that name, and the "
      "plugin loads") {
    const test::TempDir folder;
    const Runtime runtime = runtime_of("gone", folder);
    const PluginRecord& record = runtime.plugins()[0];
    CHECK_MESSAGE(record.state == PluginState::kActive, record.reason);
    REQUIRE(record.rejected_rows.size() == 1);
    CHECK(record.rejected_rows[0].key == "old");
    CHECK(record.rejected_rows[0].code == TENON_INCOMPATIBLE);
    CHECK(record.rejected_rows[0].reason.find("mode") != std::string::npos);
  }
}

}  // namespace tenon
