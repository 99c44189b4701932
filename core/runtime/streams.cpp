// Stream scopes of a thread.
#include "runtime/streams.hpp"

#include <string>
#include <utility>
#include <vector>

#include "registry/abi_text.hpp"
#include "tenon/core/device_calls.hpp"
#include "tenon/core/op.hpp"

namespace tenon {
namespace {

std::vector<std::pair<Device, void*>>& scopes() {
  static thread_local std::vector<std::pair<Device, void*>> mine;
  return mine;
}

}  // namespace

StreamScope::StreamScope(Device device, void* stream) {
  scopes().emplace_back(device, stream);
  ++stream_scopes_of_thread;
}
StreamScope::~StreamScope() {
  scopes().pop_back();
  --stream_scopes_of_thread;
}

Result<void*> stream_for(DeviceTable& devices, const DeviceEntry& device) {
  if (stream_scopes_of_thread == 0) return devices.default_stream(device);
  const auto& mine = scopes();
  for (std::size_t i = mine.size(); i-- > 0;) {
    if (mine[i].first == device.device) return mine[i].second;
  }
  return devices.default_stream(device);
}

Result<void> require_not_capturing(DeviceTable& devices,
                                   const DeviceEntry& device,
                                   void* stream,
                                   std::string_view what) {
  const DeviceKindEntry* kind = devices.kind(device.device.kind);
  if (kind == nullptr || kind->table.stream_is_capturing == nullptr) return {};
  std::uint32_t yes = 0;
  tenon_reason reason = detail::empty_reason();
  const tenon_status status = call_owner(*kind,
                                         "stream_is_capturing",
                                         kind->table.stream_is_capturing,
                                         reason,
                                         &device.launch,
                                         stream,
                                         &yes);
  if (status != TENON_OK) {
    return fail(Error(ErrorCode::kDeviceError,
                      "asking whether a stream of " + device.device.to_string() +
                          " captures failed: " + detail::text_of(reason))
                    .with("plugin", kind->plugin));
  }
  if (yes == 0) return {};
  return fail(Error(ErrorCode::kBuildFailed,
                    std::string(what) + " is not possible while the stream of " +
                        device.device.to_string() + " captures: it may allocate and wait")
                  .with_hint("call the op once with the same shapes before the capture begins"));
}

std::optional<Error> late_error(DeviceTable& devices, const DeviceEntry& device) {
  const DeviceKindEntry* kind = devices.kind(device.device.kind);
  if (kind == nullptr || kind->table.last_error == nullptr) return std::nullopt;
  tenon_reason reason = detail::empty_reason();
  const tenon_status status = call_owner(
      *kind, "last_error", kind->table.last_error, reason, &device.launch, std::uint32_t{0});
  if (status == TENON_OK) return std::nullopt;
  const std::string why = detail::text_of(reason);
  return Error(ErrorCode::kDeviceError,
               "earlier work on " + device.device.to_string() + " failed" +
                   (why.empty() ? std::string() : ": " + why))
      .with("plugin", kind->plugin)
      .with("late", "true");
}

}  // namespace tenon
