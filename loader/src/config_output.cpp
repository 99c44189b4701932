// The configuration as JSON, and as what the engine reads of it.
#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "config_keys.hpp"
#include "tenon/loader/config.hpp"

namespace tenon::loader {
namespace {

nlohmann::ordered_json to_json_value(const Value& value) {
  if (const auto* flag = value.get_if<bool>()) return *flag;
  if (const auto* number = value.get_if<std::int64_t>()) return *number;
  if (const auto* real = value.get_if<double>()) return *real;
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (const auto* list = value.get_if<ValueList>()) {
    auto items = nlohmann::ordered_json::array();
    for (const Value& item : list->items) items.push_back(to_json_value(item));
    return items;
  }
  return value.is_none() ? nlohmann::ordered_json() : nlohmann::ordered_json(value.to_string());
}

std::string full_name(const std::string& op) {
  return op.find("::") == std::string::npos ? "tenon::" + op : op;
}

std::vector<std::string> texts_of(const Value& value) {
  std::vector<std::string> texts;
  if (const auto* list = value.get_if<ValueList>()) {
    for (const Value& item : list->items) {
      if (const auto* text = item.get_if<std::string>()) texts.push_back(*text);
    }
  }
  return texts;
}

std::string text_of(const Value& value) {
  const auto* text = value.get_if<std::string>();
  return text == nullptr ? std::string() : *text;
}

std::optional<Setting<std::string>> optional_text(const Config& config, std::string_view key) {
  const std::string text = config.text(key);
  if (text.empty()) return std::nullopt;
  return Setting<std::string>{text, config.get(key).from()};
}

void read_op(EngineOptions& options, const ConfigSetting& setting) {
  const auto segments = split_key(setting.key);  // ops, <Op>, what, ...
  OpOptions& op = options.ops[full_name(segments[1])];
  const std::string from = setting.from();
  if (segments[2] == "target") op.target = {text_of(setting.value), from};
  if (segments[2] == "prefer") op.prefer = {texts_of(setting.value), from};
  if (segments[2] == "kernel") op.kernel[segments[3]] = {text_of(setting.value), from};
  if (segments[2] == "disable") {
    for (std::string& key : texts_of(setting.value)) {
      options.excluded.emplace_back(key, from);
      op.disable.push_back({std::move(key), from});
    }
  }
}

}  // namespace

std::string Config::to_json() const {
  auto settings = nlohmann::ordered_json::array();
  for (const ConfigSetting& setting : settings_) {
    nlohmann::ordered_json row;
    row["key"] = setting.key;
    row["value"] = to_json_value(setting.value);
    row["from"] = name_of(setting.origin);
    const bool file = setting.origin == Origin::kFile;
    row["path"] = file ? nlohmann::ordered_json(setting.path) : nlohmann::ordered_json();
    row["line"] = file ? nlohmann::ordered_json(setting.line) : nlohmann::ordered_json();
    row["variable"] = setting.origin == Origin::kEnvironment
                          ? nlohmann::ordered_json(setting.variable)
                          : nlohmann::ordered_json();
    settings.push_back(std::move(row));
  }
  nlohmann::ordered_json document;
  document["schema"] = 1;
  document["settings"] = std::move(settings);
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

int log_level(const Config& config) {
  constexpr std::array kNames{"error", "warn", "info", "debug"};  // in the order of TENON_LOG_*
  const auto at = std::find(kNames.begin(), kNames.end(), config.text("log.level"));
  return static_cast<int>(at - kNames.begin());
}

EngineOptions engine_options(const Config& config) {
  EngineOptions options;
  options.target = optional_text(config, "target");
  options.default_device = optional_text(config, "devices.default");
  const std::string reference = config.text("selection.reference");
  options.selection.reference = {reference == "allow"   ? ReferencePolicy::kAllow
                                 : reference == "error" ? ReferencePolicy::kError
                                                        : ReferencePolicy::kWarn,
                                 config.get("selection.reference").from()};
  options.selection.copies = {
      config.text("selection.copies") == "never" ? CopyPolicy::kNever : CopyPolicy::kAllow,
      config.get("selection.copies").from()};
  options.selection.deterministic = {config.flag("selection.deterministic"),
                                     config.get("selection.deterministic").from()};
  options.selection.prefer = {config.texts("prefer"), config.get("prefer").from()};
  options.call_keys_per_instance =
      static_cast<std::uint32_t>(config.number("caches.call_keys_per_instance"));
  const std::string tuning = config.text("tuning.mode");
  options.tuning = {tuning == "tune"  ? TuningMode::kTune
                    : tuning == "use" ? TuningMode::kUse
                                      : TuningMode::kOff,
                    config.get("tuning.mode").from()};
  options.built_entries = static_cast<std::uint32_t>(config.number("caches.entries"));
  for (const ConfigSetting* setting : config.under("ops.")) read_op(options, *setting);
  return options;
}

}  // namespace tenon::loader
