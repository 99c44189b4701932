// A plugin linked into the program by tenon_add_plugin(... STATIC), registered and ended from C.
#include <string>

#include <doctest/doctest.h>

#include "loader/fakes.hpp"
#include "support/test_env.hpp"
#include "tenon/host.h"
#include "tenon/tenon.hpp"

extern "C" {
extern const tenon_plugin tenon_plugin_v0_linked_in;
tenon_status register_from_c(const tenon_plugin* plugin);
void shutdown_from_c(void);
}

namespace tenon {
namespace {

TEST_CASE(
    "D85 a plugin linked in is registered from C, needs no file or probe, and is ended once") {
  const test::TempDir folder;
  std::vector<std::string> lines;
  RuntimeOptions options;
  // The same id as a file: the one that is linked in comes first.
  options.plugin_paths = {test::fake("linked_file", "linked-in")};
  options.standard_folders = false;
  options.environment = loader::Environment::of({});
  options.settings = {{"caches.directory", folder / "cache"}};
  options.log = [&](int, std::string_view, std::string_view text) { lines.emplace_back(text); };
  const auto count = [&](const std::string& part) {
    std::size_t found = 0;
    for (const std::string& line : lines) found += line.find(part) != std::string::npos ? 1 : 0;
    return found;
  };

  CHECK(register_from_c(nullptr) == TENON_INVALID_ARGUMENT);
  CHECK(register_from_c(&tenon_plugin_v0_linked_in) == TENON_OK);
  CHECK(register_from_c(&tenon_plugin_v0_linked_in) == TENON_OK);
  auto runtime = Runtime::create(options);
  REQUIRE_MESSAGE(runtime, runtime.error().to_string());

  REQUIRE(runtime->plugins().size() == 2);
  const PluginRecord& linked = runtime->plugins()[0];
  CHECK(linked.path == "static");
  CHECK(linked.id == "linked-in");
  CHECK(linked.state == PluginState::kActive);
  CHECK(linked.stage == PluginStage::kCommit);
  CHECK(runtime->device("linked:2").to_string() == "linked:2");
  CHECK(runtime->plugins()[1].state == PluginState::kShadowed);
  CHECK(runtime->plugins()[1].reason.find("(static)") != std::string::npos);
  CHECK(count("probe of") == 0);
  CHECK(count("init of linked-in") == 1);

  shutdown_from_c();
  shutdown_from_c();
  CHECK(count("shutdown of linked-in") == 1);
  CHECK(register_from_c(&tenon_plugin_v0_linked_in) == TENON_SHUT_DOWN);
  CHECK(Runtime::create(options).error().code() == ErrorCode::kShutDown);
}

}  // namespace
}  // namespace tenon
