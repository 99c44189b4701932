// The ops of a Runtime: the shipped manifest or another set, and what plugins bring.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/error.hpp"
#include "tenon/core/registry.hpp"

namespace tenon::loader {

/// Adds the ops of files and folders, or the shipped ones where there are no paths or one is the
/// word `shipped`. The shipped ones are plans that the build compiled; no YAML is read for them.
/// @errors ManifestInvalid with the first finding's place.
[[nodiscard]] Result<void> add_ops(Registry& registry, const std::vector<std::string>& paths);
/// Adds the ops that a plugin brings as text. @errors ManifestInvalid; then none of them was added.
[[nodiscard]] Result<void> add_plugin_ops(Registry& registry,
                                          std::string_view plugin_id,
                                          std::string_view yaml);

/// Takes the ops that a plugin brought out of the registry again.
void drop_plugin_ops(Registry& registry, std::string_view plugin_id);

}  // namespace tenon::loader
