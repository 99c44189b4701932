// Step 4 of a call: which target serves.
#include <charconv>
#include <optional>

#include "registry/abi_text.hpp"
#include "runtime/instance.hpp"
#include "runtime/plugin_errors.hpp"
#include "tenon/core/nearest.hpp"
#include "tenon/core/plugin_calls.hpp"

namespace tenon {

std::string failed_plugins_text(const Snapshot& snapshot) {
  std::string failed;
  std::string disabled;
  for (const PluginRecord& record : snapshot.plugins()) {
    if (record.state == PluginState::kRejected || record.state == PluginState::kQuarantined) {
      failed += (failed.empty() ? "plugins that failed to load: " : ", ") + record.path + " (" +
                std::string(name_of(record.stage)) + ": " + record.reason + ")";
    } else if (record.state == PluginState::kDisabled) {
      disabled += (disabled.empty() ? "plugins that are disabled: " : ", ") + record.id + " (" +
                  record.reason + ")";
    }
  }
  return failed + (failed.empty() || disabled.empty() ? "" : "; ") + disabled;
}

Error target_mismatch(const TargetChoice& target, Device device) {
  std::string serves = target.kind ? std::string(target.kind->name()) : target.name;
  if (target.builder != nullptr) {
    serves.clear();
    for (const DeviceKind kind : target.builder->kinds)
      serves += (serves.empty() ? "" : ", ") + std::string(kind.name());
  }
  if (target.device_index) {
    serves += ':';
    serves += std::to_string(*target.device_index);
  }
  return Error(ErrorCode::kTargetMismatch,
               "the call is on " + device.to_string() + ", but target '" + target.name +
                   "' (from " + target.from + ") serves device " +
                   (target.device_index ? "" : "kind ") + serves)
      .with_hint("move the tensors there, or choose another target; a target never moves a tensor");
}

namespace {

/// The device index that the whole text spells; none where it spells no such number.
std::optional<std::int16_t> index_of(std::string_view digits) {
  std::int16_t index = -1;
  const char* const last = digits.data() + digits.size();
  const auto [end, status] = std::from_chars(digits.data(), last, index);
  if (status != std::errc{} || end != last || index < 0) return std::nullopt;
  return index;
}

}  // namespace

Result<TargetChoice> parse_target(const Snapshot& snapshot,
                                  const std::string& request,
                                  std::string from,
                                  std::span<const std::string> assumed_kinds) {
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
    choice.device_index = index_of(digits);
    if (!choice.device_index) {
      return unknown("'" + request + "' is no target (from " + choice.from + "): '" + digits +
                     "' is no device index");
    }
  }
  for (const DeviceKind kind : snapshot.kinds()) {
    if (kind.name() == choice.name) choice.kind = kind;
  }
  for (const std::string& kind : assumed_kinds) {
    if (kind == choice.name) choice.kind = DeviceKind::of(kind);
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

Result<TargetChoice> detect_target(const Snapshot& snapshot, const DeviceEntry& device) {
  const std::string_view owner = snapshot.owner_of(device.device.kind);
  std::vector<const BuilderTarget*> claiming;
  for (const auto& target : snapshot.targets()) {
    if (target->plugin->id != owner || !target->serves(device.device.kind)) continue;
    std::uint32_t yes = 0;
    tenon_reason reason = detail::empty_reason();
    const tenon_status status = call_plugin("claims", target->qualified, reason, [&] {
      return target->row.claims(target->row.context, &device.facts.abi(), &yes);
    });
    if (status == kThrew) {
      return fail(plugin_error(*target->plugin,
                               "target '" + target->qualified + "'",
                               "claims",
                               status,
                               reason,
                               ErrorCode::kPluginFailed));
    }
    if (status == TENON_OK && yes != 0) claiming.push_back(target.get());
  }
  TargetChoice choice;
  if (claiming.empty()) return choice;
  if (claiming.size() > 1) {
    std::string names;
    for (const BuilderTarget* t : claiming) names += (names.empty() ? "'" : ", '") + t->name + "'";
    return fail(Error(ErrorCode::kAmbiguousTarget,
                      "targets " + names + " of plugin '" + std::string(owner) + "' all claim " +
                          device.device.to_string())
                    .with_hint("name one with `target`"));
  }
  choice.name = claiming.front()->name;
  choice.builder = claiming.front();
  return choice;
}

Result<std::optional<TargetChoice>> Op::Instance::requested_target() const {
  const auto parsed = [&](const std::string& name,
                          const std::string& from) -> Result<std::optional<TargetChoice>> {
    auto choice =
        parse_target(*construction.snapshot, name, from, construction.options.assumed_kinds);
    if (!choice) return fail(std::move(choice).error());
    return std::optional<TargetChoice>(std::move(*choice));
  };
  const ConstructionGroup& c = asking().construction;
  if (c.options.target) return parsed(*c.options.target, "the instance");
  if (c.configured.target) return parsed(c.configured.target->value, c.configured.target->from);
  const Setting<std::string> chosen = construction.engine->default_target();
  if (!chosen.value.empty()) return parsed(chosen.value, chosen.from);
  return std::optional<TargetChoice>();
}

Result<TargetChoice> Op::Instance::choose_target(Device device) const {
  auto requested = requested_target();
  if (!requested) return fail(std::move(requested).error());
  if (*requested) return std::move(**requested);
  auto entry = engine().devices->find(device);
  if (!entry) return TargetChoice{};  // the call itself says what is wrong with its device
  return detect_target(*construction.snapshot, **entry);
}

}  // namespace tenon
