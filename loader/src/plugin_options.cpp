// Defaults, settings, and what is wrong with a setting.
#include "plugin_options.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tenon/core/nearest.hpp"

namespace tenon::loader {
namespace {

Value default_of(const tenon_option& option) {
  const tenon_value& value = option.default_value;
  switch (option.kind) {
    case TENON_VALUE_BOOL:
      return value.i != 0;
    case TENON_VALUE_INT:
      return value.i;
    case TENON_VALUE_FLOAT:
      return value.f;
    default:
      return std::string(static_cast<const char*>(value.data),
                         value.data == nullptr ? 0 : value.count);
  }
}

/// The value as the option's kind wants it, or nothing.
std::optional<Value> fit(const tenon_option& option, const Value& value) {
  const bool good = (option.kind == TENON_VALUE_BOOL && value.get_if<bool>() != nullptr) ||
                    (option.kind == TENON_VALUE_INT && value.get_if<std::int64_t>() != nullptr) ||
                    (option.kind == TENON_VALUE_FLOAT && value.get_if<double>() != nullptr) ||
                    (option.kind == TENON_VALUE_STR && value.get_if<std::string>() != nullptr);
  if (good) return value;
  if (option.kind == TENON_VALUE_FLOAT) {
    if (const auto* number = value.get_if<std::int64_t>()) return static_cast<double>(*number);
  }
  return std::nullopt;
}

std::string_view option_kind_name(std::uint32_t kind) {
  switch (kind) {
    case TENON_VALUE_BOOL:
      return "true or false";
    case TENON_VALUE_INT:
      return "an integer";
    case TENON_VALUE_FLOAT:
      return "a number";
    default:
      return "a text";
  }
}

}  // namespace

Result<std::map<std::string, Value>> settle_options(const tenon_plugin& plugin,
                                                    std::string_view id,
                                                    const std::vector<OptionSetting>& settings) {
  std::map<std::string, Value> values;
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < plugin.n_options; ++i) {
    names.emplace_back(
        std::string_view(plugin.options[i].name.data, plugin.options[i].name.size_bytes));
    values[names.back()] = default_of(plugin.options[i]);
  }
  for (const OptionSetting& setting : settings) {
    const auto at = std::find(names.begin(), names.end(), setting.name);
    if (at == names.end()) {
      std::string hint = names.empty() ? "it declares none"
                                       : fmt::format("its options: {}", fmt::join(names, ", "));
      if (const auto near = did_you_mean(setting.name, names); !near.empty()) hint += "; " + near;
      return fail(Error(ErrorCode::kConfigInvalid,
                        fmt::format("plugin '{}' has no option '{}'", id, setting.name))
                      .with_where(setting.where)
                      .with_hint(std::move(hint)));
    }
    const tenon_option& option = plugin.options[at - names.begin()];
    const auto value = fit(option, setting.value);
    if (!value) {
      return fail(Error(ErrorCode::kConfigInvalid,
                        fmt::format("option '{}' of plugin '{}' must be {}, found {}",
                                    setting.name,
                                    id,
                                    option_kind_name(option.kind),
                                    setting.value.to_string()))
                      .with_where(setting.where));
    }
    values[setting.name] = *value;
  }
  return values;
}

}  // namespace tenon::loader
