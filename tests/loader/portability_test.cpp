// Plugins of other compilers and other standard libraries, side by side in one process.
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "portable/portable_plugins.hpp"
#include "support/test_env.hpp"
#include "tenon/tenon.hpp"

namespace tenon {
namespace {

/// The parts of a list as CMake writes it.
std::vector<std::string> parts(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string each; std::getline(lines, each, ';');) found.push_back(each);
  return found;
}

Runtime runtime_of_all(const test::TempDir& folder) {
  RuntimeOptions options;
  for (const std::string& name : parts(TENON_PORTABLE_NAMES)) {
    options.plugin_paths.push_back(std::string(TENON_PORTABLE) + "/" + name + ".tenon.so");
  }
  options.plugin_paths.emplace_back(TENON_CPU_PLUGIN);
  options.standard_folders = false;
  options.environment = loader::Environment::of({});
  options.settings = {{"caches.directory", folder / "cache"}};
  auto made = Runtime::create(options);
  if (!made) FAIL(made.error().to_string());
  return std::move(*made);
}

/// a + alpha * b by this plugin's kernel; the error's text where there is none.
std::string failure_of_add(const Runtime& runtime, const std::string& plugin, double alpha) {
  InstanceOptions options;
  options.kernel_override = {{"add_fwd", plugin + ":add"}};
  auto op = runtime.make("AddFwdOp", {{"alpha", alpha}}, options);
  if (!op) return op.error().to_string();
  Tensor a = Tensor::host(DType::kFloat32, {2, 3}).value();
  Tensor b = Tensor::host(DType::kFloat32, {2, 3}).value();
  for (int i = 0; i < 6; ++i) {
    a.data<float>()[i] = static_cast<float>(i);
    b.data<float>()[i] = static_cast<float>(10 * i);
  }
  const auto out = op->call({{"self", a}, {"other", b}});
  if (!out) return out.error().to_string();
  for (int i = 0; i < 6; ++i) {
    const auto wanted = static_cast<float>(i + alpha * 10 * i);
    if ((*out)[0].data<float>()[i] != wanted) return "wrong value at " + std::to_string(i);
  }
  return op->last_call()->kernel() == plugin + ":add" ? "" : "another kernel ran";
}

}  // namespace

TEST_SUITE("loader/portability") {
  TEST_CASE(
      "D15 plugins of gcc, clang, libstdc++, its debug mode, a static one, libc++ and C compute "
      "side by side") {
    for (const std::string& reason : parts(TENON_PORTABLE_SKIPPED)) MESSAGE("skipped: " << reason);
    const std::vector<std::string> names = parts(TENON_PORTABLE_NAMES);
    if (names.empty()) return;
    const test::TempDir folder;
    const Runtime runtime = runtime_of_all(folder);
    REQUIRE(runtime.plugins().size() == names.size() + 1);
    for (const PluginRecord& record : runtime.plugins()) {
      CAPTURE(record.path);
      CHECK_MESSAGE(record.state == PluginState::kActive, record.reason);
    }
    for (const std::string& name : names) {
      CAPTURE(name);
      CHECK(failure_of_add(runtime, name, 2.0) == "");
    }
  }

  TEST_CASE("D15 an exception of each C++ plugin stays inside it and becomes the build's error") {
    const test::TempDir folder;
    const Runtime runtime = runtime_of_all(folder);
    for (const std::string& name : parts(TENON_PORTABLE_NAMES)) {
      if (name == "golden") continue;  // the one in C throws nothing
      CAPTURE(name);
      const std::string failure = failure_of_add(runtime, name, 13.0);
      CHECK(failure.find("BuildFailed") != std::string::npos);
      CHECK(failure.find("thirteen is not served by " + name) != std::string::npos);
      CHECK(failure_of_add(runtime, name, 3.0) == "");
    }
  }

  TEST_CASE("D15 they compute from several threads at once") {
    const test::TempDir folder;
    const Runtime runtime = runtime_of_all(folder);
    const std::vector<std::string> names = parts(TENON_PORTABLE_NAMES);
    std::vector<std::string> failures(names.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < names.size(); ++i) {
      threads.emplace_back([&, i] {
        for (int round = 0; round < 50 && failures[i].empty(); ++round) {
          failures[i] = failure_of_add(runtime, names[i], round % 7 + 20);
        }
      });
    }
    for (std::thread& each : threads) each.join();
    for (const std::string& failure : failures) CHECK(failure == "");
  }
}

}  // namespace tenon
