// A plugin's store of bytes on disk: one file per key, whole or absent.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::loader {

/// Entries under DIRECTORY/plugins/ID/BUILD. Processes share it: an entry is written to a name of
/// its own and renamed, and one that is truncated, corrupt or foreign counts as absent. Nothing
/// here is an error to the caller: without a usable folder every key is absent and every put
/// declined.
class PluginCache {
 public:
  PluginCache() = default;  ///< without a folder
  PluginCache(const std::string& directory, const std::string& id, const std::string& build);

  [[nodiscard]] std::optional<std::vector<std::byte>> get(std::string_view key) const;
  /// The reason why it was not kept; empty if it was.
  [[nodiscard]] std::string put(std::string_view key, std::span<const std::byte> bytes) const;
  /// The file of a key.
  [[nodiscard]] std::string path_of(std::string_view key) const;

 private:
  std::string folder_;
};

}  // namespace tenon::loader
