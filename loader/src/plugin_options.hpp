// A plugin's own options: what it declares, and the values that a configuration gives them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/error.hpp"
#include "tenon/core/value.hpp"
#include "tenon/loader/plugin_library.hpp"
#include "tenon/plugin.h"

namespace tenon::loader {

/// The value of each declared option: its setting, else its default.
/// @errors ConfigInvalid: unknown option (the known ones are named), wrong kind.
[[nodiscard]] Result<std::map<std::string, Value>> settle_options(
    const tenon_plugin& plugin, std::string_view id, const std::vector<OptionSetting>& settings);

}  // namespace tenon::loader
