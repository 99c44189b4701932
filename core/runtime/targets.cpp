// Step 4 of a call: which target serves.
#include <charconv>

#include "runtime/instance.hpp"
#include "tenon/core/nearest.hpp"

namespace tenon {

std::string failed_plugins_text(const Snapshot& snapshot) {
  std::string text;
  for (const PluginRecord& record : snapshot.plugins()) {
    if (record.state != PluginState::kRejected && record.state != PluginState::kQuarantined)
      continue;
    text += (text.empty() ? "plugins that failed to load: " : ", ") + record.path + " (" +
            std::string(name_of(record.stage)) + ": " + record.reason + ")";
  }
  return text;
}

Result<TargetChoice> parse_target(const Snapshot& snapshot,
                                  const std::string& request,
                                  std::string from) {
  TargetChoice choice;
  choice.from = std::move(from);
  const std::size_t colon = request.find(':');
  choice.name = request.substr(0, colon);
  const auto names = snapshot.target_names();
  const auto unknown = [&](std::string what) {
    std::string available;
    for (const auto& n : names) available += (available.empty() ? "" : ", ") + n;
    std::string hint = "available: " + available;
    if (const auto near = did_you_mean(choice.name, names); !near.empty()) hint = near + " " + hint;
    if (const auto failed = failed_plugins_text(snapshot); !failed.empty()) hint += "; " + failed;
    return fail(Error(ErrorCode::kUnknownTarget, std::move(what))
                    .with_hint(std::move(hint))
                    .with("target", request)
                    .with("from", choice.from));
  };
  if (colon != std::string::npos) {
    const std::string digits = request.substr(colon + 1);
    std::int16_t index = -1;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (status != std::errc{} || end != digits.data() + digits.size() || index < 0) {
      return unknown("'" + request + "' is no target (from " + choice.from + "): '" + digits +
                     "' is no device index");
    }
    choice.device_index = index;
  }
  for (const DeviceKind kind : snapshot.kinds()) {
    if (kind.name() == choice.name) choice.kind = kind;
  }
  for (const auto& target : snapshot.targets()) {
    if (target->name == choice.name) choice.builder = target.get();
  }
  if (choice.name != "builtin" && !choice.kind && choice.builder == nullptr) {
    return unknown("there is no target '" + choice.name + "' (from " + choice.from + ")");
  }
  if (choice.device_index && !choice.kind) {
    return unknown("'" + request + "' is no target (from " + choice.from +
                   "): only a device kind takes an index");
  }
  return choice;
}

Result<TargetChoice> Op::Instance::choose_target() const {
  const Snapshot& snapshot = *construction.snapshot;
  if (construction.options.target)
    return parse_target(snapshot, *construction.options.target, "the instance");
  if (construction.configured.target)
    return parse_target(
        snapshot, construction.configured.target->value, construction.configured.target->from);
  const Setting<std::string> chosen = construction.engine->default_target();
  if (!chosen.value.empty()) return parse_target(snapshot, chosen.value, chosen.from);
  return TargetChoice{};
}

}  // namespace tenon
