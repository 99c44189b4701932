// Comparison of ABI numbers and versions, and the grammars of ids, text and globs.
#include "tenon/loader/abi_version.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

#include <fmt/format.h>

namespace tenon::loader {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes the next number off the front, as its digits without leading zeros; empty for 0 or none.
std::string_view take_number(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

std::strong_ordering compare_numbers(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return a.size() <=> b.size();
  return a.compare(b) <=> 0;
}

/// Takes one character off the front, if it is there.
bool take(std::string_view& text, char wanted) {
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

/// Whether another number follows, behind a dot.
bool number_follows(std::string_view text) {
  return text.size() > 1 && text.front() == '.' && is_digit(text[1]);
}

/// Takes the numbers that follow off the front, up to the first that is not 0. Whether one is not.
bool take_following_numbers(std::string_view& text) {
  while (number_follows(text)) {
    text.remove_prefix(1);
    if (!take_number(text).empty()) return true;
  }
  return false;
}

/// Takes the numbers at the front of two versions off and compares them. The shorter one goes on
/// with zeros: its suffix, if any, must not be read as a number.
std::strong_ordering compare_releases(std::string_view& a, std::string_view& b) {
  while (true) {
    const std::string_view number_of_a = take_number(a);
    const std::string_view number_of_b = take_number(b);
    if (auto order = compare_numbers(number_of_a, number_of_b); order != 0) return order;
    if (!number_follows(a) || !number_follows(b)) break;
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (take_following_numbers(a)) return std::strong_ordering::greater;
  if (take_following_numbers(b)) return std::strong_ordering::less;
  return std::strong_ordering::equal;
}

/// Text with numbers in it: runs of digits compare as numbers, everything else bytewise.
std::strong_ordering compare_mixed(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view number_of_a = take_number(a);
      const std::string_view number_of_b = take_number(b);
      if (auto order = compare_numbers(number_of_a, number_of_b); order != 0) return order;
      continue;
    }
    if (a.front() != b.front()) {
      return static_cast<unsigned char>(a.front()) <=> static_cast<unsigned char>(b.front());
    }
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.size() <=> b.size();
}

/// What the first byte of a character asks for.
struct LeadByte {
  std::size_t more = 0;  ///< bytes that follow
  unsigned low = 0x80;   ///< bounds of the second byte; they shut out overlong forms and surrogates
  unsigned high = 0xBF;
};

/// Of a byte that begins a character of several bytes.
std::optional<LeadByte> lead_byte(unsigned byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return LeadByte{.more = 1};
  if (byte == 0xE0) return LeadByte{.more = 2, .low = 0xA0};
  if (byte == 0xED) return LeadByte{.more = 2, .high = 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return LeadByte{.more = 2};
  if (byte == 0xF0) return LeadByte{.more = 3, .low = 0x90};
  if (byte == 0xF4) return LeadByte{.more = 3, .high = 0x8F};
  if (byte >= 0xF1 && byte <= 0xF3) return LeadByte{.more = 3};
  return std::nullopt;
}

/// Length of the UTF-8 character at the front of a text that is not empty; 0 where none is. The
/// byte 0 is none.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  if (byte(0) < 0x80) return byte(0) == 0 ? 0 : 1;
  const std::optional<LeadByte> lead = lead_byte(byte(0));
  if (!lead || text.size() <= lead->more) return 0;
  if (byte(1) < lead->low || byte(1) > lead->high) return 0;
  for (std::size_t k = 2; k <= lead->more; ++k) {
    if (byte(k) < 0x80 || byte(k) > 0xBF) return 0;
  }
  return lead->more + 1;
}

/// The minors that a host of this version takes, for messages.
std::string accepted_by(const HostAbi& host) {
  if (host.major == 0) return fmt::format("exactly 0.{}", host.minor);
  return fmt::format("{}.x plugins that need at most {}.{}", host.major, host.major, host.minor);
}

}  // namespace

std::optional<std::string> abi_refusal(const HostAbi& host, const PluginAbi& plugin) {
  if (plugin.major != host.major) {
    return fmt::format(
        "the plugin speaks ABI {}.{}, this host {}.{} and accepts {}; rebuild the plugin with this "
        "release's headers, or use a release of Tenon with ABI {}",
        plugin.major,
        plugin.minor,
        host.major,
        host.minor,
        accepted_by(host),
        plugin.major);
  }
  if (host.major == 0) {
    if (plugin.minor == host.minor && plugin.min_host_minor <= host.minor) return std::nullopt;
    return fmt::format(
        "the plugin needs ABI 0.{}, this host has 0.{} and accepts {} (before 1.0 the minors must "
        "be equal); rebuild the plugin with this release's headers",
        plugin.minor,
        host.minor,
        accepted_by(host));
  }
  if (plugin.min_host_minor <= host.minor) return std::nullopt;
  return fmt::format(
      "the plugin needs >= {0}.{1} (built with {0}.{2}), the host has {0}.{3} and accepts {4}; use "
      "a "
      "newer release of Tenon, or build the plugin with TENON_TARGET_MINOR={3}",
      plugin.major,
      plugin.min_host_minor,
      plugin.minor,
      host.minor,
      accepted_by(host));
}

std::uint32_t effective_minor(const HostAbi& host, const PluginAbi& plugin) {
  return std::min(host.minor, plugin.minor);
}

std::strong_ordering compare_versions(std::string_view a, std::string_view b) {
  if (auto order = compare_releases(a, b); order != 0) return order;
  const auto build_off = [](std::string_view text) { return text.substr(0, text.find('+')); };
  a = build_off(a);
  b = build_off(b);
  const bool early_a = !a.empty() && a.front() == '-';
  const bool early_b = !b.empty() && b.front() == '-';
  if (early_a != early_b) {
    return early_a ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  return compare_mixed(a, b);
}

bool is_version(std::string_view version) {
  if (version.size() > kMaxVersionBytes) return false;
  do {
    if (version.empty() || !is_digit(version.front())) return false;
    while (!version.empty() && is_digit(version.front())) version.remove_prefix(1);
  } while (take(version, '.'));
  for (const char mark : {'-', '+'}) {
    if (!take(version, mark)) continue;
    const std::size_t end =
        mark == '-' ? std::min(version.find('+'), version.size()) : version.size();
    const std::string_view suffix = version.substr(0, end);
    const bool plain = std::all_of(suffix.begin(), suffix.end(), [](char c) {
      return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
             c == '-';
    });
    if (suffix.empty() || !plain) return false;
    version.remove_prefix(end);
  }
  return version.empty();
}

std::string version_refusal(std::string_view version) {
  if (version.size() > kMaxVersionBytes) {
    return fmt::format("its version, '{}...', has {} characters; at most {} are taken",
                       version.substr(0, kMaxVersionBytes),
                       version.size(),
                       kMaxVersionBytes);
  }
  return fmt::format(
      "its version is '{}'; expected numbers between dots, such as 1.2.3, by which the versions of "
      "one plugin are compared (a suffix such as -rc1 ranks below the version without it)",
      version);
}

bool is_plugin_id(std::string_view id) {
  if (id.empty() || id.size() > kMaxPluginIdBytes || id.front() < 'a' || id.front() > 'z')
    return false;
  return std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-';
  });
}

std::string id_refusal(std::string_view id) {
  if (id.size() > kMaxPluginIdBytes) {
    return fmt::format("id '{}...' has {} characters, at most {} are taken",
                       id.substr(0, kMaxPluginIdBytes / 2),
                       id.size(),
                       kMaxPluginIdBytes);
  }
  return fmt::format("id '{}' is not of the form [a-z][a-z0-9-]*", id);
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character_bytes(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool glob_matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace tenon::loader
