// Stream scopes of a thread.
#include "runtime/streams.hpp"

#include <string>

#include "registry/abi_text.hpp"
#include "tenon/core/device_calls.hpp"
#include "tenon/core/op.hpp"

namespace tenon {

StreamScope::StreamScope(Device device, void* stream) {
  detail::streams_of_thread().emplace_back(device, stream);
  ++stream_scopes_of_thread;
  if (open_captures_of_thread != 0) detail::note_stream(device, stream);
}
StreamScope::~StreamScope() {
  detail::streams_of_thread().pop_back();
  --stream_scopes_of_thread;
}

Result<void*> stream_for(DeviceTable& devices, const DeviceEntry& device) {
  if (stream_scopes_of_thread == 0) return devices.default_stream(device);
  const auto& mine = detail::streams_of_thread();
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
    return fail(devices.function_error(
        device,
        "stream_is_capturing",
        "asking whether a stream of " + device.device.to_string() + " captures",
        status,
        reason));
  }
  if (yes == 0) return {};
  return fail(Error(ErrorCode::kBuildFailed,
                    std::string(what) + " is not possible while the stream of " +
                        device.device.to_string() + " captures: it may allocate and wait")
                  .with_hint("call the op once with the same shapes before the capture begins"));
}

}  // namespace tenon
