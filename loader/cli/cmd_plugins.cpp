// tenon plugins: every plugin file that was found, and what became of it.
#include <string>
#include <utility>

#include <fmt/format.h>

#include "run_commands.hpp"
#include "session.hpp"
#include "tenon/loader/discovery.hpp"
#include "tenon/loader/environment.hpp"
#include "view_plugins.hpp"

namespace tenon::cli {
namespace {

/// Fills in device names by plugin, and why there are none; asking starts drivers.
void add_devices(const Session& session, PluginListing& listing) {
  DeviceTable& table = session.engine().devices();
  auto& names = listing.devices.emplace();
  for (const DeviceKindEntry* kind : table.kinds()) {
    std::vector<std::string>& of_plugin = names[kind->plugin];
    const std::string kind_name(kind->kind.name());
    const auto none = [&](std::string reason) {
      listing.no_devices[kind->plugin].push_back({kind_name, std::move(reason)});
    };
    const auto devices = table.devices(kind->kind);
    if (!devices) {
      none(devices.error().message());
      continue;
    }
    bool shows_one = false;
    for (const DeviceEntry& entry : *devices) {
      const bool hidden = !entry.failure && !table.find(entry.device);
      if (hidden) continue;
      shows_one = true;
      of_plugin.push_back(entry.device.to_string());
    }
    if (devices->empty()) {
      const std::string reason = table.no_devices_reason(kind->kind);
      none(reason.empty() ? "its owner reports none, and no reason" : reason);
    } else if (!shows_one) {
      const std::string key = "devices.visible." + kind_name;
      none(fmt::format("hidden by {} ({})", key, session.config().get(key).from()));
    }
  }
}

/// Whether the user's folder would be searched, if it were known where it is.
bool lacks_user_folder() {
  const loader::Environment environment = loader::Environment::system();
  if (environment.secure() || environment.get("TENON_PLUGIN_PATH")) return false;
  loader::DiscoveryOptions options;
  options.use_standard_folders(environment);
  return options.user_folder.empty();
}

}  // namespace

Result<int> run_plugins(const Arguments& arguments, Console& console) {
  auto session = Session::open(arguments, console);
  if (!session) return fail(std::move(session).error());
  PluginListing listing;
  listing.plugins = session->snapshot()->plugins();
  listing.searched = session->searched();
  listing.lacks_user_folder = lacks_user_folder();
  if (arguments.has("devices")) add_devices(*session, listing);
  console.out(arguments.json()
                  ? plugins_json(listing)
                  : plugins_text(listing, arguments.has("search"), console.out_style()));
  return kExitOk;
}

}  // namespace tenon::cli
