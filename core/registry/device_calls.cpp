// Memory through the owner of a device kind, and what is wrong with what it gives.
#include "tenon/core/device_calls.hpp"

#include <cstdio>

#include "registry/abi_text.hpp"
#include "registry/lent_reason.hpp"
#include "tenon/core/plugin_record.hpp"

namespace tenon {
namespace {

/// A broken promise, as a status of its own: neither of them may read as the owner's words.
tenon_status broken(tenon_reason& reason, const std::string& text) {
  (void)std::snprintf(reason.text, sizeof reason.text, "%s", text.c_str());
  return kBrokeContract;
}

void tell_of_failed_free(const DeviceKindEntry& kind,
                         const DeviceEntry& device,
                         std::size_t size_bytes,
                         tenon_status status,
                         const tenon_reason& reason) {
  if (kind.host == nullptr || kind.host->log == nullptr) return;
  const std::string text = "free of device kind '" + std::string(kind.kind.name()) + "' failed (" +
                           std::to_string(size_bytes) + " bytes on " + device.device.to_string() +
                           "): " + detail::failure_text(status, reason) +
                           "; the memory may be lost, and later failures are not told";
  kind.host->log(kind.host, TENON_LOG_WARN, detail::str_of(text));
}

}  // namespace

tenon_status owner_alloc(const DeviceKindEntry& kind,
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
  if (status != TENON_OK) return status;
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  if (memory != nullptr && address % kDeviceMemoryAlign == 0) [[likely]] {
    *out = memory;
    return TENON_OK;
  }
  const std::string who = "alloc of device kind '" + std::string(kind.kind.name()) + "' (plugin '" +
                          kind.plugin + "') ";
  if (memory == nullptr) return broken(reason, who + "answered OK without memory");
  char at[32];
  (void)std::snprintf(at, sizeof at, "%#zx", static_cast<std::size_t>(address));
  // Given back as it came; a second fault would say nothing new.
  tenon_reason unused = detail::empty_reason();
  (void)call_owner(kind,
                   "free",
                   kind.table.free,
                   unused,
                   &device.launch,
                   memory_kind,
                   memory,
                   std::uint64_t{size_bytes},
                   stream);
  return broken(reason,
                who + "gave memory at " + at + ", which is no multiple of " +
                    std::to_string(kDeviceMemoryAlign) + "; it was given back");
}

tenon_status owner_free(const DeviceKindEntry& kind,
                        const DeviceEntry& device,
                        std::uint32_t memory_kind,
                        void* memory,
                        std::size_t size_bytes,
                        void* stream,
                        std::atomic<bool>& told) {
  detail::LentReason reason;
  const tenon_status status = call_owner(kind,
                                         "free",
                                         kind.table.free,
                                         *reason.get(),
                                         &device.launch,
                                         memory_kind,
                                         memory,
                                         std::uint64_t{size_bytes},
                                         stream);
  if (status != TENON_OK && !told.exchange(true)) [[unlikely]]
    tell_of_failed_free(kind, device, size_bytes, status, *reason);
  return status;
}

}  // namespace tenon
