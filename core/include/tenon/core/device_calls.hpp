// Calls of a device kind's functions: told of, exceptions caught, and held to what the ABI
// promises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "tenon/core/device_table.hpp"
#include "tenon/core/plugin_calls.hpp"

namespace tenon {

/// Memory from owners and allocators begins at a multiple of this.
inline constexpr std::size_t kDeviceMemoryAlign = 256;

/// Calls `function` of the kind's table, named `name`, with `arguments` between context and reason.
template <class Function, class... Arguments>
tenon_status call_owner(const DeviceKindEntry& kind,
                        const char* name,
                        Function function,
                        tenon_reason& reason,
                        Arguments... arguments) {
  return call_plugin(name, kind.plugin, reason, [&] {
    return function(kind.table.context, arguments..., &reason);
  });
}

/// Memory from the owner. What cannot be right is an error, with the reason's text: OK without
/// memory, and memory that is not aligned, which is given back first.
tenon_status owner_alloc(const DeviceKindEntry& kind,
                         const DeviceEntry& device,
                         std::uint32_t memory_kind,
                         std::size_t size_bytes,
                         void* stream,
                         void** out,
                         tenon_reason& reason);
/// Gives it back. Nobody can be told of a failure: the first of a kind is logged under the owner's
/// id, with its words. `told` is the kind's, false at first.
tenon_status owner_free(const DeviceKindEntry& kind,
                        const DeviceEntry& device,
                        std::uint32_t memory_kind,
                        void* memory,
                        std::size_t size_bytes,
                        void* stream,
                        std::atomic<bool>& told);

}  // namespace tenon
