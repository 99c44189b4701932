// Which plugin's code lies at an address, for those who must not wait: handlers of signals.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tenon/loader/memory_map.hpp"

namespace tenon::loader {

/// The plugin that brought the code at an address.
struct PluginCode {
  std::string_view id;   ///< empty: nobody's
  bool brought = false;  ///< a library that was mapped with it, not its own file
};

/// [any-thread] Also inside a handler of a signal: takes no lock, allocates nothing.
[[nodiscard]] PluginCode plugin_at(std::uintptr_t address) noexcept;

/// The objects that are mapped now, each from its first to behind its last address.
[[nodiscard]] std::vector<MemoryRange> mapped_objects();
/// Keeps what was mapped since `before` was asked for as the plugin's, for the rest of the process.
/// `own` is an address in its own file. More than there is room for is left out.
void keep_plugin_code(std::string_view id,
                      const std::vector<MemoryRange>& before,
                      std::uintptr_t own);

}  // namespace tenon::loader
