// One plugin of this process: its checked object, started once, enumerated once per Runtime.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "once_state.hpp"
#include "plugin_host.hpp"
#include "tenon/loader/plugin_library.hpp"

namespace tenon::loader {

class Plugin final : public LoadedPlugin {
 public:
  /// `build` keys its cache. `started` is told when its init has succeeded.
  Plugin(const tenon_plugin& table,
         std::string path,
         std::string build_id,
         std::string build,
         void (*started)(Plugin&));

  [[nodiscard]] const PluginInfo& info() const override { return info_; }
  [[nodiscard]] const tenon_plugin& table() const override { return table_; }
  [[nodiscard]] std::string_view manifest() const override;
  Result<void> set_options(const std::vector<OptionSetting>& settings,
                           std::vector<LogLine>& log) override;
  FileResult<void> start(const std::shared_ptr<Engine>& engine,
                         const std::string& cache_directory) override;
  FileResult<void> enumerate(const PluginTransaction& transaction) override;
  void shut_down();
  /// Its constructors changed the floating-point environment: told when there is a log.
  void changes_when_loaded() { changes_when_loaded_ = true; }
  /// Warns of a change of the floating-point environment that was put back; once.
  void warn_of_change(std::string_view when);

 private:
  FileResult<void> init();

  tenon_plugin table_;
  PluginInfo info_;
  PluginHost host_;
  std::string build_;
  void (*started_told_)(Plugin&);
  void* self_ = nullptr;
  bool changes_when_loaded_ = false;
  std::atomic<bool> warned_of_change_{false};
  std::mutex options_mutex_;
  std::optional<std::map<std::string, Value>> options_;
  OnceState<FileResult<void>> started_;
  TurnState enumerating_;
};

}  // namespace tenon::loader
