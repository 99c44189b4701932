// A Runtime on given plugins, with a cache folder of its own and its log kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/test_env.hpp"
#include "tenon/tenon.hpp"

namespace tenon::test {

/// What a Runtime is made from, and what it has logged, each line as "component: text".
class RuntimeFixture {
 public:
  explicit RuntimeFixture(std::vector<std::string> plugins) {
    options.plugin_paths = std::move(plugins);
    options.standard_folders = false;
    options.environment = loader::Environment::of({});
    options.settings = {{"caches.directory", folder / "cache"}};
    options.log = [this](int level, std::string_view component, std::string_view text) {
      const std::lock_guard lock(mutex);
      lines.push_back({level, std::string(component) + ": " + std::string(text)});
    };
  }
  void set(const std::string& key, const std::string& value) {
    options.settings.emplace_back(key, value);
  }
  Result<Runtime> try_make() { return Runtime::create(options); }
  /// One that must come.
  Runtime make() {
    auto made = try_make();
    if (!made) FAIL(made.error().to_string());
    return std::move(*made);
  }
  /// Lines that have `part`, of one level or any.
  [[nodiscard]] std::size_t count(const std::string& part, int level = -1) {
    const std::lock_guard lock(mutex);
    return static_cast<std::size_t>(
        std::count_if(lines.begin(), lines.end(), [&](const loader::LogLine& line) {
          return (level < 0 || line.level == level) && has(line.text, part);
        }));
  }

  TempDir folder;
  RuntimeOptions options;
  std::mutex mutex;
  std::vector<loader::LogLine> lines;
};

}  // namespace tenon::test
