// Names in the configuration and the environment that nothing answers to.
#pragma once

#include <vector>

#include "tenon/core/plugin_record.hpp"
#include "tenon/core/registry.hpp"
#include "tenon/loader/config.hpp"

namespace tenon::loader {

/// Adds a warning for each variable TENON_* that no key and nothing else reads.
void add_unknown_variables(const Environment& environment, std::vector<LogLine>& lines);
/// Adds a warning for each path of `plugins.paths` where nothing is.
void add_missing_places(const Config& config, std::vector<LogLine>& lines);

/// Warnings for ops, interfaces, kernels, plugins, targets and device kinds that are not there.
/// They may belong to another set of ops or to a plugin that is not installed, so they are told,
/// not refused.
[[nodiscard]] std::vector<LogLine> unknown_names(const Config& config,
                                                 const Snapshot& snapshot,
                                                 const std::vector<PluginRecord>& plugins);

}  // namespace tenon::loader
