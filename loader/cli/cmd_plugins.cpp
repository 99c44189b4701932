// tenon plugins: every plugin file that was found, and what became of it.
#include <utility>

#include "run_commands.hpp"
#include "session.hpp"
#include "view_plugins.hpp"

namespace tenon::cli {
namespace {

/// Device names by plugin; asking starts drivers.
std::map<std::string, std::vector<std::string>> devices_by_plugin(Engine& engine) {
  std::map<std::string, std::vector<std::string>> names;
  for (const DeviceKindEntry* kind : engine.devices().kinds()) {
    std::vector<std::string>& of_plugin = names[kind->plugin];
    const auto devices = engine.devices().devices(kind->kind);
    if (!devices) continue;  // 'tenon devices' prints the reason
    for (const DeviceEntry& entry : *devices) {
      const bool hidden = !entry.failure && !engine.devices().find(entry.device);
      if (!hidden) of_plugin.push_back(entry.device.to_string());
    }
  }
  return names;
}

}  // namespace

Result<int> run_plugins(const Arguments& arguments, Console& console) {
  auto session = Session::open(arguments, console);
  if (!session) return fail(std::move(session).error());
  PluginListing listing;
  listing.plugins = session->snapshot()->plugins();
  listing.searched = session->searched();
  if (arguments.has("devices")) listing.devices = devices_by_plugin(session->engine());
  console.out(arguments.json()
                  ? plugins_json(listing)
                  : plugins_text(listing, arguments.has("search"), console.out_style()));
  return kExitOk;
}

}  // namespace tenon::cli
