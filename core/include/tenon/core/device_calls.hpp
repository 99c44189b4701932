// Calls of a device kind's functions: told of, exceptions caught, and held to what the ABI
// promises.
#pragma once

#include <atomic>
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
[[gnu::always_inline]] inline tenon_status call_owner(const DeviceKindEntry& kind,
                                                      const char* name,
                                                      Function function,
                                                      tenon_reason& reason,
                                                      Arguments... arguments) {
  return call_plugin(name, kind.plugin, reason, [&] {
    return function(kind.table.context, arguments..., &reason);
  });
}

namespace detail {
/// Gives the memory back and says in `reason` what is wrong with it. Returns kBrokeContract.
[[gnu::cold]] tenon_status refuse_memory(const DeviceKindEntry& kind,
                                         const DeviceEntry& device,
                                         std::uint32_t memory_kind,
                                         void* memory,
                                         std::size_t size_bytes,
                                         void* stream,
                                         tenon_reason& reason);
/// Logs the failure, if it is the first.
[[gnu::cold]] void tell_of_failed_free(const DeviceKindEntry& kind,
                                       const DeviceEntry& device,
                                       std::size_t size_bytes,
                                       tenon_status status,
                                       const tenon_reason& reason,
                                       std::atomic<bool>& told);
}  // namespace detail

/// Memory from the owner. What cannot be right is an error, with the reason's text: OK without
/// memory, and memory that is not aligned, which is given back first.
inline tenon_status owner_alloc(const DeviceKindEntry& kind,
                                const DeviceEntry& device,
                                std::uint32_t memory_kind,
                                std::size_t size_bytes,
                                void* stream,
                                void** out,
                                tenon_reason& reason) {
  void* memory = nullptr;
  const tenon_status status = call_owner(kind,
                                         "alloc",
                                         kind.table.alloc,
                                         reason,
                                         &device.launch,
                                         memory_kind,
                                         std::uint64_t{size_bytes},
                                         stream,
                                         &memory);
  if (status != TENON_OK) [[unlikely]]
    return status;
  if (memory == nullptr || reinterpret_cast<std::uintptr_t>(memory) % kDeviceMemoryAlign != 0)
      [[unlikely]]
    return detail::refuse_memory(kind, device, memory_kind, memory, size_bytes, stream, reason);
  *out = memory;
  return TENON_OK;
}

/// Gives it back. Nobody can be told of a failure: the first of a kind is logged under the owner's
/// id, with its words. `told` is the kind's, false at first.
inline tenon_status owner_free(const DeviceKindEntry& kind,
                               const DeviceEntry& device,
                               std::uint32_t memory_kind,
                               void* memory,
                               std::size_t size_bytes,
                               void* stream,
                               std::atomic<bool>& told,
                               tenon_reason& reason) {
  const tenon_status status = call_owner(kind,
                                         "free",
                                         kind.table.free,
                                         reason,
                                         &device.launch,
                                         memory_kind,
                                         memory,
                                         std::uint64_t{size_bytes},
                                         stream);
  if (status != TENON_OK) [[unlikely]]
    detail::tell_of_failed_free(kind, device, size_bytes, status, reason, told);
  return status;
}

}  // namespace tenon
