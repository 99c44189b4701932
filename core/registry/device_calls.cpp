// Memory through the owner of a device kind, and what is wrong with what it gives.
#include "tenon/core/device_calls.hpp"

#include <cstdio>

#include "registry/abi_text.hpp"
#include "tenon/core/plugin_record.hpp"

namespace tenon {
namespace {

/// A broken promise, as a status of its own: neither of them may read as the owner's words.
tenon_status broken(tenon_reason& reason, const std::string& text) {
  (void)std::snprintf(reason.text, sizeof reason.text, "%s", text.c_str());
  return kBrokeContract;
}

}  // namespace

namespace detail {

void tell_of_failed_free(const DeviceKindEntry& kind,
                         const DeviceEntry& device,
                         std::size_t size_bytes,
                         tenon_status status,
                         const tenon_reason& reason,
                         std::atomic<bool>& told) {
  if (told.exchange(true) || kind.host == nullptr || kind.host->log == nullptr) return;
  const std::string text = "free of device kind '" + std::string(kind.kind.name()) + "' failed (" +
                           std::to_string(size_bytes) + " bytes on " + device.device.to_string() +
                           "): " + failure_text(status, reason) +
                           "; the memory may be lost, and later failures are not told";
  kind.host->log(kind.host, TENON_LOG_WARN, str_of(text));
}

tenon_status refuse_memory(const DeviceKindEntry& kind,
                           const DeviceEntry& device,
                           std::uint32_t memory_kind,
                           void* memory,
                           std::size_t size_bytes,
                           void* stream,
                           tenon_reason& reason) {
  const std::string who = "alloc of device kind '" + std::string(kind.kind.name()) + "' (plugin '" +
                          kind.plugin + "') ";
  if (memory == nullptr) return broken(reason, who + "answered OK without memory");
  char at[32];
  (void)std::snprintf(at, sizeof at, "%#zx", reinterpret_cast<std::uintptr_t>(memory));
  // Given back as it came; a second fault would say nothing new.
  tenon_reason unused = empty_reason();
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

}  // namespace detail
}  // namespace tenon
