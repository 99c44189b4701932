// The board between a test and the fake plugins in its process: scripts that the fakes follow,
// counters that they keep.
//
// The test's side owns the board and announces it in TENON_FAKE_CONTROL as "<pid>:<address>" before
// it loads a plugin; a fake in another process (a probe) sees a foreign pid and uses a blank board
// of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unistd.h>

namespace tenon::test {

/// One kernel type of a fake, "alpha:fast". Zero everywhere: serves, builds and launches.
struct FakeKernel {
  char name[64] = {};

  // Script.
  std::atomic<std::uint32_t> refuse_code{0};  ///< not 0: refuses with this reason
  std::atomic<std::int64_t> refuse_above{
      0};  ///< not 0: refuses more elements than this ("n", SIZE)
  std::atomic<std::int32_t> refuse_status{0};    ///< below 0: refuse itself fails
  std::atomic<std::int32_t> build_status{0};     ///< not 0: build ends with it
  std::atomic<std::uint64_t> build_delay_ns{0};  ///< build takes so long
  std::atomic<std::int32_t> launch_status{
      0};  ///< not 0: launch ends with it, having enqueued nothing
  std::atomic<std::uint32_t> fail_launches{0};  ///< so many launches fail with DEVICE, then none
  std::atomic<std::uint64_t> workspace_bytes{0};
  std::atomic<bool> touches_workspace{false};  ///< writes all of its workspace

  // Counters.
  std::atomic<std::uint64_t> refuses{0};
  std::atomic<std::uint64_t> identities{0};
  std::atomic<std::uint64_t> builds{0};
  std::atomic<std::uint64_t> launches{0};
  std::atomic<std::uint64_t> workspaces{0};
  std::atomic<std::uint64_t> tunes{0};
  std::atomic<std::uint64_t> destroys{0};
};

/// One plugin, "alpha".
struct FakePlugin {
  char id[32] = {};
  std::atomic<std::int32_t> init_status{0};       ///< not 0: init ends with it
  std::atomic<std::int32_t> enumerate_status{0};  ///< not 0: enumerate ends with it
  std::atomic<std::uint64_t> inits{0};
  std::atomic<std::uint64_t> enumerates{0};
  std::atomic<std::uint64_t> shutdowns{0};
};

/// The mock device kind `fake`.
struct FakeDevices {
  std::atomic<std::uint32_t> count{2};
  std::atomic<std::int32_t> count_status{0};          ///< not 0: count ends with it
  std::atomic<std::uint64_t> memory_bytes{1u << 30};  ///< per device; alloc fails beyond
  std::atomic<std::uint32_t> fail_allocs{
      0};  ///< so many allocations fail with OUT_OF_MEMORY, then none
  std::atomic<std::int32_t> sticky_error{0};  ///< not 0: what last_error reports
  std::atomic<bool> lost{false};         ///< describe says LOST, every function fails with DEVICE
  std::atomic<std::uint64_t> counts{0};  ///< calls of count: whether enumeration was lazy
  std::atomic<std::uint64_t> describes{0};
  std::atomic<std::uint64_t> allocations{0};
  std::atomic<std::uint64_t> frees{0};
  std::atomic<std::uint64_t> live_bytes{0};
  std::atomic<std::uint64_t> copies{0};
  std::atomic<std::uint64_t> fills{0};
  std::atomic<std::uint64_t> synchronizations{0};
  std::atomic<std::uint64_t> streams{0};  ///< created less destroyed
  std::atomic<std::uint64_t> events{0};   ///< created less destroyed
};

/// The whole board. The same sources build test and fakes, so no version is kept.
struct FakeControl {
  static constexpr std::size_t kKernelCount = 64;
  static constexpr std::size_t kPluginCount = 32;

  FakeKernel kernels[kKernelCount];
  FakePlugin plugins[kPluginCount];
  FakeDevices devices;
  std::atomic<std::uint32_t> kernel_count{0};
  std::atomic<std::uint32_t> plugin_count{0};
  std::atomic_flag busy = ATOMIC_FLAG_INIT;

  /// The place of that name, made at first use. Both sides may ask first.
  FakeKernel& kernel(std::string_view name) {
    return place(kernels, kernel_count, kKernelCount, &FakeKernel::name, name);
  }
  FakePlugin& plugin(std::string_view id) {
    return place(plugins, plugin_count, kPluginCount, &FakePlugin::id, id);
  }

 private:
  template <class Row, std::size_t N>
  Row& place(Row* rows,
             std::atomic<std::uint32_t>& count,
             std::size_t capacity,
             char (Row::*name)[N],
             std::string_view wanted) {
    while (busy.test_and_set(std::memory_order_acquire)) {
    }
    std::uint32_t i = 0;
    while (i < count && std::string_view(rows[i].*name) != wanted) ++i;
    if (i == count && i + 1 < capacity) {
      std::memcpy(rows[i].*name, wanted.data(), wanted.size() < N ? wanted.size() : N - 1);
      ++count;
    }
    busy.clear(std::memory_order_release);
    return rows[i];
  }
};

/// The test's side: this process's board, announced to plugins that are loaded after the first
/// call.
inline FakeControl& fake_control() {
  static FakeControl& control = [&]() -> FakeControl& {
    static FakeControl made;
    char text[64];
    std::snprintf(text,
                  sizeof(text),
                  "%ld:%llu",
                  static_cast<long>(getpid()),
                  static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(&made)));
    setenv("TENON_FAKE_CONTROL", text, 1);
    return made;
  }();
  return control;
}

/// The plugin's side: the board of this process's test, or a blank one.
inline FakeControl& announced_control() {
  static FakeControl& control = []() -> FakeControl& {
    static FakeControl blank;
    const char* text = std::getenv("TENON_FAKE_CONTROL");
    if (text == nullptr) return blank;
    char* end = nullptr;
    const long pid = std::strtol(text, &end, 10);
    if (pid != static_cast<long>(getpid()) || *end != ':') return blank;
    return *reinterpret_cast<FakeControl*>(
        static_cast<std::uintptr_t>(std::strtoull(end + 1, nullptr, 10)));
  }();
  return control;
}

}  // namespace tenon::test
