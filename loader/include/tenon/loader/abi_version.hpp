// Which plugins a host takes by their ABI numbers, and how versions of plugins compare.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/plugin.h"

namespace tenon::loader {

/// The ABI of a host; by default of this one.
struct HostAbi {
  std::uint32_t major = TENON_ABI_MAJOR;
  std::uint32_t minor = TENON_ABI_MINOR;
};
/// What a plugin's note and table say of the ABI.
struct PluginAbi {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;  ///< that it was built with
  std::uint32_t min_host_minor = 0;
};

/// Why a host refuses a plugin, or nothing (docs/abi.md): majors are equal, and the plugin's
/// min_host_minor is at most the host's minor; while the major is 0 the minors are equal.
/// The text names both ranges and what to do.
[[nodiscard]] std::optional<std::string> abi_refusal(const HostAbi& host, const PluginAbi& plugin);

/// The minor at which both work together: the lower of the two.
[[nodiscard]] std::uint32_t effective_minor(const HostAbi& host, const PluginAbi& plugin);

/// Compares versions number by number ("1.10" is above "1.9"); missing numbers are 0; a suffix
/// after a hyphen ranks below the version without it ("2.0-rc1" < "2.0").
[[nodiscard]] std::strong_ordering compare_versions(std::string_view a, std::string_view b);

/// The longest version that a plugin may have.
inline constexpr std::size_t kMaxVersionBytes = 64;

/// True for what compare_versions() can order: numbers between dots, then maybe a suffix after a
/// hyphen and a build after a plus, both of letters, digits, dots and hyphens ("1.2.3-rc1+git5");
/// of at most kMaxVersionBytes.
[[nodiscard]] bool is_version(std::string_view version);
/// What one that is not is told.
[[nodiscard]] std::string version_refusal(std::string_view version);

/// Characters that an id has at most: it becomes a file's name, a target's, a kernel's.
inline constexpr std::size_t kMaxPluginIdBytes = 64;
/// True for `[a-z][a-z0-9-]*` of at most kMaxPluginIdBytes characters.
[[nodiscard]] bool is_plugin_id(std::string_view id);
/// What one that is not is told.
[[nodiscard]] std::string id_refusal(std::string_view id);
/// True for well-formed UTF-8 without a zero byte.
[[nodiscard]] bool is_utf8(std::string_view text);
/// Matches a whole name against `*` and `?`.
[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view name);

}  // namespace tenon::loader
