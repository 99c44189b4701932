// Shutdown and static plugins, in an executable of their own: both change the process for good.
#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "loader/fakes.hpp"
#include "support/test_env.hpp"
#include "tenon/tenon.hpp"

namespace tenon {
namespace {

const tenon_host* the_host = nullptr;
int shutdowns = 0;

tenon_status init(const tenon_host* host, void** self, tenon_reason*) {
  the_host = host;
  *self = &the_host;
  return TENON_OK;
}
tenon_status enumerate(void* self, const tenon_registrar*, tenon_reason*) {
  return self == &the_host ? TENON_OK : TENON_INTERNAL;
}
void stop(void*) { ++shutdowns; }

tenon_str str(const char* text) { return {text, std::char_traits<char>::length(text)}; }

const tenon_plugin& linked_plugin() {
  static const tenon_plugin plugin = [] {
    tenon_plugin out{};
    out.struct_size = sizeof out;
    out.abi_major = TENON_ABI_MAJOR;
    out.abi_minor = TENON_ABI_MINOR;
    out.min_host_minor = TENON_ABI_MINOR;
    out.id = str("linked");
    out.version = str("2.0");
    out.init = init;
    out.enumerate = enumerate;
    out.shutdown = stop;
    return out;
  }();
  return plugin;
}

TEST_CASE(
    "D85 D89 shutdown ends every plugin once, static ones too, and one that throws stops no "
    "other") {
  const test::TempDir folder;
  std::vector<std::string> lines;
  RuntimeOptions options;
  // Ended in reverse order: the one that throws is the first.
  options.plugin_paths = {test::fake("good", "acme"), test::fake("throws_late", "thrower")};
  options.standard_folders = false;
  options.environment = loader::Environment::of({});
  options.settings = {{"caches.directory", folder / "cache"}};
  options.log = [&](int, std::string_view, std::string_view text) { lines.emplace_back(text); };
  CHECK_FALSE(register_static(nullptr));
  REQUIRE(register_static(&linked_plugin()));
  REQUIRE(register_static(&linked_plugin()));

  auto runtime = Runtime::create(options);
  REQUIRE_MESSAGE(runtime, runtime.error().to_string());
  REQUIRE(runtime->plugins().size() == 3);
  CHECK(runtime->plugins()[0].id == "linked");
  CHECK(runtime->plugins()[0].path == "static");
  CHECK(runtime->plugins()[0].state == PluginState::kActive);

  // The services work until the end ...
  void* memory = the_host->alloc(the_host, 100, 64);
  REQUIRE(memory != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
  CHECK(the_host->alloc(the_host, 100, 48) == nullptr);  // no power of two
  tenon_value value{};
  CHECK(the_host->option(the_host, str("none"), &value) == TENON_NOT_FOUND);
  CHECK(the_host->cache_put(the_host, str("k"), "abc", 3) == TENON_OK);
  char bytes[2] = {'?', '?'};
  std::uint64_t size = 0;
  CHECK(the_host->cache_get(the_host, str("k"), bytes, sizeof bytes, &size) == TENON_OK);
  CHECK(size == 3);
  CHECK(bytes[0] == '?');  // too small: nothing is written, the size says how much to ask for
  CHECK(the_host->extension(the_host, str("x"), 1) == nullptr);

  shutdown();
  shutdown();

  // ... and say so afterwards.
  CHECK(shutdowns == 1);
  std::size_t told = 0;
  for (const std::string& line : lines) told += line == "shutdown of acme" ? 1 : 0;
  CHECK(told == 1);
  CHECK(std::count(lines.begin(),
                   lines.end(),
                   "shutdown of plugin 'thrower' failed: it threw an exception: no way out") == 1);
  CHECK(is_shut_down());
  CHECK(the_host->option(the_host, str("none"), &value) == TENON_SHUT_DOWN);
  CHECK(the_host->cache_get(the_host, str("k"), nullptr, 0, &size) == TENON_SHUT_DOWN);
  CHECK(the_host->alloc(the_host, 1, 8) == nullptr);
  const std::size_t before = lines.size();
  the_host->log(the_host, TENON_LOG_WARN, str("too late"));
  CHECK(lines.size() == before);
  the_host->dealloc(the_host, memory, 100, 64);
  const auto late = Runtime::create(options);
  REQUIRE_FALSE(late);
  CHECK(late.error().code() == ErrorCode::kShutDown);
  CHECK(runtime->make("AddFwdOp").error().code() == ErrorCode::kShutDown);
}

}  // namespace
}  // namespace tenon
