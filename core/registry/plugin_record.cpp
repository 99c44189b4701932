// Printed names of states, stages, statuses and refusal reasons.
#include "tenon/core/plugin_record.hpp"

#include <array>

#include "tenon/core/explain.hpp"

namespace tenon {

std::string_view name_of(PluginState state) noexcept {
  constexpr std::array<std::string_view, 5> kNames{
      "active", "rejected", "quarantined", "disabled", "shadowed"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view name_of(PluginStage stage) noexcept {
  constexpr std::array<std::string_view, 6> kNames{
      "found", "note", "probe", "load", "validate", "commit"};
  return kNames[static_cast<std::size_t>(stage)];
}

std::string_view name_of(Verdict verdict) noexcept {
  constexpr std::array<std::string_view, 7> kNames{
      "chosen", "outranked", "tied", "refused", "unavailable", "disabled", "other_target"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string_view status_name(tenon_status status) noexcept {
  switch (status) {
    case TENON_OK:
      return "OK";
    case TENON_REFUSED:
      return "REFUSED";
    case TENON_INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case TENON_NOT_FOUND:
      return "NOT_FOUND";
    case TENON_ALREADY_EXISTS:
      return "ALREADY_EXISTS";
    case TENON_UNAVAILABLE:
      return "UNAVAILABLE";
    case TENON_INCOMPATIBLE:
      return "INCOMPATIBLE";
    case TENON_OUT_OF_MEMORY:
      return "OUT_OF_MEMORY";
    case TENON_IO:
      return "IO";
    case TENON_DEVICE:
      return "DEVICE";
    case TENON_SHUT_DOWN:
      return "SHUT_DOWN";
    default:
      return "INTERNAL";
  }
}

std::string_view reason_name(std::uint32_t code) noexcept {
  switch (code) {
    case TENON_REASON_NONE:
      return "NONE";
    case TENON_REASON_DEVICE_KIND:
      return "DEVICE_KIND";
    case TENON_REASON_ARCH:
      return "ARCH";
    case TENON_REASON_DTYPE:
      return "DTYPE";
    case TENON_REASON_LAYOUT:
      return "LAYOUT";
    case TENON_REASON_DETERMINISM:
      return "DETERMINISM";
    case TENON_REASON_CONTRACT_NEWER:
      return "CONTRACT_NEWER";
    case TENON_REASON_PRESENCE:
      return "PRESENCE";
    case TENON_REASON_RANK:
      return "RANK";
    case TENON_REASON_SIZE:
      return "SIZE";
    case TENON_REASON_ALIGNMENT:
      return "ALIGNMENT";
    case TENON_REASON_WIDE:
      return "WIDE";
    case TENON_REASON_ALIAS:
      return "ALIAS";
    case TENON_REASON_VALUE:
      return "VALUE";
    case TENON_REASON_COMBINATION:
      return "COMBINATION";
    case TENON_REASON_DEVICE_LIMIT:
      return "DEVICE_LIMIT";
    case TENON_REASON_LIBRARY:
      return "LIBRARY";
    default:
      return code >= TENON_REASON_VENDOR ? "VENDOR" : "OTHER";
  }
}

std::string why_not_active(std::span<const PluginRecord> plugins, std::string_view id) {
  const PluginRecord* found = nullptr;
  for (const PluginRecord& plugin : plugins) {
    if (plugin.id != id) continue;
    if (plugin.state == PluginState::kActive) return {};
    if (found == nullptr) found = &plugin;
  }
  if (found == nullptr) return {};
  return "plugin '" + found->id + "' is " + std::string(name_of(found->state)) + ": " +
         found->reason;
}

}  // namespace tenon
