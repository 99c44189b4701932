// The mock device kind `fake`: host memory behind addresses that no host can read, asynchronous
// streams, events, capture, and every failure that FakeDevices can script. Needs no hardware.
#pragma once

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "support/fake_control.hpp"
#include "support/fake_stream.hpp"
#include "tenon/plugin.hpp"

namespace tenon::test {

class MockDevices {
 public:
  static constexpr auto kind = "fake";

  tenon::DeviceCount count() {
    ++board().counts;
    if (board().count_status != 0)
      throw tenon::Failure(board().count_status, "the fake driver does not answer");
    if (board().count == 0) return tenon::no_devices("the board says that there are none");
    return board().count.load();
  }

  void describe(std::uint32_t index, tenon_device& out) {
    static constexpr tenon_str archs[] = {{"f2", 2}, {"f1", 2}};
    ++board().describes;
    out.arch = archs[0];
    out.runs_archs = archs;
    out.n_runs_archs = 2;
    out.unit_count = 4;
    out.warp_size = 8;
    out.memory_bytes = board().memory_bytes;
    out.shared_per_block_bytes = 1024;
    out.shared_per_unit_bytes = 4096;
    out.name = tenon::to_str("Fake F2");
    static constexpr const char* pci[] = {
        "0000:f0:00.0", "0000:f1:00.0", "0000:f2:00.0", "0000:f3:00.0"};
    if (index < 4) out.pci = tenon::to_str(pci[index]);
    out.native = &default_streams_;
    if (board().lost) out.flags |= TENON_DEVICE_FLAG_LOST;
  }

  void* alloc(const tenon::DeviceFacts& device,
              std::uint32_t memory_kind,
              std::uint64_t size_bytes,
              void*) {
    fail_if_lost();
    std::uint32_t failures = board().fail_allocs;
    while (failures != 0 && !board().fail_allocs.compare_exchange_weak(failures, failures - 1)) {
    }
    if (failures != 0)
      throw tenon::Failure(TENON_OUT_OF_MEMORY, "the board says that this allocation fails");
    const std::lock_guard lock(mutex_);
    if (used_bytes_[device.index()] + size_bytes > board().memory_bytes) {
      throw tenon::Failure(TENON_OUT_OF_MEMORY, "the fake device is full");
    }
    void* host = std::aligned_alloc(256, (static_cast<std::size_t>(size_bytes) + 511) / 256 * 256);
    if (host == nullptr) throw std::bad_alloc();
    void* address = memory_kind == TENON_MEMORY_PINNED ? host : to_fake_address(host);
    used_bytes_[device.index()] += size_bytes;
    live_.insert(address);
    ++board().allocations;
    board().live_bytes += size_bytes;
    return address;
  }

  void free(const tenon::DeviceFacts& device,
            std::uint32_t,
            void* memory,
            std::uint64_t size_bytes,
            void* stream) {
    {
      const std::lock_guard lock(mutex_);
      if (live_.erase(memory) == 0)
        throw tenon::Failure(TENON_INVALID_ARGUMENT, "no allocation of this device kind");
      used_bytes_[device.index()] -= size_bytes;
    }
    ++board().frees;
    board().live_bytes -= size_bytes;
    queue(device, stream).push([memory] { std::free(from_fake_address(memory)); });
  }

  void copy(const tenon::DeviceFacts& dst_device,
            void* dst,
            const tenon::DeviceFacts& src_device,
            const void* src,
            std::uint64_t size_bytes,
            void* stream) {
    fail_if_lost();
    ++board().copies;
    const tenon::DeviceFacts& device = dst_device.kind() == kind ? dst_device : src_device;
    queue(device, stream).push([dst, src, size_bytes] {
      std::memmove(
          from_fake_address(dst), from_fake_address(src), static_cast<std::size_t>(size_bytes));
    });
  }

  void fill(const tenon::DeviceFacts& device,
            void* dst,
            std::uint8_t value,
            std::uint64_t size_bytes,
            void* stream) {
    fail_if_lost();
    ++board().fills;
    queue(device, stream).push([dst, value, size_bytes] {
      std::memset(from_fake_address(dst), value, static_cast<std::size_t>(size_bytes));
    });
  }

  tenon::MemoryInfo mem_info(const tenon::DeviceFacts& device) {
    const std::lock_guard lock(mutex_);
    return {board().memory_bytes - used_bytes_[device.index()], board().memory_bytes};
  }

  void* stream_create(const tenon::DeviceFacts&) {
    fail_if_lost();
    auto made = std::make_unique<StreamQueue>();
    ++board().streams;
    const std::lock_guard lock(mutex_);
    return static_cast<FakeStream*>(streams_.emplace(made.get(), std::move(made)).first->first);
  }
  void stream_destroy(const tenon::DeviceFacts&, void* stream) {
    std::unique_ptr<StreamQueue> gone;
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(static_cast<StreamQueue*>(static_cast<FakeStream*>(stream)));
    if (found == streams_.end())
      throw tenon::Failure(TENON_INVALID_ARGUMENT, "no stream of this device kind");
    gone = std::move(found->second);
    streams_.erase(found);
    --board().streams;
  }
  void* stream_default(const tenon::DeviceFacts& device) {
    return static_cast<FakeStream*>(&queue(device, nullptr));
  }
  void stream_synchronize(const tenon::DeviceFacts& device, void* stream) {
    fail_if_lost();
    ++board().synchronizations;
    queue(device, stream).wait();
  }
  void stream_wait_event(const tenon::DeviceFacts& device, void* stream, void* event) {
    queue(device, stream).push(static_cast<EventState*>(event)->wait());
  }
  bool stream_is_capturing(const tenon::DeviceFacts& device, void* stream) {
    return queue(device, stream).capturing();
  }

