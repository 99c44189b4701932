// What a plugin's failure becomes for the caller.
#pragma once

#include <optional>
#include <string>

#include "tenon/core/registry.hpp"

namespace tenon {

/// `who` names the kernel type or target, `what` what it was asked to do. REFUSED means something
/// only from refuse: here it is PluginFailed.
[[nodiscard]] Error plugin_error(const PluginInfo& plugin,
                                 const std::string& who,
                                 const char* what,
                                 tenon_status status,
                                 const tenon_reason& reason,
                                 ErrorCode otherwise);

/// A warning under the plugin's id, in the log of the Runtime that uses it: for what fails where no
/// call can be told.
void log_for_plugin(const PluginInfo& plugin, const std::string& text);

/// What is wrong with what `build` of a kernel type or target gave: late where earlier work on the
/// device failed, else the plugin's failure, else a required function that the kernel lacks, which
/// is destroyed then. `who` names the kernel type or target, `qualified` is its name.
[[nodiscard]] std::optional<Error> build_error(DeviceTable& devices,
                                               const DeviceEntry& device,
                                               const PluginInfo& plugin,
                                               const std::string& qualified,
                                               const std::string& who,
                                               tenon_status status,
                                               const tenon_reason& reason,
                                               const tenon_kernel& kernel);

}  // namespace tenon
