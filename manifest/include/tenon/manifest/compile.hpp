// The compiler: a parsed entry, checked on every point, becomes a plan.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tenon/core/plan.hpp"
#include "tenon/core/signature/plan_data.hpp"
#include "tenon/manifest/diagnostic.hpp"
#include "tenon/manifest/entry.hpp"

namespace tenon::manifest {

/// The algebraic types in force.
using Adts = std::vector<AdtDecl>;

/// Compiles an entry: every expression is parsed and its kind checked, every point of the
/// discriminants is visited, inference is proved to solve what it needs, effects and interfaces get
/// their schemas and contracts. Every fault is added to `diagnostics`; null where one is an error
/// or the entry is faulty already. [any-thread]
[[nodiscard]] std::shared_ptr<const SignaturePlan> compile(const Entry& entry,
                                                           const Adts& adts,
                                                           DiagnosticList& diagnostics);

/// The same as plain data, which `signature::make_plan` turns into a plan.
[[nodiscard]] std::optional<signature::PlanData> compile_data(const Entry& entry,
                                                              const Adts& adts,
                                                              DiagnosticList& diagnostics);

}  // namespace tenon::manifest
