// A third party's kernels for a device kind that another plugin owns: before, after and without the
// owner, and in every load order (abi.md R24, T9).
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/fake_control.hpp"
#include "support/fakes.hpp"
#include "support/test_env.hpp"
#include "tenon/tenon.hpp"

namespace tenon {
namespace {

using test::fake_path;

Runtime runtime_of(const std::vector<std::string>& paths, const test::TempDir& folder) {
  test::fake_control();  // the board, before the first fake is mapped
  RuntimeOptions options;
  options.plugin_paths = paths;
  options.standard_folders = false;
  options.environment = loader::Environment::of({});
  options.settings = {
      {"caches.directory", folder / "cache"}, {"plugins.probe", "never"}, {"prefer", "[alpha]"}};
  auto made = Runtime::create(options);
  if (!made) FAIL(made.error().to_string());
  return std::move(*made);
}

/// The kernel that added on the fake device; the error's text where none did.
std::string added_by(const Runtime& runtime) {
  const auto device = runtime.device("fake:0").get();
  if (!device) return device.error().to_string();
  Tensor here = Tensor::host(DType::kFloat32, {8}).value();
  for (int i = 0; i < 8; ++i) here.data<float>()[i] = static_cast<float>(i);
  DeviceTable& devices = runtime.engine().devices();
  const auto there = devices.to_device(here, *device);
  if (!there) return there.error().to_string();
  Op op = runtime.make("AddFwdOp").value();
  const auto out = op.call({{"self", *there}, {"other", *there}});
  if (!out) return out.error().to_string();
  const auto back = devices.to_device((*out)[0], here.device());
  if (!back) return back.error().to_string();
  for (int i = 0; i < 8; ++i) {
    if (back->data<float>()[i] != static_cast<float>(2 * i)) return "wrong values";
  }
  return op.last_call()->kernel();
}

/// As the snapshot has it: what is pending depends on what else is there.
PluginRecord record_of(const Runtime& runtime, const std::string& id) {
  const auto snapshot = runtime.snapshot();
  for (const PluginRecord& record : snapshot->plugins()) {
    if (record.id == id) return record;
  }
  FAIL("no record of " << id);
  return {};
}

std::string explained(const Runtime& runtime) {
  Op op = runtime.make("AddFwdOp").value();
  TensorSpec spec = Tensor::host(DType::kFloat32, {8}).value().spec();
  spec.device = runtime.device("fake:0").get().value();
  return op.explain(std::vector<NamedSpec>{{"self", spec}, {"other", spec}}).table();
}

}  // namespace

TEST_SUITE("loader/owners") {
  TEST_CASE(
      "kernels for another plugin's kind work where they are loaded before and after its owner") {
    for (const bool owner_first : {true, false}) {
      CAPTURE(owner_first);
      const test::TempDir folder;
      std::vector<std::string> paths{fake_path("fake"), fake_path("alpha"), TENON_CPU_PLUGIN};
      if (!owner_first) std::swap(paths[0], paths[1]);
      const Runtime runtime = runtime_of(paths, folder);
      CHECK(record_of(runtime, "alpha").state == PluginState::kActive);
      CHECK(record_of(runtime, "alpha").pending.empty());
      CHECK(added_by(runtime) == "alpha:fast");
    }
  }

  TEST_CASE(
      "without the owner they are pending, which is no error, and its coming later puts them to "
      "work") {
    const test::TempDir folder;
    Runtime runtime = runtime_of({fake_path("alpha"), TENON_CPU_PLUGIN}, folder);
    const PluginRecord alone = record_of(runtime, "alpha");
    CHECK(alone.state == PluginState::kActive);
    CHECK(alone.kernel_types == 2);
    REQUIRE_FALSE(alone.pending.empty());
    CHECK(alone.pending[0].find("fake") != std::string::npos);
    CHECK(added_by(runtime).find("no plugin owns device kind 'fake'") != std::string::npos);

    REQUIRE(runtime.load_plugin(fake_path("fake")));

    CHECK(added_by(runtime) == "alpha:fast");
    CHECK(record_of(runtime, "alpha").pending.empty());
  }

  TEST_CASE("two vendors and the owner explain a call the same in every load order") {
    const test::TempDir folder;
    std::vector<std::string> paths{
        fake_path("fake"), fake_path("alpha"), fake_path("beta"), TENON_CPU_PLUGIN};
    std::sort(paths.begin(), paths.end());
    std::string first;
    do {
      const Runtime runtime = runtime_of(paths, folder);
      const std::string table = explained(runtime);
      if (first.empty()) first = table;
      CHECK(table == first);
    } while (std::next_permutation(paths.begin(), paths.end()));
    CHECK(first.find("alpha:fast") != std::string::npos);
    CHECK(first.find("beta:rows") != std::string::npos);
  }
}

}  // namespace tenon
