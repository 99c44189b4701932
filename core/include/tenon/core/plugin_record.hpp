// What is known of every plugin file that was found: its state, how far it came, and why it stopped
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/plugin.h"

namespace tenon {

/// What became of a plugin file.
enum class PluginState : std::uint8_t { kActive, kRejected, kQuarantined, kDisabled, kShadowed };
/// The last stage that a file reached.
enum class PluginStage : std::uint8_t { kFound, kNote, kProbe, kLoad, kValidate, kCommit };

/// "active", "validate"; "UNAVAILABLE"; "DEVICE_KIND". An unknown status reads as "INTERNAL", an
/// unknown reason as "VENDOR" or "OTHER".
[[nodiscard]] std::string_view name_of(PluginState state) noexcept;
[[nodiscard]] std::string_view name_of(PluginStage stage) noexcept;
[[nodiscard]] std::string_view status_name(tenon_status status) noexcept;
[[nodiscard]] std::string_view reason_name(std::uint32_t code) noexcept;

/// A kernel type that was dropped alone, because no op or interface of that name exists or its
/// contract differs.
struct RejectedRow {
  std::string op;
  std::string interface;
  std::string key;
  tenon_status code = TENON_OK;
  std::string reason;
};

/// One plugin file that was found, for as long as the process lives.
struct PluginRecord {
  std::string id;
  std::string version;
  std::string vendor;
  std::string path;  ///< canonical; "static" for a plugin that is linked in
  std::string from;  ///< which setting named the folder or file
  PluginState state = PluginState::kRejected;
  PluginStage stage = PluginStage::kFound;
  tenon_status code = TENON_OK;
  std::string reason;
  std::uint32_t abi_major = 0;
  std::uint32_t abi_minor = 0;
  std::vector<std::string> kinds;    ///< device kinds that it owns
  std::vector<std::string> targets;  ///< builder targets
  std::vector<std::string> ops;      ///< served by at least one kernel type or target
  std::size_t kernel_types = 0;
  std::vector<RejectedRow> rejected_rows;
  std::vector<std::string> pending;  ///< what waits for a kind or key that is not loaded
};

/// "plugin 'acme' is disabled: disabled by tenon.yaml:3", where plugins of that id were found and
/// none is active; else empty.
[[nodiscard]] std::string why_not_active(std::span<const PluginRecord> plugins,
                                         std::string_view id);

}  // namespace tenon
