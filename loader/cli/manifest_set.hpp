// The manifest entries that a command reads, and what they compile to.
#pragma once

#include <memory>
#include <vector>

#include "arguments.hpp"
#include "tenon/core/plan.hpp"
#include "tenon/manifest/diagnostic.hpp"
#include "tenon/manifest/entry.hpp"
#include "tenon/manifest/reader.hpp"
#include "view_ops.hpp"

namespace tenon::cli {

/// Entries of --manifest, else of the set that this build was made with.
/// @errors ManifestInvalid naming the path that cannot be read.
[[nodiscard]] Result<manifest::LoadedSet> read_manifests(const Arguments& arguments);
/// Entries of files and folders.
[[nodiscard]] Result<manifest::LoadedSet> read_manifest_paths(
    const std::vector<std::string>& paths);

/// An entry with its plan; null where it cannot be compiled.
struct CompiledEntry {
  const manifest::Entry* entry = nullptr;
  std::shared_ptr<const SignaturePlan> plan;
};

/// Compiles every entry of the set, whose diagnostics grow and are sorted again.
[[nodiscard]] std::vector<CompiledEntry> compile_all(manifest::LoadedSet& loaded);

/// The plan of one entry. @errors OpNotFound with the nearest names; ManifestInvalid with the first
/// reason.
[[nodiscard]] Result<CompiledEntry> compile_one(manifest::LoadedSet& loaded, const std::string& op);

/// The workloads of an entry, for the views of ops.
[[nodiscard]] std::vector<WorkloadRow> workloads_of(const manifest::Entry& entry);

}  // namespace tenon::cli
