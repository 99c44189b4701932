// Where calls take memory from on a device: a capture's scope, the application's allocator; and
// what a forked child may use.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

#include "check.hpp"
#include "samples.hpp"
#include "tenon/core/capture.hpp"

namespace tenon::gpu_check {
namespace {

void tell(Bench& bench, const std::string& group, const std::string& fault) {
  if (fault.empty()) {
    bench.tally().pass(group, 0);
  } else {
    bench.tally().fail(group, fault);
  }
}

std::vector<std::byte> dense_bytes_of(Bench& bench, const TensorView& view) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(view.count()) * size_bytes_of(view.dtype));
  must(bench.devices().copy_bytes(
      Device{}, bytes.data(), bench.device(), view.first(), bytes.size()));
  return bytes;
}

/// Takes what memory is free to be taken, of the sizes that calls use, and overwrites it.
void disturb(Bench& bench, std::size_t size_bytes) {
  std::vector<Tensor> taken;
  std::vector<std::byte> poison(size_bytes, std::byte{0x5a});
  for (int i = 0; i < 8; ++i) {
    taken.push_back(must(bench.devices().make_tensor(
        DType::kUInt8, Dims{static_cast<std::int64_t>(size_bytes)}, bench.device())));
    must(bench.devices().copy_bytes(
        bench.device(), taken.back().view().first(), Device{}, poison.data(), poison.size()));
  }
}

/// Graphs and streams of the device under test.
class Graphs {
 public:
  explicit Graphs(Bench& bench)
      : bench_(bench), graph_(bench.extension<tenon_device_graph>(TENON_EXTENSION_DEVICE_GRAPH)) {
    const tenon_device_kind& kind = bench.kind();
    if (kind.stream_create(kind.context, device(), &stream_, &reason_) != TENON_OK)
      give_up(Error(ErrorCode::kDeviceError, reason_.text));
  }
  Graphs(const Graphs&) = delete;
  Graphs& operator=(const Graphs&) = delete;
  ~Graphs() { bench_.kind().stream_destroy(bench_.kind().context, device(), stream_, &reason_); }

  [[nodiscard]] void* stream() const { return stream_; }
  void begin() { graph_->begin(bench_.kind().context, device(), stream_, &reason_); }
  void* end() {
    void* captured = nullptr;
    graph_->end(bench_.kind().context, device(), stream_, &captured, &reason_);
    return captured;
  }
  void replay(void* captured) {
    graph_->launch(bench_.kind().context, device(), captured, stream_, &reason_);
    bench_.kind().stream_synchronize(bench_.kind().context, device(), stream_, &reason_);
  }
  void give_back(void* captured) {
    if (captured != nullptr) graph_->destroy(bench_.kind().context, device(), captured, &reason_);
  }

 private:
  [[nodiscard]] const tenon_device* device() const { return &bench_.entry().launch; }
  Bench& bench_;
  const tenon_device_graph* graph_;
  tenon_reason reason_ = empty_reason();
  void* stream_ = nullptr;
};

std::string captured_in_scope(Bench& bench, Graphs& graphs, Ready& ready) {
  Tensor eager;
  must(ready.op.call_into(ready.arguments, {&eager, 1}));
  must(bench.devices().synchronize(bench.entry()));
  const std::vector<std::byte> expected = dense_bytes_of(bench, eager.view());
  auto scope = must(CaptureScope::open(bench.runtime().engine(), bench.device()));
  graphs.begin();
  Tensor made;
  const auto called = on_stream(bench.device(), graphs.stream(), [&] {
    return ready.op.call_into(ready.arguments, {&made, 1});
  });
  void* const captured = graphs.end();
  if (!called) return called.error().to_string();
  if (captured == nullptr) return "the capture was lost";
  must(scope.close());
  std::string fault;
  std::vector<std::byte> poison(expected.size(), std::byte{0xa5});
  for (int replay = 0; replay < 3 && fault.empty(); ++replay) {
    must(bench.devices().copy_bytes(
        bench.device(), made.view().first(), Device{}, poison.data(), poison.size()));
    disturb(bench, expected.size());
    graphs.replay(captured);
    // Eager calls in between take nothing of the graph's.
    Tensor other;
    must(ready.op.call_into(ready.arguments, {&other, 1}));
    disturb(bench, expected.size());
    if (dense_bytes_of(bench, made.view()) != expected) fault = "a replay gave another result";
    if (other.view().first() == made.view().first()) fault = "the output was given away";
  }
  graphs.give_back(captured);
  return fault;
}

std::string captured_without_scope(Bench& bench, Graphs& graphs, Ready& ready) {
  graphs.begin();
  Tensor made;
  const auto called = on_stream(bench.device(), graphs.stream(), [&] {
    return ready.op.call_into(ready.arguments, {&made, 1});
  });
  graphs.give_back(graphs.end());
  std::printf("  an output made in a capture without a scope: %s\n",
              called ? "accepted" : called.error().to_string().c_str());
  const auto next = ready();
  if (called) return "it was accepted";
  return next ? std::string() : "the call after it: " + next.error().to_string();
}