  void* event_create(const tenon::DeviceFacts&) {
    ++board().events;
    return new EventState();
  }
  void event_record(const tenon::DeviceFacts& device, void* event, void* stream) {
    queue(device, stream).push(static_cast<EventState*>(event)->record());
  }
  bool event_query(const tenon::DeviceFacts&, void* event) {
    return static_cast<EventState*>(event)->done();
  }
  std::uint64_t event_elapsed_ns(const tenon::DeviceFacts&, void* start, void* end) {
    const auto elapsed =
        static_cast<EventState*>(end)->passed_at() - static_cast<EventState*>(start)->passed_at();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
  }
  void event_destroy(const tenon::DeviceFacts&, void* event) {
    --board().events;
    delete static_cast<EventState*>(event);
  }

  void synchronize(const tenon::DeviceFacts& device) {
    fail_if_lost();
    ++board().synchronizations;
    queue(device, nullptr).wait();
    std::vector<StreamQueue*> all;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [handle, owned] : streams_) all.push_back(handle);
    }
    for (StreamQueue* each : all) each->wait();
  }

  void last_error(const tenon::DeviceFacts&, bool clear) {
    const std::int32_t status =
        clear ? board().sticky_error.exchange(0) : board().sticky_error.load();
    if (status != 0) throw tenon::Failure(status, "an earlier launch on the fake device failed");
    fail_if_lost();
  }

  const void* extension(std::string_view name, std::uint32_t min_version) {
    if (min_version > 1) return nullptr;
    if (name == TENON_EXTENSION_DEVICE_GRAPH) return &kGraph;
    if (name == TENON_EXTENSION_DEVICE_TEST) return &kTest;
    return nullptr;
  }

 private:
  static FakeDevices& board() { return announced_control().devices; }
  static void fail_if_lost() {
    if (board().lost) throw tenon::Failure(TENON_DEVICE, "the fake device is lost");
  }
  static MockDevices& self(void* context) { return *static_cast<MockDevices*>(context); }

  StreamQueue& queue(const tenon::DeviceFacts& device, void* stream) {
    if (stream != nullptr) return *static_cast<StreamQueue*>(static_cast<FakeStream*>(stream));
    const std::lock_guard lock(mutex_);
    std::unique_ptr<StreamQueue>& made = default_streams_[device.index()];
    if (made == nullptr) made = std::make_unique<StreamQueue>();
    return *made;
  }

  static tenon_status graph_begin(void* c,
                                  const tenon_device* d,
                                  void* stream,
                                  tenon_reason* why) noexcept {
    return tenon::detail::guarded(why, [&] {
      if (!self(c).queue(tenon::DeviceFacts(*d), stream).begin_capture()) {
        throw tenon::Failure(TENON_INVALID_ARGUMENT, "the stream captures already");
      }
    });
  }
  static tenon_status graph_end(
      void* c, const tenon_device* d, void* stream, void** graph, tenon_reason* why) noexcept {
    return tenon::detail::guarded(why, [&] {
      auto captured = self(c).queue(tenon::DeviceFacts(*d), stream).end_capture();
      if (captured == nullptr)
        throw tenon::Failure(TENON_INVALID_ARGUMENT, "the stream does not capture");
      *graph = captured.release();
    });
  }
  static tenon_status graph_launch(
      void* c, const tenon_device* d, void* graph, void* stream, tenon_reason* why) noexcept {
    return tenon::detail::guarded(why, [&] {
      for (const Work& step : static_cast<FakeGraph*>(graph)->steps) {
        self(c).queue(tenon::DeviceFacts(*d), stream).push(step);
      }
    });
  }
  static tenon_status graph_destroy(void*,
                                    const tenon_device*,
                                    void* graph,
                                    tenon_reason*) noexcept {
    delete static_cast<FakeGraph*>(graph);
    return TENON_OK;
  }
  static tenon_status test_delay(void* c,
                                 const tenon_device* d,
                                 void* stream,
                                 std::uint64_t delay_ns,
                                 tenon_reason* why) noexcept {
    return tenon::detail::guarded(why, [&] {
      self(c).queue(tenon::DeviceFacts(*d), stream).push([delay_ns] {
        std::this_thread::sleep_for(std::chrono::nanoseconds(delay_ns));
      });
    });
  }
  static tenon_status test_counters(void*,
                                    const tenon_device*,
                                    tenon_device_counters* out,
                                    tenon_reason*) noexcept {
    out->allocations = board().allocations;
    out->frees = board().frees;
    out->synchronizations = board().synchronizations;
    out->live_bytes = board().live_bytes;
    return TENON_OK;
  }
  static constexpr tenon_device_graph kGraph{
      sizeof(tenon_device_graph), &graph_begin, &graph_end, &graph_launch, &graph_destroy};
  static constexpr tenon_device_test kTest{sizeof(tenon_device_test), &test_delay, &test_counters};

  std::mutex mutex_;
  std::map<StreamQueue*, std::unique_ptr<StreamQueue>> streams_;
  std::map<std::int32_t, std::unique_ptr<StreamQueue>> default_streams_;
  std::map<std::int32_t, std::uint64_t> used_bytes_;
  std::set<void*> live_;
};

}  // namespace tenon::test
