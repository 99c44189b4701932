// The configuration: every key with its kind, its layers, and where each effective value came from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/engine.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/value.hpp"
#include "tenon/loader/discovery.hpp"
#include "tenon/loader/environment.hpp"

namespace tenon::loader {

/// The layer that a value came from; a later one overrides an earlier one.
enum class Origin : std::uint8_t { kDefault, kFile, kEnvironment, kCommandLine, kApi };
/// "default", "file", "environment", "command line", "api".
[[nodiscard]] std::string_view name_of(Origin origin) noexcept;

/// The effective value of one key.
struct ConfigSetting {
  std::string key;  ///< "selection.reference", "ops.RMSNormFwdOp.target"
  Value value;      ///< none where nothing is set and there is no default
  Origin origin = Origin::kDefault;
  std::string path;  ///< of the file, where that is the origin
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string variable;  ///< of the environment, where that is the origin

  /// "default", "/etc/tenon/tenon.yaml:3", "TENON_TARGET", "command line", "api".
  [[nodiscard]] std::string from() const;
  /// The same with the column, for errors.
  [[nodiscard]] std::string where() const;
};

/// What the caller says about the configuration.
struct ConfigSources {
  std::optional<std::string> file;  ///< by API or --config; must exist
  bool is_command = false;          ///< the `tenon` command, which also looks for ./tenon.yaml
  bool trust_config = false;        ///< take plugins.paths of ./tenon.yaml too
  std::vector<std::pair<std::string, std::string>> settings;  ///< key and value as text
  Origin settings_from = Origin::kApi;
  std::string system_folder = "/etc/tenon";
};

/// Layers of settings, checked against the one table of keys.
class Config {
 public:
  /// Reads the file that is found first, then the variables, then `sources.settings`.
  /// @errors ConfigInvalid with file:line:column (or the variable) and a suggestion: unknown key,
  /// wrong kind of value, duplicate key, no YAML; UsageError: the named file cannot be read.
  static Result<Config> load(const ConfigSources& sources, const Environment& environment);

  /// The file in use, if any.
  [[nodiscard]] const std::optional<std::string>& file() const { return file_; }
  /// The places where a file was looked for, in order; the first that was found is in use.
  [[nodiscard]] const std::vector<SearchPlace>& looked_at() const { return looked_at_; }
  /// What the user should know: a file taken from the working folder, settings ignored.
  [[nodiscard]] const std::vector<LogLine>& log() const { return log_; }

  /// The effective setting of a key without placeholders. @pre the key is in the table.
  [[nodiscard]] const ConfigSetting& get(std::string_view key) const;
  [[nodiscard]] std::string text(std::string_view key) const;  ///< empty where none
  [[nodiscard]] bool flag(std::string_view key) const;
  [[nodiscard]] std::int64_t number(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
  /// Every setting whose key begins with `prefix` ("plugins.options.acme."), in order of keys.
  [[nodiscard]] std::vector<const ConfigSetting*> under(std::string_view prefix) const;
  /// Every effective setting: the table's keys first, then those with names in them that were set.
  [[nodiscard]] const std::vector<ConfigSetting>& settings() const { return settings_; }

  /// {"schema": 1, "settings": [{key, value, from, path, line, variable}]}
  [[nodiscard]] std::string to_json() const;

 private:
  friend class ConfigLoader;
  ConfigSetting* find(std::string_view key);
  std::optional<std::string> file_;
  std::vector<SearchPlace> looked_at_;
  std::vector<LogLine> log_;
  std::vector<ConfigSetting> settings_;
};

/// The part of a configuration that the engine reads.
[[nodiscard]] EngineOptions engine_options(const Config& config);

/// TENON_LOG_* of `log.level`.
[[nodiscard]] int log_level(const Config& config);

/// The variable of a scalar key: "TENON_SELECTION_REFERENCE".
[[nodiscard]] std::string variable_of(std::string_view key);

}  // namespace tenon::loader
