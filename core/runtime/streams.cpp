// Stream scopes of a thread.
#include "runtime/streams.hpp"

#include <utility>
#include <vector>

#include "tenon/core/op.hpp"

namespace tenon {
namespace {

std::vector<std::pair<Device, void*>>& scopes() {
  static thread_local std::vector<std::pair<Device, void*>> mine;
  return mine;
}

}  // namespace

StreamScope::StreamScope(Device device, void* stream) { scopes().emplace_back(device, stream); }
StreamScope::~StreamScope() { scopes().pop_back(); }

Result<void*> stream_for(DeviceTable& devices, const DeviceEntry& device) {
  const auto& mine = scopes();
  for (std::size_t i = mine.size(); i-- > 0;) {
    if (mine[i].first == device.device) return mine[i].second;
  }
  return devices.default_stream(device);
}

}  // namespace tenon
