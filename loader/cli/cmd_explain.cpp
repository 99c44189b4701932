// tenon explain: which kernel a call would get, and why each other one would not.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "app.hpp"
#include "files.hpp"
#include "plugin_templates.hpp"
#include "prepared_call.hpp"
#include "run_commands.hpp"
#include "view_devices.hpp"
#include "view_explanation.hpp"

namespace tenon::cli {
namespace {

/// Facts of devices that are not here, and which of them the call is on.
struct Assumed {
  std::string file;
  std::vector<DeviceFacts> devices;
  std::optional<Device> device;
};

Device device_of(const DeviceFacts& facts) {
  return Device{DeviceKind::of(facts.fields().kind),
                static_cast<std::int16_t>(facts.fields().index)};
}

Result<Assumed> read_assumed(const Arguments& arguments) {
  Assumed assumed;
  const auto path = arguments.value("assume");
  if (!path) return assumed;
  assumed.file = *path;
  auto text = read_text_file(*path);
  if (!text) return fail(std::move(text).error());
  TENON_TRY_ASSIGN(assumed.devices, parse_assumed(*text, *path));
  assumed.device = device_of(assumed.devices.front());
  const auto named = arguments.value("device");
  if (!named) return assumed;
  auto device = Device::parse(*named);
  if (!device) return fail(std::move(device).error());
  const bool is_there =
      std::any_of(assumed.devices.begin(), assumed.devices.end(), [&](const DeviceFacts& facts) {
        return device_of(facts) == *device;
      });
  if (!is_there) {
    std::vector<std::string> names;
    for (const DeviceFacts& facts : assumed.devices) names.push_back(device_of(facts).to_string());
    return fail(Error(ErrorCode::kUsageError,
                      fmt::format("{} has no device {}", *path, device->to_string()))
                    .with_hint(fmt::format("its devices are {}", fmt::join(names, ", "))));
  }
  assumed.device = *device;
  return assumed;
}

/// The error, and how to get the kind that the assumed device is of where no plugin here owns it.
Error with_absent_kind(Error error, const Session& session, const Assumed& assumed) {
  if (!assumed.device) return error;
  const DeviceKind kind = assumed.device->kind;
  const auto kinds = session.snapshot()->kinds();
  if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) return error;
  const std::string ways =
      is_shipped_plugin(kind.name())
          ? fmt::format(
                "Tenon's sources have a plugin '{}', and docs/gpu/README.md says what "
                "building it takes",
                kind.name())
          : fmt::format(
                "docs/vendor/README.md says how to make one, and 'tenon new-plugin NAME "
                "--device {}' begins it",
                kind.name());
  const std::string hint = fmt::format(
      "{} has facts of device kind '{}', which no plugin in use brings: --plugin-path FILE adds "
      "one that is built already; {}",
      assumed.file,
      kind.name(),
      ways);
  std::string all = error.hint().empty() ? hint : error.hint() + "; " + hint;
  return std::move(error).with_hint(std::move(all));
}

}  // namespace

Result<int> run_explain(const Arguments& arguments, Console& console) {
  auto assumed = read_assumed(arguments);
  if (!assumed) return fail(std::move(assumed).error());
  auto session = Session::open(arguments, console);
  if (!session) return fail(std::move(session).error());
  auto call = prepare_call(*session, arguments, assumed->device);
  if (!call) return fail(std::move(call).error());
  if (assumed->devices.empty()) TENON_TRY(require_device(*session, *call));
  auto specs = specs_of(*call);
  if (!specs) return fail(std::move(specs).error());
  auto op = make_instance(*session, *call);
  if (!op) return fail(with_absent_kind(std::move(op).error(), *session, *assumed));

  Explanation explanation =
      op->explain(specs->inputs, specs->out ? &*specs->out : nullptr, assumed->devices);
  if (explanation.error)
    explanation.error = with_absent_kind(std::move(*explanation.error), *session, *assumed);
  console.out(arguments.json() ? explanation_json(explanation)
                               : explanation_text(explanation, console.out_style()));
  if (!explanation.error) return kExitOk;
  console.err(error_text(*explanation.error, console.err_style()));
  return exit_status_of(*explanation.error);
}

}  // namespace tenon::cli
