// Judges what one plugin staged: everything about its rows that can be wrong without a call.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "registry/transaction.hpp"
#include "tenon/core/registry.hpp"

namespace tenon {

/// What of a plugin was accepted.
struct AcceptedPlugin {
  const PluginInfo* info = nullptr;
  /// (full op name, interface) -> kernel types, sorted by qualified key.
  std::map<std::pair<std::string, std::string>, std::vector<std::shared_ptr<const KernelType>>>
      types;
  std::vector<std::shared_ptr<const BuilderTarget>> targets;
  std::vector<DeviceKindEntry> kinds;
};

/// Finds an op's plan by the name that a plugin wrote; null where no set in force has it.
using FindPlan = const SignaturePlan* (*)(const void* context, std::string_view op);

struct ValidationContext {
  const void* context = nullptr;
  FindPlan find_plan = nullptr;
  std::vector<std::string> op_names;  ///< for suggestions
};

/// @errors PluginRejected; its field "status" names the ABI status. Fills the record's
/// rejected_rows, ops and counts.
Result<AcceptedPlugin> validate(const PluginTransaction::Staged& staged,
                                const ValidationContext& ops,
                                PluginRecord& record);

}  // namespace tenon
