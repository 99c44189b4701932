// Cache entries as files: header, key, payload, checksum over all of it.
#include "plugin_cache.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "atomic_file.hpp"

namespace tenon::loader {
namespace {

constexpr std::array<char, 8> kMagic{'T', 'N', 'C', 'A', 'C', 'H', 'E', '1'};
constexpr std::uint64_t kMaxEntryBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxKeyBytes = 1u << 16;

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint64_t key_bytes = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t checksum = 0;  // of key and payload
};

std::uint64_t fnv1a(std::span<const std::byte> bytes, std::uint64_t hash = 14695981039346656037u) {
  for (std::byte b : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 1099511628211u;
  return hash;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::uint64_t checksum_of(std::string_view key, std::span<const std::byte> payload) {
  return fnv1a(payload, fnv1a(bytes_of(key)));
}

}  // namespace

PluginCache::PluginCache(const std::string& directory,
                         const std::string& id,
                         const std::string& build) {
  if (!directory.empty()) folder_ = directory + "/plugins/" + id + "/" + build;
}

std::string PluginCache::path_of(std::string_view key) const {
  // Two hashes, so that two keys of one plugin practically never share a file; if they do, the key
  // in the file tells them apart.
  return fmt::format("{}/{:016x}{:016x}.bin",
                     folder_,
                     fnv1a(bytes_of(key)),
                     fnv1a(bytes_of(key), 0x9e3779b97f4a7c15u));
}

std::optional<std::vector<std::byte>> PluginCache::get(std::string_view key) const {
  if (folder_.empty() || key.size() > kMaxKeyBytes) return std::nullopt;
  std::ifstream in(path_of(key), std::ios::binary);
  Header header;
  if (!in.read(reinterpret_cast<char*>(&header), sizeof header)) return std::nullopt;
  if (header.magic != kMagic || header.key_bytes != key.size() ||
      header.payload_bytes > kMaxEntryBytes) {
    return std::nullopt;
  }
  std::error_code error;
  const auto file_bytes = std::filesystem::file_size(path_of(key), error);
  if (error || file_bytes != sizeof header + header.key_bytes + header.payload_bytes) {
    return std::nullopt;
  }
  std::string their_key(header.key_bytes, '\0');
  std::vector<std::byte> payload(header.payload_bytes);
  if (!in.read(their_key.data(), static_cast<std::streamsize>(their_key.size())) ||
      !in.read(reinterpret_cast<char*>(payload.data()),
               static_cast<std::streamsize>(payload.size())) ||
      their_key != key || checksum_of(key, payload) != header.checksum) {
    return std::nullopt;
  }
  return payload;
}

std::string PluginCache::put(std::string_view key, std::span<const std::byte> bytes) const {
  if (folder_.empty()) return "no cache directory (caches.directory)";
  if (key.size() > kMaxKeyBytes) return "the key has more than 64 KiB";
  if (bytes.size() > kMaxEntryBytes) return "the entry has more than 1 GiB";
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return fmt::format("'{}': {}", folder_, error.message());
  Header header;
  header.key_bytes = key.size();
  header.payload_bytes = bytes.size();
  header.checksum = checksum_of(key, bytes);
  const std::array parts{std::as_bytes(std::span(&header, 1)), bytes_of(key), bytes};
  const std::string reason = write_atomically(path_of(key), parts, Existing::kReplace);
  return reason.empty() ? reason : fmt::format("'{}': {}", path_of(key), reason);
}

}  // namespace tenon::loader
