// What a plugin's enumerate handed over, copied, before it is judged.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "registry/row_memory.hpp"
#include "tenon/core/registry.hpp"

namespace tenon {

struct PluginTransaction::Staged {
  Staged(const PluginInfo* from, const MemoryCheck* check) : plugin(from), memory(check) {}

  const PluginInfo* plugin;
  RowMemory memory;
  tenon_registrar registrar{};
  std::vector<tenon_device_kind> kinds;
  std::vector<tenon_kernel_type> types;
  std::vector<tenon_target> targets;
  /// The first fault; whatever follows is dropped with the whole transaction.
  tenon_status status = TENON_OK;
  std::string fault;
};

}  // namespace tenon
