// Code generation: everything that a set of manifests gives rise to as source files.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tenon/core/error.hpp"
#include "tenon/manifest/contracts.hpp"

namespace tenon::manifest {

/// Writes files below a folder, making the folders between, and leaves a file alone whose contents are the
/// same already, so that nothing that includes it is built again. A file is replaced in one step.
/// @returns the paths of the files that changed. @errors ManifestInvalid with the path that cannot be written.
[[nodiscard]] Result<std::vector<std::string>> write_generated(const std::filesystem::path& folder,
                                                               std::span<const GeneratedFile> files);

}  // namespace tenon::manifest
