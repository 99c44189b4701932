// tenon targets: what can be asked to serve calls, and what serves unasked.
#include <algorithm>
#include <set>
#include <utility>

#include "run_commands.hpp"
#include "session.hpp"
#include "tenon/core/plugin_calls.hpp"
#include "view_ops.hpp"
#include "view_targets.hpp"

namespace tenon::cli {
namespace {

/// Usable devices of all kinds.
std::vector<DeviceEntry> all_devices(DeviceTable& table) {
  std::vector<DeviceEntry> all;
  for (const DeviceKindEntry* kind : table.kinds()) {
    const auto devices = table.devices(kind->kind);
    if (!devices) continue;
    for (const DeviceEntry& entry : *devices) {
      if (table.find(entry.device)) all.push_back(entry);  // neither failed nor hidden
    }
  }
  return all;
}

/// Detection asks a builder target only on the kinds that its own plugin owns.
bool claims(const BuilderTarget& target, const DeviceEntry& entry, const Snapshot& snapshot) {
  const bool serves_kind =
      std::find(target.kinds.begin(), target.kinds.end(), entry.device.kind) != target.kinds.end();
  if (!serves_kind || snapshot.owner_of(entry.device.kind) != target.plugin->id) return false;
  std::uint32_t yes = 0;
  tenon_reason unused{};
  const tenon_status status = call_plugin("claims", target.qualified, unused, [&] {
    return target.row.claims(target.row.context, &entry.facts.abi(), &yes);
  });
  return status == TENON_OK && yes != 0;
}

TargetRow kind_row(DeviceKind kind, const Snapshot& snapshot) {
  TargetRow row;
  row.name = std::string(kind.name());
  row.plugin = std::string(snapshot.owner_of(kind));
  row.kinds = {row.name};
  for (const auto& [full_name, op] : snapshot.ops()) {
    const bool served =
        std::any_of(op.interfaces.begin(), op.interfaces.end(), [&](const InterfaceTable& table) {
          return std::any_of(table.types.begin(), table.types.end(), [&](const auto& type) {
            return type->serves(kind);
          });
        });
    if (served) row.ops.push_back(short_name(op.plan->decl()));
  }
  return row;
}

std::string typed_name(const std::string& full_name) {
  constexpr std::string_view kOwn = "tenon::";
  return full_name.starts_with(kOwn) ? full_name.substr(kOwn.size()) : full_name;
}

}  // namespace

Result<int> run_targets(const Arguments& arguments, Console& console) {
  auto session = Session::open(arguments, console);
  if (!session) return fail(std::move(session).error());
  const auto snapshot = session->snapshot();
  const std::vector<DeviceEntry> devices = all_devices(session->engine().devices());
  std::set<std::string> claimed;
  std::vector<TargetRow> builders;
  for (const auto& target : snapshot->targets()) {
    TargetRow row;
    row.name = target->name;
    row.is_builder = true;
    row.plugin = target->plugin->id;
    for (const DeviceKind kind : target->kinds) row.kinds.emplace_back(kind.name());
    for (const std::string& op : target->ops) row.ops.push_back(typed_name(op));
    for (const DeviceEntry& entry : devices) {
      if (!claims(*target, entry, *snapshot)) continue;
      row.claims.push_back(entry.device.to_string());
      claimed.insert(row.claims.back());
    }
    builders.push_back(std::move(row));
  }
  std::vector<TargetRow> rows(1);
  rows.front().name = "builtin";
  rows.front().serves_all = true;
  for (const DeviceKind kind : snapshot->kinds()) rows.front().kinds.emplace_back(kind.name());
  for (const DeviceEntry& entry : devices) {
    if (!claimed.contains(entry.device.to_string()))
      rows.front().claims.push_back(entry.device.to_string());
  }
  for (const DeviceKind kind : snapshot->kinds()) rows.push_back(kind_row(kind, *snapshot));
  rows.insert(rows.end(), builders.begin(), builders.end());
  console.out(arguments.json() ? targets_json(rows) : targets_text(rows, console.out_style()));
  return kExitOk;
}

}  // namespace tenon::cli
