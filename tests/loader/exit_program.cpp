// A program that loads a plugin and ends in the way that its argument says; CTest runs it.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "loader/fakes.hpp"
#include "tenon/host.h"
#include "tenon/tenon.hpp"

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  tenon::RuntimeOptions options;
  options.plugin_paths = {tenon::test::fake("late", "late")};
  options.standard_folders = false;
  options.environment = tenon::loader::Environment::of({});
  int shutdowns = 0;
  options.log = [&](int, std::string_view, std::string_view text) {
    if (text == "shutdown of late") ++shutdowns;
  };
  auto runtime = tenon::Runtime::create(options);
  if (!runtime || runtime->plugins().front().state != tenon::PluginState::kActive) return 30;
  if (how == "exit") {
    static tenon::Runtime kept = std::move(*runtime);  // destroyed by exit()
    std::exit(0);
  }
  if (how == "shutdown") {
    tenon_shutdown();
    tenon_shutdown();
    if (shutdowns != 1) return 31;
  }
  return how == "shutdown" || shutdowns == 0 ? 0 : 32;
}
