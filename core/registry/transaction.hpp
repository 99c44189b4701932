// What a plugin's enumerate handed over, copied, before it is judged.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tenon/core/registry.hpp"

namespace tenon {

struct PluginTransaction::Staged {
  const PluginInfo* plugin = nullptr;
  tenon_registrar registrar{};
  std::vector<tenon_device_kind> kinds;
  std::vector<tenon_kernel_type> types;
  std::vector<tenon_target> targets;
  /// The first fault; whatever follows is dropped with the whole transaction.
  tenon_status status = TENON_OK;
  std::string fault;
};

}  // namespace tenon
