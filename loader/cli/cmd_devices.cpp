// tenon devices: every device of every plugin.
#include <utility>

#include <fmt/format.h>

#include "run_commands.hpp"
#include "session.hpp"
#include "text.hpp"
#include "view_devices.hpp"

namespace tenon::cli {

Result<int> run_devices(const Arguments& arguments, Console& console) {
  auto session = Session::open(arguments, console);
  if (!session) return fail(std::move(session).error());
  DeviceTable& table = session->engine().devices();
  std::vector<DeviceRow> rows;
  std::vector<AbsentKind> absent;
  for (const DeviceKindEntry* kind : table.kinds()) {
    const auto devices = table.devices(kind->kind);
    if (!devices || devices->empty()) {
      const std::string reason =
          devices ? table.no_devices_reason(kind->kind) : devices.error().message();
      absent.push_back({std::string(kind->kind.name()), kind->plugin, reason});
      continue;
    }
    std::size_t hidden = 0;
    for (const DeviceEntry& entry : *devices) {
      if (!entry.failure && !table.find(entry.device)) {
        ++hidden;
        continue;
      }
      rows.push_back({entry.device,
                      kind->plugin,
                      entry.facts,
                      table.same_card_as(entry),
                      entry.failure ? entry.failure->message() : std::string()});
    }
    if (hidden == 0) continue;
    const std::string key = fmt::format("devices.visible.{}", kind->kind.name());
    console.err(fmt::format("{} of kind '{}' {} hidden by {} ({})\n",
                            counted(hidden, "device"),
                            kind->kind.name(),
                            hidden == 1 ? "is" : "are",
                            key,
                            session->config().get(key).from()));
  }
  console.out(arguments.json() ? devices_json(rows, absent)
                               : devices_text(rows, absent, console.out_style()));
  return kExitOk;
}

}  // namespace tenon::cli
