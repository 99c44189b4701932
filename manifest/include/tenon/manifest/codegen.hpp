// Code generation: everything that a set of manifests gives rise to as source files.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tenon/core/error.hpp"
#include "tenon/manifest/contracts.hpp"
#include "tenon/manifest/diagnostic.hpp"
#include "tenon/manifest/entry.hpp"

namespace tenon::manifest {

/// Compiles every entry of a set and makes the contract headers of those with interfaces.
/// @errors ManifestInvalid where an entry cannot be compiled; `diagnostics`, sorted, then say why.
[[nodiscard]] Result<std::vector<GeneratedFile>> generate_contracts(const ManifestSet& set,
                                                                    DiagnosticList& diagnostics);

/// Writes files below a folder, making the folders between, and leaves a file alone whose contents
/// are the same already, so that nothing that includes it is built again. A file is replaced in one
/// step.
/// @returns the paths of the files that changed. @errors ManifestInvalid with the path that cannot
/// be written.
[[nodiscard]] Result<std::vector<std::string>> write_generated(
    const std::filesystem::path& folder, std::span<const GeneratedFile> files);

}  // namespace tenon::manifest
