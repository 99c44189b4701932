// Scopes of streams and captures, for those who must not wait while a stream captures.
#include "registry/open_streams.hpp"

#include <algorithm>
#include <mutex>
#include <thread>

namespace tenon::detail {
namespace {

struct OpenCapture {
  const void* scope;
  Device device;
  std::thread::id thread;
  std::vector<void*> streams;
};

struct OpenCaptures {
  std::mutex mutex;
  std::vector<OpenCapture> all;
};

// Where a leak checker finds it: threads may end after static objects have.
OpenCaptures& captures() {
  static auto* const kCaptures = new OpenCaptures;
  return *kCaptures;
}

void add_once(std::vector<void*>& streams, void* stream) {
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
}

}  // namespace

std::vector<std::pair<Device, void*>>& streams_of_thread() {
  static thread_local std::vector<std::pair<Device, void*>> mine;
  return mine;
}

void capture_opened(const void* scope, Device device) {
  OpenCapture opened{scope, device, std::this_thread::get_id(), {}};
  if (stream_scopes_of_thread != 0) {
    for (const auto& [of, stream] : streams_of_thread()) {
      if (of == device) add_once(opened.streams, stream);
    }
  }
  const std::lock_guard lock(captures().mutex);
  captures().all.push_back(std::move(opened));
}

void capture_closed(const void* scope) {
  const std::lock_guard lock(captures().mutex);
  std::erase_if(captures().all, [&](const OpenCapture& open) { return open.scope == scope; });
}

void note_stream(Device device, void* stream) {
  const std::lock_guard lock(captures().mutex);
  for (OpenCapture& open : captures().all) {
    if (open.device == device && open.thread == std::this_thread::get_id())
      add_once(open.streams, stream);
  }
}

bool any_capture_open(Device device) {
  const std::lock_guard lock(captures().mutex);
  return std::any_of(captures().all.begin(), captures().all.end(), [&](const OpenCapture& open) {
    return open.device == device;
  });
}

std::vector<void*> streams_that_may_capture(Device device) {
  std::vector<void*> streams;
  if (stream_scopes_of_thread != 0) {
    for (const auto& [of, stream] : streams_of_thread()) {
      if (of == device) add_once(streams, stream);
    }
  }
  const std::lock_guard lock(captures().mutex);
  for (const OpenCapture& open : captures().all) {
    if (!(open.device == device)) continue;
    for (void* stream : open.streams) add_once(streams, stream);
  }
  return streams;
}

}  // namespace tenon::detail
