// The one header for applications: tenon::Runtime, which brings configuration, manifest and plugins
// together, and everything that it hands out.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/engine.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/op.hpp"
#include "tenon/core/registry.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/loader/config.hpp"
#include "tenon/loader/discovery.hpp"
#include "tenon/loader/environment.hpp"
#include "tenon/loader/npy.hpp"
#include "tenon/loader/op_table.hpp"
#include "tenon/loader/plugin_library.hpp"

namespace tenon {

/// What a Runtime is made from, beside the environment. The defaults are what from_environment()
/// uses.
struct RuntimeOptions {
  std::optional<std::string> config_file;  ///< else TENON_CONFIG, the user's, the system's
  std::vector<std::string> plugin_paths;   ///< files and folders, before all other places
  std::vector<std::pair<std::string, std::string>> settings;  ///< configuration keys and values
  std::vector<std::string> manifest_paths;                    ///< instead of the shipped manifest
  /// Receives every line, or those up to `log.level` where that is set; else `log.file`, else
  /// nothing. Of the command it is the terminal: it gets lines up to `log.level` unless `log.file`
  /// takes them, and always what the configuration has to say about itself.
  LogSink log;
  loader::Environment environment = loader::Environment::system();

  bool is_command =
      false;  ///< the `tenon` command: settings come from the command line, ./tenon.yaml
  bool trust_config = false;     ///< take plugins.paths of ./tenon.yaml
  bool verbose = false;          ///< the command: log information, too, whatever `log.level` says
  bool standard_folders = true;  ///< look in the user's, the system's and the core's folders, too
  /// The executable that tries plugins in a child process; empty: none. Else the installation's.
  std::optional<std::string> probe_helper;
  std::chrono::milliseconds probe_timeout{30000};  ///< after which a probe counts as a hang
  std::size_t op_table_entries = 256;  ///< instances that the functions of tenon/ops.hpp share
};

/// A device together with the Runtime that it belongs to. Any-thread; keeps the Runtime's engine.
class RuntimeDevice {
 public:
  RuntimeDevice(std::shared_ptr<Engine> engine, Result<Device> device)
      : engine_(std::move(engine)), device_(std::move(device)) {}

  /// The device. @errors DeviceError, ConfigInvalid or UnknownTarget: why there is none.
  [[nodiscard]] const Result<Device>& get() const { return device_; }
  [[nodiscard]] const std::shared_ptr<Engine>& engine() const { return engine_; }
  /// "cpu:0"; the error's text where there is no device.
  [[nodiscard]] std::string to_string() const;

 private:
  std::shared_ptr<Engine> engine_;
  Result<Device> device_;
};

/// Loads a .npy file to a device of a Runtime. `as`: see load_npy(file, as).
[[nodiscard]] Result<Tensor> load_npy(const std::filesystem::path& file,
                                      const RuntimeDevice& device,
                                      std::optional<DType> as = std::nullopt);

/// Configuration, ops, plugins and devices of an application. Movable; several may live in one
/// process and share the plugins that are mapped into it. Threads: making, loading and disabling
/// from one thread at a time, everything else from any.
class Runtime {
 public:
  /// Reads tenon.yaml and the environment, finds and loads plugins, publishes the first snapshot.
  /// @errors ConfigInvalid, ManifestInvalid, PluginRejected for a required plugin, ShutDown.
  static Result<Runtime> from_environment() { return create({}); }
  /// The same, with explicit options. A plugin that fails is reported and skipped unless required.
  static Result<Runtime> create(const RuntimeOptions& options);

  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;
  ~Runtime();

  /// Makes an op by name. @errors OpNotFound, SignatureMismatch, UnknownTarget.
  Result<Op> make(std::string_view op,
                  std::span<const NamedValue> params = {},
                  const InstanceOptions& options = {}) const;
  Result<Op> make(std::string_view op,
                  std::initializer_list<NamedValue> params,
                  const InstanceOptions& options = {}) const {
    return make(op, std::span(params.begin(), params.size()), options);
  }

  [[nodiscard]] RuntimeDevice default_device() const;
  /// By name: "acme:1". Enumerates the kind's devices. @errors DeviceError in the result's get().
  [[nodiscard]] RuntimeDevice device(std::string_view name) const;
  /// Changes the process-wide choice of target. @errors UnknownTarget with the names there are.
  Result<void> set_default_target(std::string target) const;

  [[nodiscard]] Engine& engine() const;
  [[nodiscard]] const std::shared_ptr<Engine>& shared_engine() const;
  /// The instances that the functions of tenon/ops.hpp share. [any-thread]
  [[nodiscard]] OpTable& op_table() const;
  [[nodiscard]] std::shared_ptr<const Snapshot> snapshot() const;
  [[nodiscard]] const loader::Config& config() const;
  /// Every plugin file that was found, in order of precedence, with its state and reason.
  [[nodiscard]] const std::vector<PluginRecord>& plugins() const;
  /// Every place that was looked in, in order, and the setting that named it.
  [[nodiscard]] const std::vector<loader::SearchPlace>& plugins_searched() const;

  /// Loads one more plugin file and publishes a snapshot with it. Its record joins plugins().
  /// @errors PluginRejected with the stage and its reason, ConfigInvalid.
  Result<void> load_plugin(const std::string& path);
  /// Takes a plugin out of the next snapshot; its code stays mapped, existing ops keep working.
  /// @errors UsageError: no active plugin of that id (the nearest are named).
  Result<void> disable_plugin(std::string_view id);

 private:
  struct State;
  explicit Runtime(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tenon
