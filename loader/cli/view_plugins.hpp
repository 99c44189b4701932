// `tenon plugins` as a table and as JSON.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "console.hpp"
#include "tenon/core/plugin_record.hpp"

namespace tenon::cli {

/// A folder or file that was looked in, and the setting that named it.
struct SearchedPlace {
  std::string path;
  std::string from;
};

/// A device kind that shows no device, and why.
struct NoDevices {
  std::string kind;
  std::string reason;
};

struct PluginListing {
  std::vector<PluginRecord> plugins;
  std::vector<SearchedPlace> searched;
  /// Devices by plugin id; nothing where they were not asked for.
  std::optional<std::map<std::string, std::vector<std::string>>> devices;
  /// By plugin id, as far as devices were asked for.
  std::map<std::string, std::vector<NoDevices>> no_devices;
  /// Nothing in the environment says where the user's folder is.
  bool lacks_user_folder = false;
};

[[nodiscard]] std::string plugins_text(const PluginListing& listing,
                                       bool with_search,
                                       const Style& style);
[[nodiscard]] std::string plugins_json(const PluginListing& listing);

/// A path or reason with its line ends and tabs escaped: a name may not begin a line of its own.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace tenon::cli
