// Code generation: everything that a set of manifests gives rise to as files.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/core/error.hpp"
#include "tenon/core/plan.hpp"
#include "tenon/core/signature/plan_data.hpp"
#include "tenon/manifest/contracts.hpp"
#include "tenon/manifest/diagnostic.hpp"
#include "tenon/manifest/entry.hpp"
#include "tenon/manifest/workloads.hpp"

namespace tenon::manifest {

/// An entry with everything that generators read of it.
struct OpSource {
  const Entry* entry = nullptr;  ///< borrowed from the set
  signature::PlanData data;
  std::shared_ptr<const SignaturePlan> plan;
  Workloads workloads;
};

/// Compiles every entry of a set and instantiates its rows.
/// @errors ManifestInvalid where an entry cannot be compiled; `diagnostics`, sorted, then say why.
[[nodiscard]] Result<std::vector<OpSource>> read_sources(const ManifestSet& set,
                                                         DiagnosticList& diagnostics);

/// Compiles every entry of a set and makes the contract headers of those with interfaces.
/// @errors ManifestInvalid where an entry cannot be compiled; `diagnostics`, sorted, then say why.
[[nodiscard]] Result<std::vector<GeneratedFile>> generate_contracts(const ManifestSet& set,
                                                                    DiagnosticList& diagnostics);

/// The typed C++ API: "tenon/ops/<family>.hpp" with a class, a struct of parameters and free
/// functions for each entry, "tenon/ops/types.hpp" for algebraic types, and "tenon/ops.hpp", which
/// includes them all. Names that C++ reserves get a trailing '_'.
/// @errors ManifestInvalid where two names of one entry would become the same name in C++.
[[nodiscard]] Result<std::vector<GeneratedFile>> generate_typed_api(std::span<const OpSource> ops);

/// A reference page for each entry, "<Op>.md", and an index, "README.md".
[[nodiscard]] std::vector<GeneratedFile> generate_reference(std::span<const OpSource> ops);

/// The whole set as one JSON document, for other generators.
[[nodiscard]] std::string manifest_json(const ManifestSet& set, std::span<const OpSource> ops);

/// All of it, by paths below one folder: "tenon/..." the headers, "reference/..." the pages, and
/// "manifest.json".
/// @errors ManifestInvalid, like those above.
[[nodiscard]] Result<std::vector<GeneratedFile>> generate_all(const ManifestSet& set,
                                                              DiagnosticList& diagnostics);

/// Writes files below a folder, making the folders between, and leaves a file alone whose contents
/// are the same already, so that nothing that includes it is built again. A file is replaced in one
/// step.
/// @returns the paths of the files that changed. @errors ManifestInvalid with the path that cannot
/// be written.
[[nodiscard]] Result<std::vector<std::string>> write_generated(
    const std::filesystem::path& folder, std::span<const GeneratedFile> files);

}  // namespace tenon::manifest
