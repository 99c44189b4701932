// One bad plugin beside a good one in a Runtime: what became of the bad one, and that the good one
// computes.
#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/fakes.hpp"
#include "support/test_env.hpp"
#include "tenon/tenon.hpp"

namespace tenon::test {

/// What is expected of a bad plugin.
struct Expected {
  PluginState state = PluginState::kRejected;
  PluginStage stage = PluginStage::kValidate;
  tenon_status code = TENON_INVALID_ARGUMENT;
  std::string part;  ///< of the reason
};

/// The Runtime of these files and the CPU plugin, which owns the device kind of the good one.
inline Runtime runtime_of(std::vector<std::string> paths,
                          const TempDir& folder,
                          const std::string& probe = "auto") {
  RuntimeOptions options;
  paths.emplace_back(TENON_CPU_PLUGIN);
  options.plugin_paths = std::move(paths);
  options.standard_folders = false;
  options.environment = loader::Environment::of({});
  options.settings = {
      {"caches.directory", folder / "cache"}, {"prefer", "[alpha]"}, {"plugins.probe", probe}};
  auto made = Runtime::create(options);
  if (!made) FAIL(made.error().to_string());
  return std::move(*made);
}

/// An add on the CPU gives what it should, by this plugin's kernel.
inline void check_computes(const Runtime& runtime, const std::string& kernel) {
  auto op = runtime.make("AddFwdOp");
  if (!op) FAIL(op.error().to_string());
  Tensor a = Tensor::host(DType::kFloat32, {3}).value();
  for (int i = 0; i < 3; ++i) a.data<float>()[i] = static_cast<float>(i + 1);
  const auto out = op->call({{"self", a}, {"other", a}});
  if (!out) FAIL(out.error().to_string());
  for (int i = 0; i < 3; ++i) CHECK((*out)[0].data<float>()[i] == static_cast<float>(2 * (i + 1)));
  CHECK(op->last_call()->kernel() == kernel);
}

inline void check_record(const PluginRecord& record, const Expected& expected) {
  CAPTURE(record.reason);
  CHECK(name_of(record.state) == name_of(expected.state));
  CHECK(name_of(record.stage) == name_of(expected.stage));
  CHECK(status_name(record.code) == status_name(expected.code));
  CHECK(record.reason.find(expected.part) != std::string::npos);
}

/// The bad file is refused as expected, before and after the good one, which is active and
/// computes.
inline void check_beside_good(const std::string& path,
                              const Expected& expected,
                              const TempDir& folder) {
  const std::string good = fake_path("alpha-cpu");
  for (const bool bad_first : {true, false}) {
    const Runtime runtime =
        runtime_of(bad_first ? std::vector{path, good} : std::vector{good, path}, folder);
    REQUIRE(runtime.plugins().size() == 3);
    check_record(runtime.plugins()[bad_first ? 0 : 1], expected);
    CHECK(runtime.plugins()[bad_first ? 1 : 0].state == PluginState::kActive);
    check_computes(runtime, "alpha:fast");
  }
}

}  // namespace tenon::test
