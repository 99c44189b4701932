// A runtime opened by the options of the command line.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "console.hpp"
#include "tenon/core/engine.hpp"
#include "tenon/core/error.hpp"
#include "tenon/loader/config.hpp"
#include "view_plugins.hpp"

namespace tenon::cli {

/// Registry, devices and account of plugins of one run of the command.
class Session {
 public:
  /// Reads the configuration, finds and loads plugins, reads manifests. Log lines go to stderr.
  /// @errors whatever the runtime reports: ConfigInvalid, ManifestInvalid, PluginRejected,
  /// UnknownTarget; UsageError: a path of --manifest where nothing is.
  static Result<Session> open(const Arguments& arguments, Console& console);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  [[nodiscard]] const loader::Config& config() const;
  [[nodiscard]] Engine& engine() const;
  [[nodiscard]] std::shared_ptr<const Snapshot> snapshot() const;
  /// Every place that was looked in for plugins.
  [[nodiscard]] std::vector<SearchedPlace> searched() const;
  /// Goes back to the folder that the command was started in: a plugin may have left it, and the
  /// paths of the command line are meant from there.
  void back_to_folder() const;

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The sources of the configuration that the command line names.
/// @errors UsageError: --set-config without '='.
[[nodiscard]] Result<loader::ConfigSources> config_sources(const Arguments& arguments);

}  // namespace tenon::cli
