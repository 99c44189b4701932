// The way of found files into one Runtime's registry, and the account that is kept of each.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "probe_gate.hpp"
#include "tenon/core/engine.hpp"
#include "tenon/core/plugin_record.hpp"
#include "tenon/loader/config.hpp"
#include "tenon/loader/discovery.hpp"
#include "tenon/loader/plugin_library.hpp"

namespace tenon::loader {

/// Takes plugins one by one: load, options, start, rows, commit. What one does never changes
/// another's result. [load-thread]
class PluginIntake {
 public:
  /// The gate is passed by every file, and by the devices of its plugin.
  PluginIntake(std::shared_ptr<Engine> engine,
               const Config& config,
               std::shared_ptr<ProbeGate> gate);

  /// Static plugins first, then the files in their order.
  /// @errors ConfigInvalid: an option that a plugin does not have. Anything else is in the records.
  Result<void> take_all(std::vector<FoundFile> files);
  /// One more file at run time. @errors what its record says, ConfigInvalid.
  Result<void> take_one(FoundFile file);
  /// @errors UsageError: no active plugin of that id.
  Result<void> disable(std::string_view id, std::string_view by);
  /// @errors PluginRejected with the reason of the first plugin of plugins.required that is not
  /// active.
  [[nodiscard]] Result<void> check_required() const;

  [[nodiscard]] const std::vector<PluginRecord>& records() const { return records_; }

 private:
  Result<void> take_file(FoundFile& file);
  Result<void> take_loaded(LoadedPlugin& plugin, PluginRecord& record);
  void reject(PluginRecord& record, PluginFault fault) const;
  void report(const PluginRecord& record) const;
  /// The rows that were dropped: each by itself, or many in one line.
  void report_rows(const PluginRecord& record) const;
  [[nodiscard]] std::vector<OptionSetting> options_of(std::string_view id) const;
  /// Under plugins.strict: the first rule of tenon-plugin-lint that the file fails, alone or beside
  /// those that are active.
  [[nodiscard]] FileResult<void> check_strictly(const FoundFile& file) const;

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<ProbeGate> gate_;
  std::vector<PluginRecord> records_;
  std::vector<OptionSetting> options_;  ///< "<plugin>.<name>"
  std::vector<std::string> required_;
  std::string required_from_;
  std::string target_;
  std::string cache_directory_;
  bool strict_ = false;
};

}  // namespace tenon::loader