/// A tensor whose last owner goes while its stream captures: the capture is whole, and the memory
/// is given back behind it.
std::string let_go_in_capture(Bench& bench, Graphs& graphs) {
  const auto* test = bench.extension<tenon_device_test>(TENON_EXTENSION_DEVICE_TEST);
  const auto live_bytes = [&] {
    tenon_device_counters counters{};
    counters.struct_size = sizeof(counters);
    tenon_reason reason = empty_reason();
    test->counters(bench.kind().context, &bench.entry().launch, &counters, &reason);
    return counters.live_bytes;
  };
  const std::uint64_t before = live_bytes();
  Tensor made = must(
      bench.devices().make_tensor(DType::kUInt8, Dims{1 << 20}, bench.device(), graphs.stream()));
  graphs.begin();
  made = Tensor();
  void* const captured = graphs.end();
  if (captured == nullptr) return "the capture was lost";
  graphs.give_back(captured);
  const std::uint64_t after = live_bytes();
  if (after != before)
    return "bytes in use went from " + std::to_string(before) + " to " + std::to_string(after);
  return {};
}

/// An application's pool on top of the owner's functions.
struct Pool {
  explicit Pool(const tenon_device_kind& owner, const tenon_device& on) : kind(owner), device(on) {}
  const tenon_device_kind& kind;
  const tenon_device& device;
  std::mutex mutex;
  std::set<void*> live;
  std::size_t given = 0;

  DeviceAllocator allocator() {
    return {[this](Device, std::size_t size, void* stream) -> void* {
              tenon_reason reason = empty_reason();
              void* memory = nullptr;
              kind.alloc(
                  kind.context, &device, TENON_MEMORY_DEVICE, size, stream, &memory, &reason);
              const std::lock_guard lock(mutex);
              if (memory != nullptr) live.insert(memory);
              given += memory != nullptr ? 1 : 0;
              return memory;
            },
            [this](Device, void* memory, std::size_t size, void* stream) {
              tenon_reason reason = empty_reason();
              {
                const std::lock_guard lock(mutex);
                if (live.erase(memory) == 0) std::abort();
              }
              kind.free(kind.context, &device, TENON_MEMORY_DEVICE, memory, size, stream, &reason);
            }};
  }
};

std::string with_allocator(Bench& bench, const std::vector<std::string>& plugins) {
  // Kept: a thread's workspaces go back when it ends.
  static auto* const kPool = new Pool(bench.kind(), bench.entry().launch);
  Pool& pool = *kPool;
  RuntimeOptions options;
  options.plugin_paths = plugins;
  options.standard_folders = false;
  Runtime runtime = must(Runtime::create(options));
  must(runtime.engine().devices().set_allocator(bench.device().kind, pool.allocator()));
  Bench own(std::move(runtime), bench.device());
  std::string fault;
  {
    auto ready = make_ready(own, sample_calls().front(), "");
    const std::size_t before = pool.given;
    Tensor made;
    must(ready->op.call_into(ready->arguments, {&made, 1}));
    must((*ready)());
    must(own.devices().synchronize(own.entry()));
    if (pool.given == before) fault = "the output did not come from it";
    if (pool.live.count(made.storage()->memory()) == 0) fault = "the output is not of the pool";
    if (dense_bytes_of(own, made.view()) != dense_bytes_of(own, ready->out.view()))
      fault = "two calls differ";
  }
  std::printf("  the application's allocator gave %zu pieces, %zu are still out\n",
              pool.given,
              pool.live.size());
  return fault;
}

std::string in_forked_child(Bench& bench) {
  auto ready = make_ready(bench, sample_calls().front(), "");
  for (int i = 0; i < 3; ++i) must((*ready)());
  must(bench.devices().synchronize(bench.entry()));
  Op on_cpu = must(bench.runtime().make("AddFwdOp", {}));
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const auto lost = (*ready)();
    std::printf("  in a forked child: %s\n", lost ? "accepted" : lost.error().to_string().c_str());
    int wrong = lost || lost.error().message().find("forked") == std::string::npos ? 1 : 0;
    const Tensor two = must(Tensor::host(DType::kFloat32, Dims{1}));
    two.data<float>()[0] = 2;
    const auto sum = on_cpu.call({{"self", two}, {"other", two}});
    if (!sum || (*sum)[0].data<float>()[0] != 4.0f) wrong |= 2;
    std::fflush(stdout);
    std::_Exit(wrong);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
    return "the child did not end well";
  if (WEXITSTATUS(status) != 0)
    return "in the child, status " + std::to_string(WEXITSTATUS(status));
  const auto next = (*ready)();
  return next ? std::string() : "the parent's next call: " + next.error().to_string();
}

}  // namespace

void check_memory(Bench& bench, const std::vector<std::string>& plugins) {
  {
    Graphs graphs(bench);
    over_samples(bench, [&](Ready& ready, const std::string& group) {
      tell(bench, "scope: " + group, captured_in_scope(bench, graphs, ready));
    });
    auto ready = make_ready(bench, sample_calls().front(), "");
    must((*ready)());
    Tensor warm;
    must(ready->op.call_into(ready->arguments, {&warm, 1}));
    must(on_stream(bench.device(), graphs.stream(), [&] { return (*ready)(); }));
    tell(bench, "scope: none", captured_without_scope(bench, graphs, *ready));
    tell(bench, "let go in a capture", let_go_in_capture(bench, graphs));
  }
  tell(bench, "allocator", with_allocator(bench, plugins));
  tell(bench, "fork", in_forked_child(bench));
}

}  // namespace tenon::gpu_check
