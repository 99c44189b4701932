// What a plugin's failure becomes for the caller.
#include "runtime/plugin_errors.hpp"

#include "registry/abi_text.hpp"
#include "runtime/built_entries.hpp"
#include "tenon/core/plugin_calls.hpp"

namespace tenon {
namespace {

ErrorCode error_code(tenon_status status, ErrorCode otherwise) {
  switch (status) {
    case TENON_REFUSED:
    case kThrew:
    case kBrokeContract:
      return ErrorCode::kPluginFailed;
    case TENON_OUT_OF_MEMORY:
      return ErrorCode::kOutOfMemory;
    case TENON_DEVICE:
      return ErrorCode::kDeviceError;
    case TENON_SHUT_DOWN:
      return ErrorCode::kShutDown;
    default:
      return otherwise;
  }
}

/// The name of a required function that a built kernel lacks.
std::optional<std::string> missing_function(const tenon_kernel& kernel) {
  if (kernel.launch == nullptr) return "launch";
  if (kernel.destroy == nullptr) return "destroy";
  return std::nullopt;
}

}  // namespace

Error plugin_error(const PluginInfo& plugin,
                   const std::string& who,
                   const char* what,
                   tenon_status status,
                   const tenon_reason& reason,
                   ErrorCode otherwise) {
  std::string why = detail::text_of(reason);
  if (why.empty()) why = "status " + std::string(status_name(status)) + " without a text";
  if (status == TENON_REFUSED) why = "it answered REFUSED, which only refuse may do: " + why;
  return Error(error_code(status, otherwise), who + ": " + what + " failed: " + why)
      .with_where(plugin.path)
      .with("plugin", plugin.id)
      .with("status", std::string(status_name(status)));
}

void log_for_plugin(const PluginInfo& plugin, const std::string& text) {
  if (plugin.host != nullptr && plugin.host->log != nullptr)
    plugin.host->log(plugin.host, TENON_LOG_WARN, detail::str_of(text));
}

std::optional<Error> build_error(DeviceTable& devices,
                                 const DeviceEntry& device,
                                 const PluginInfo& plugin,
                                 const std::string& qualified,
                                 const std::string& who,
                                 tenon_status status,
                                 const tenon_reason& reason,
                                 const tenon_kernel& kernel) {
  if (status != TENON_OK) {
    if (auto late = devices.late_error(device, status, qualified)) return late;
    return plugin_error(plugin, who, "the build", status, reason, ErrorCode::kBuildFailed);
  }
  const auto missing = missing_function(kernel);
  if (!missing) return std::nullopt;
  if (kernel.destroy != nullptr) destroy_kernel(kernel, plugin, qualified);
  return Error(ErrorCode::kPluginFailed,
               who + " built a kernel without the required function '" + *missing + "'")
      .with_where(plugin.path);
}

}  // namespace tenon
