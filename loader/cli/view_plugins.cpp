// `tenon plugins` as a table and as JSON.
#include "view_plugins.hpp"

#include <fmt/format.h>

#include "json.hpp"
#include "text.hpp"

namespace tenon::cli {
namespace {

Ink ink_of(PluginState state) {
  switch (state) {
    case PluginState::kActive:
      return Ink::kGood;
    case PluginState::kRejected:
    case PluginState::kQuarantined:
      return Ink::kBad;
    default:
      return Ink::kDim;
  }
}

void add_plugin(Table& table, const PluginRecord& plugin, const PluginListing& listing) {
  std::string devices;
  if (listing.devices) {
    const auto found = listing.devices->find(plugin.id);
    if (found != listing.devices->end()) devices = joined(found->second);
  }
  table.row({plugin.id.empty() ? "?" : plugin.id,
             plugin.version,
             plugin.vendor,
             Cell(std::string(name_of(plugin.state)), ink_of(plugin.state)),
             std::to_string(plugin.ops.size()),
             std::to_string(plugin.kernel_types),
             joined(plugin.kinds),
             devices});
  table.note(one_line(plugin.path));
  if (plugin.state != PluginState::kActive) {
    // What was taken out of the list failed at no stage.
    const bool failed =
        plugin.state == PluginState::kRejected || plugin.state == PluginState::kQuarantined;
    table.remark(failed ? fmt::format("{} at stage {}: {}",
                                      status_name(plugin.code),
                                      name_of(plugin.stage),
                                      one_line(plugin.reason))
                        : one_line(plugin.reason),
                 ink_of(plugin.state));
  }
  const auto none = listing.no_devices.find(plugin.id);
  if (none != listing.no_devices.end()) {
    for (const auto& [kind, reason] : none->second)
      table.remark(fmt::format("no device of kind {}: {}", kind, one_line(reason)));
  } else if (listing.devices && plugin.state == PluginState::kActive && plugin.kinds.empty()) {
    table.remark("no devices: it owns no device kind");
  }
  for (const RejectedRow& row : plugin.rejected_rows) {
    table.remark(fmt::format("left out: kernel type {} of {}, interface {}: {}",
                             row.key,
                             row.op,
                             row.interface,
                             row.reason),
                 Ink::kWarn);
  }
  for (const std::string& pending : plugin.pending)
    table.remark(fmt::format("waits for {}", pending));
}

Json to_json(const RejectedRow& row) {
  Json json;
  json["op"] = row.op;
  json["interface"] = row.interface;
  json["key"] = row.key;
  json["code"] = status_name(row.code);
  json["reason"] = row.reason;
  return json;
}

Json to_json(const PluginRecord& plugin, const PluginListing& listing) {
  Json json;
  json["id"] = plugin.id;
  json["version"] = plugin.version;
  json["vendor"] = plugin.vendor;
  json["path"] = plugin.path;
  json["from"] = plugin.from;
  json["state"] = name_of(plugin.state);
  json["stage"] = name_of(plugin.stage);
  json["code"] = status_name(plugin.code);
  json["reason"] = plugin.reason;
  json["abi"] = {{"major", plugin.abi_major}, {"minor", plugin.abi_minor}};
  json["kinds"] = plugin.kinds;
  json["devices"] = nullptr;
  if (listing.devices) {
    const auto found = listing.devices->find(plugin.id);
    json["devices"] = found == listing.devices->end() ? std::vector<std::string>{} : found->second;
  }
  json["no_devices"] = listing.devices ? Json::array() : Json(nullptr);
  if (const auto none = listing.no_devices.find(plugin.id); none != listing.no_devices.end()) {
    for (const auto& [kind, reason] : none->second)
      json["no_devices"].push_back({{"kind", kind}, {"reason", reason}});
  }
  json["targets"] = plugin.targets;
  json["ops"] = plugin.ops;
  json["kernel_types"] = plugin.kernel_types;
  json["rejected_rows"] = Json::array();
  for (const RejectedRow& row : plugin.rejected_rows) json["rejected_rows"].push_back(to_json(row));
  json["pending"] = plugin.pending;
  return json;
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n' || c == '\t') {
      line += c == '\n' ? "\\x0a" : "\\x09";
    } else {
      line += c;
    }
  }
  return line;
}

std::string plugins_text(const PluginListing& listing, bool with_search, const Style& style) {
  std::string text;
  if (listing.plugins.empty()) {
    text +=
        paragraph("no plugin was found; 'tenon plugins --search' prints where they were looked for",
                  0,
                  style);
  } else {
    Table table({{"PLUGIN"},
                 {"VERSION"},
                 {"VENDOR", false, true},
                 {"STATE"},
                 {"OPS", true},
                 {"KERNELS", true},
                 {"KINDS", false, true},
                 {"DEVICES", false, true}});
    for (const PluginRecord& plugin : listing.plugins) add_plugin(table, plugin, listing);
    text += table.render(style);
  }
  if (!with_search) return text;
  text += '\n' + inked("SEARCHED, in this order", Ink::kBold, style) + '\n';
  for (const SearchedPlace& place : listing.searched)
    text += fmt::format("  {}  ({})\n", one_line(place.path), one_line(place.from));
  if (listing.searched.empty()) text += "  nowhere\n";
  if (listing.lacks_user_folder) {
    text += paragraph(
        "no user folder is searched: neither XDG_DATA_HOME nor HOME is an absolute path", 2, style);
  }
  return text;
}

std::string plugins_json(const PluginListing& listing) {
  Json json = document();
  json["searched"] = Json::array();
  for (const SearchedPlace& place : listing.searched) {
    json["searched"].push_back({{"path", place.path}, {"from", place.from}});
  }
  json["plugins"] = Json::array();
  for (const PluginRecord& plugin : listing.plugins)
    json["plugins"].push_back(to_json(plugin, listing));
  return text_of(json);
}

}  // namespace tenon::cli
