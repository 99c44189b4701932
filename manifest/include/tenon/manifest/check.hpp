// The whole validation of a set: what `tenon manifest check` reports.
#pragma once

#include <memory>
#include <vector>

#include "tenon/core/plan.hpp"
#include "tenon/manifest/reader.hpp"
#include "tenon/manifest/workloads.hpp"

namespace tenon::manifest {

/// A set with everything that can be said of it: each entry compiled and its workload rows turned
/// into calls.
struct CheckedSet {
  ManifestSet set;
  /// Parallel to set.entries; null where the entry cannot be registered.
  std::vector<std::shared_ptr<const SignaturePlan>> plans;
  std::vector<Workloads> workloads;  ///< parallel
  DiagnosticList diagnostics;        ///< sorted, with their source lines
};

/// Compiles every entry of a loaded set, instantiates its rows, and adds what that finds.
/// [any-thread]
[[nodiscard]] CheckedSet check(LoadedSet loaded);

}  // namespace tenon::manifest
