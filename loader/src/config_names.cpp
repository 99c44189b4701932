// Looks up every name that the configuration and the environment hold.
#include "config_names.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "config_keys.hpp"
#include "tenon/core/nearest.hpp"
#include "tenon/plugin.h"

namespace tenon::loader {
namespace {

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// "x is not there" and the nearest names, or those that are there.
std::string with_hint(std::string text,
                      std::string_view wrong,
                      const std::vector<std::string>& names) {
  if (const std::string near = did_you_mean(wrong, names); !near.empty()) return text + "; " + near;
  constexpr std::size_t kFew = 8;
  if (!names.empty() && names.size() <= kFew)
    text += fmt::format("; there are: {}", fmt::join(names, ", "));
  return text;
}

/// One look through the settings.
class NameCheck {
 public:
  NameCheck(const Config& config,
            const Snapshot& snapshot,
            const std::vector<PluginRecord>& plugins)
      : config_(config), snapshot_(snapshot), plugins_(plugins) {
    for (const PluginRecord& plugin : plugins) {
      if (!plugin.id.empty() && !has(ids_, plugin.id)) ids_.push_back(plugin.id);
    }
    for (const DeviceKind kind : snapshot.kinds()) kinds_.emplace_back(kind.name());
  }

  std::vector<LogLine> run() {
    plugin_ids(config_.get("prefer"));
    plugin_patterns(config_.get("plugins.enable"));
    plugin_patterns(config_.get("plugins.disable"));
    for (const ConfigSetting* setting : config_.under("plugins.options.")) {
      plugin_id(split_key(setting->key)[2], *setting);
    }
    for (const ConfigSetting* setting : config_.under("devices.visible.")) {
      device_kind(split_key(setting->key)[2], *setting);
    }
    if (const std::string device = config_.text("devices.default"); !device.empty()) {
      device_kind(device.substr(0, device.find(':')), config_.get("devices.default"));
    }
    for (const ConfigSetting* setting : config_.under("ops.")) setting_of_op(*setting);
    return std::move(lines_);
  }

 private:
  void warn(const ConfigSetting& setting, const std::string& text) {
    lines_.push_back(
        {TENON_LOG_WARN, fmt::format("{} ({}): {}", setting.key, setting.from(), text)});
  }

  void plugin_id(const std::string& id, const ConfigSetting& setting) {
    if (has(ids_, id)) return;
    warn(setting, with_hint(fmt::format("no plugin '{}' was found", id), id, ids_));
  }
  void plugin_ids(const ConfigSetting& setting) {
    for (const std::string& id : config_.texts(setting.key)) plugin_id(id, setting);
  }
  /// Globs may be meant for plugins that other machines have; an id names one plugin.
  void plugin_patterns(const ConfigSetting& setting) {
    for (const std::string& pattern : config_.texts(setting.key)) {
      if (pattern.find_first_of("*?[") == std::string::npos) plugin_id(pattern, setting);
    }
  }

  void device_kind(const std::string& kind, const ConfigSetting& setting) {
    if (has(kinds_, kind)) return;
    warn(setting,
         with_hint(fmt::format("no plugin in use owns a device kind '{}'", kind), kind, kinds_));
  }

  void setting_of_op(const ConfigSetting& setting) {
    const std::vector<std::string> segments = split_key(setting.key);  // ops, <Op>, what, ...
    const auto found = snapshot_.op(segments[1]);
    if (!found) return warn(setting, found.error().to_string());
    const OpClass& op = **found;
    if (segments[2] == "prefer") plugin_ids(setting);
    if (segments[2] == "target") target(config_.text(setting.key), setting);
    if (segments[2] == "kernel") {
      kernel_of_interface(op, segments[3], config_.text(setting.key), setting);
    }
    if (segments[2] == "disable") {
      std::vector<std::string> keys;
      for (const InterfaceTable& table : op.interfaces) add_keys(table, keys);
      for (const std::string& key : config_.texts(setting.key)) {
        kernel(key, keys, fmt::format("op {}", segments[1]), setting);
      }
    }
  }

