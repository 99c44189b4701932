// The shipped manifest as the build compiled it: plans without YAML, for programs that start fast.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/error.hpp"
#include "tenon/core/plan.hpp"
#include "tenon/core/signature/plan_data.hpp"

namespace tenon::manifest {

/// One entry of the shipped manifest. Static; made while Tenon is built.
struct CompiledEntry {
  std::string_view name;  ///< "RMSNormFwdOp"
  std::string_view bytes;
};
[[nodiscard]] std::span<const CompiledEntry> compiled_manifest() noexcept;

/// The plans of the shipped manifest, in the order of its entries; the same as reading and
/// compiling it would give.
/// @errors ManifestInvalid where the data linked in is not of this build.
[[nodiscard]] Result<std::vector<std::shared_ptr<const SignaturePlan>>> load_compiled();

/// The plan of one shipped entry.
/// @errors OpNotFound; ManifestInvalid where the data linked in is not of this build.
[[nodiscard]] Result<std::shared_ptr<const SignaturePlan>> load_compiled(std::string_view name);

/// C++ source that defines `compiled_manifest`.
[[nodiscard]] std::string compiled_source(std::span<const signature::PlanData> plans);

}  // namespace tenon::manifest
