// An asynchronous device kind whose work runs only where somebody waits for it: what is not ordered
// is done in the wrong order, each time.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "core/support/scale_world.hpp"

namespace tenon::test {

/// Two devices on host memory, each with a default stream (null) and any number of others, whose
/// handles are any addresses.
struct DeferredDevices {
  using Stream = std::pair<std::int32_t, void*>;  ///< device, handle
  std::map<Stream, std::deque<std::function<void()>>> queues;
  std::vector<std::pair<void*, void*>> frees;  ///< memory, stream
  int waits = 0;
  void* capturing = nullptr;          ///< this stream, if it is not null
  bool capture_ended = false;         ///< by a wait
  tenon_status status = TENON_OK;     ///< of every function that says DEVICE now and then
  const char* left_behind = nullptr;  ///< what last_error says

  DeferredDevices() = default;
  DeferredDevices(const DeferredDevices&) = delete;
  DeferredDevices& operator=(const DeferredDevices&) = delete;
  ~DeferredDevices() {  // of what was given back last
    for (const std::int32_t device : {0, 1}) run(device);
  }

  void enqueue(std::int32_t device, void* stream, std::function<void()> work) {
    queues[{device, stream}].push_back(std::move(work));
  }
  void start_anew() {
    for (const std::int32_t device : {0, 1}) run(device);
    frees.clear();
    waits = 0;
    capturing = nullptr;
    capture_ended = false;
    status = TENON_OK;
    left_behind = nullptr;
  }
  tenon_status wait(std::int32_t device) {
    ++waits;
    if (capturing != nullptr) {
      capture_ended = true;
      return TENON_DEVICE;
    }
    run(device);
    return status;
  }

 private:
  void run(std::int32_t device) {
    for (auto& [stream, queue] : queues) {  // the default stream first
      while (stream.first == device && !queue.empty()) {
        auto work = std::move(queue.front());
        queue.pop_front();
        work();
      }
    }
  }
};

struct DeferredWorld : ScaleWorld {
  explicit DeferredWorld(EngineOptions options = {}) : ScaleWorld(std::move(options)) {
    devices().start_anew();
    kind.count = 2;
    kind.flags = TENON_DEVICE_FLAG_HOST_MEMORY;
    device_plugin->own_kind(deferred(kind.table("fake")));
    copy->launch = [](const tenon_launch& l, tenon_reason&) { return later(l, 1, 1.0f); };
  }
  ~DeferredWorld() { devices().capturing = nullptr; }
  DeferredWorld(const DeferredWorld&) = delete;
  DeferredWorld& operator=(const DeferredWorld&) = delete;

  static DeferredDevices& devices() {
    static DeferredDevices all;
    return all;
  }
  FakeRow& row(const std::string& key) {
    FakeRow& r = ScaleWorld::row(key);
    r.launch = [](const tenon_launch& l, tenon_reason&) { return later(l, 2, 2.0f); };
    return r;
  }

 private:
  // The first argument times `factor` into the one at `out`, both dense, once the stream runs.
  static tenon_status later(const tenon_launch& l, std::size_t out, float factor) {
    const tenon_tensor& x = *l.tensors[l.arg_first[0]];
    const tenon_tensor& y = *l.tensors[l.arg_first[out]];
    const auto first = [](const tenon_tensor& t) {
      return reinterpret_cast<float*>(static_cast<std::byte*>(t.data) + t.byte_offset);
    };
    devices().enqueue(
        l.device->index, l.stream, [from = first(x), to = first(y), n = x.shape[0], factor] {
          for (std::int64_t i = 0; i < n; ++i) to[i] = factor * from[i];
        });
    return devices().status;
  }
  static tenon_status failed(tenon_reason* reason) {
    if (devices().status != TENON_OK)
      std::snprintf(reason->text, sizeof reason->text, "it does not answer");
    return devices().status;
  }

  static tenon_device_kind deferred(tenon_device_kind k) {
    k.alloc = [](void*,
                 const tenon_device*,
                 std::uint32_t,
                 std::uint64_t size,
                 void*,
                 void** out,
                 tenon_reason* reason) -> tenon_status {
      if (devices().status != TENON_OK) return failed(reason);
      const auto whole = static_cast<std::size_t>((size + 255) / 256 * 256);
      *out = std::aligned_alloc(256, whole);
      std::memset(*out, 0, whole);
      return TENON_OK;
    };
    k.free = [](void*,
                const tenon_device* device,
                std::uint32_t,
                void* memory,
                std::uint64_t,
                void* stream,
                tenon_reason*) -> tenon_status {
      devices().frees.emplace_back(memory, stream);
      devices().enqueue(device->index, stream, [memory] { std::free(memory); });
      return TENON_OK;
    };
    k.copy = [](void*,
                const tenon_device* to,
                void* dst,
                const tenon_device* from,
                const void* src,
                std::uint64_t size,
                void* stream,
                tenon_reason* reason) -> tenon_status {
      const bool is_to = std::string_view(to->kind.data, to->kind.size_bytes) == "fake";
      devices().enqueue((is_to ? to : from)->index, stream, [dst, src, size] {
        std::memcpy(dst, src, static_cast<std::size_t>(size));
      });
      return failed(reason);
    };
    k.synchronize = [](void*, const tenon_device* device, tenon_reason* reason) -> tenon_status {
      const tenon_status status = devices().wait(device->index);
      if (status != TENON_OK) std::snprintf(reason->text, sizeof reason->text, "cannot wait");
      return status;
    };
    k.stream_is_capturing = [](void*,
                               const tenon_device*,
                               void* stream,
                               std::uint32_t* yes,
                               tenon_reason* reason) -> tenon_status {
      *yes = stream != nullptr && stream == devices().capturing ? 1 : 0;
      return failed(reason);
    };
    k.stream_create =
        [](void*, const tenon_device*, void** stream, tenon_reason* reason) -> tenon_status {
      if (devices().status != TENON_OK) return failed(reason);
      *stream = new char;
      return TENON_OK;
    };
    k.stream_destroy = [](void*, const tenon_device*, void* stream, tenon_reason*) -> tenon_status {
      delete static_cast<char*>(stream);
      return TENON_OK;
    };
    k.last_error =
        [](void*, const tenon_device*, std::uint32_t, tenon_reason* reason) -> tenon_status {
      if (devices().left_behind == nullptr) return TENON_OK;
      std::snprintf(reason->text, sizeof reason->text, "%s", devices().left_behind);
      return TENON_DEVICE;
    };
    return k;
  }
};

}  // namespace tenon::test