  void target(const std::string& text, const ConfigSetting& setting) {
    const std::string name = text.substr(0, text.find(':'));
    const std::vector<std::string> names = snapshot_.target_names();
    if (!has(names, name))
      warn(setting, with_hint(fmt::format("there is no target '{}'", name), name, names));
  }

  static void add_keys(const InterfaceTable& table, std::vector<std::string>& keys) {
    for (const auto& type : table.types) keys.push_back(type->qualified);
  }

  void kernel_of_interface(const OpClass& op,
                           const std::string& interface,
                           const std::string& key,
                           const ConfigSetting& setting) {
    const OpDecl& decl = op.plan->decl();
    std::vector<std::string> names;
    for (std::size_t i = 0; i < decl.interfaces.size(); ++i) {
      names.push_back(decl.interfaces[i].name);
      if (decl.interfaces[i].name != interface) continue;
      std::vector<std::string> keys;
      add_keys(op.interfaces[i], keys);
      return kernel(key, keys, fmt::format("interface {}", interface), setting);
    }
    warn(setting,
         with_hint(
             fmt::format("op {} has no interface '{}'", decl.name, interface), interface, names));
  }

  void kernel(const std::string& key,
              const std::vector<std::string>& keys,
              const std::string& of,
              const ConfigSetting& setting) {
    if (has(keys, key)) return;
    const std::string text = fmt::format("{} has no kernel '{}'", of, key);
    const std::string state =
        why_not_active(plugins_, std::string_view(key).substr(0, key.find(':')));
    warn(setting, state.empty() ? with_hint(text, key, keys) : text + "; " + state);
  }

  const Config& config_;
  const Snapshot& snapshot_;
  const std::vector<PluginRecord>& plugins_;
  std::vector<std::string> ids_;
  std::vector<std::string> kinds_;
  std::vector<LogLine> lines_;
};

}  // namespace

void add_unknown_variables(const Environment& environment, std::vector<LogLine>& lines) {
  if (environment.secure()) return;  // none counts
  // The last one belongs to the tests; a developer's shell may have it.
  std::vector<std::string> known{
      "TENON_CONFIG", "TENON_PLUGIN_PATH", "TENON_PLUGIN_PATH_ADD", "TENON_SHARED_DATA"};
  for (const KeySpec& spec : key_table()) {
    if (spec.has_variable()) known.push_back(variable_of(spec.pattern));
  }
  for (const std::string& name : environment.names()) {
    if (has(known, name) || !environment.get(name)) continue;
    const auto keys = key_table();
    const auto list = std::find_if(keys.begin(), keys.end(), [&](const KeySpec& spec) {
      return !spec.has_names() && variable_of(spec.pattern) == name;
    });
    const std::string why =
        list == keys.end()
            ? with_hint("there is no such variable", name, known)
            : fmt::format("{} is a list and has none; set it in tenon.yaml", list->pattern);
    lines.push_back({TENON_LOG_WARN, fmt::format("{} has no effect: {}", name, why)});
  }
}

void add_missing_places(const Config& config, std::vector<LogLine>& lines) {
  const ConfigSetting& setting = config.get("plugins.paths");
  for (const std::string& path : config.texts(setting.key)) {
    std::error_code error;
    if (std::filesystem::exists(path, error) || error) continue;
    lines.push_back(
        {TENON_LOG_WARN,
         fmt::format(
             "{} ({}): there is no file or folder '{}'", setting.key, setting.from(), path)});
  }
}

std::vector<LogLine> unknown_names(const Config& config,
                                   const Snapshot& snapshot,
                                   const std::vector<PluginRecord>& plugins) {
  return NameCheck(config, snapshot, plugins).run();
}

}  // namespace tenon::loader
