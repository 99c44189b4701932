// The owner of the device kind and the checks of errors and streams, over a fake runtime of two
// devices whose library is shared with the application.
#include "host/device_kind.hpp"

#include <string>

#include <doctest/doctest.h>

#include "fake_runtime/fake_runtime.hpp"
#include "host/check.hpp"

namespace tenon::gpu {
namespace {

using fake_runtime::code;
using fake_runtime::state;

constexpr std::uint64_t kSize = 256;

class Bench {
 public:
  explicit Bench(bool pools = true) {
    fake_runtime::reset();
    state().pools = pools;
    for (std::int32_t i = 0; i < 2; ++i) {
      raw_[i].struct_size = sizeof(tenon_device);
      raw_[i].kind = to_str(kKind);
      raw_[i].index = i;
    }
    host_.struct_size = sizeof(tenon_device);
    host_.kind = to_str("cpu");
  }

  [[nodiscard]] DeviceFacts device(int index = 0) const { return DeviceFacts(raw_[index]); }
  [[nodiscard]] DeviceFacts host() const { return DeviceFacts(host_); }
  void* alloc(void* stream, std::uint32_t kind = TENON_MEMORY_DEVICE) {
    return devices.alloc(device(), kind, kSize, stream);
  }
  void free(void* memory, void* stream, std::uint32_t kind = TENON_MEMORY_DEVICE) {
    devices.free(device(), kind, memory, kSize, stream);
  }
  [[nodiscard]] std::uint64_t live_bytes() {
    tenon_device_counters counters{};
    devices.read_counters(0, counters);
    return counters.live_bytes;
  }

  GpuDevices devices{Host()};

 private:
  tenon_device raw_[2]{};
  tenon_device host_{};
};

/// The status and the words of what is thrown; "0" where nothing is.
template <class Body>
std::string thrown(Body body) {
  try {
    body();
  } catch (const Failure& failure) {
    return std::to_string(failure.status()) + " " + failure.what();
  }
  return "0";
}
bool begins(const std::string& text, int status) {
  return text.find(std::to_string(status) + " ") == 0;
}

void check_let_go_in_capture(bool pools, std::uint32_t kind) {
  CAPTURE(pools);
  CAPTURE(kind);
  Bench bench(pools);
  void* const stream = bench.devices.stream_create(bench.device());
  void* const memory = bench.alloc(stream, kind);
  bench.devices.graph_begin(0, stream);

  bench.free(memory, stream, kind);

  CHECK(state().memory.count(memory) == 1);
  CHECK(bench.live_bytes() == kSize);
  CHECK(thrown([&] { bench.devices.graph_end(0, stream); }) == "0");
  CHECK(state().memory.empty());
  CHECK(bench.live_bytes() == 0);
}

}  // namespace

TEST_SUITE("plugins/gpu/device_kind") {
  TEST_CASE("memory let go while its stream captures leaves the capture whole and is given back") {
    for (const std::uint32_t kind :
         {TENON_MEMORY_DEVICE, TENON_MEMORY_PINNED, TENON_MEMORY_MANAGED}) {
      check_let_go_in_capture(true, kind);
      check_let_go_in_capture(false, kind);
    }
  }

  TEST_CASE("what a capture kept goes back at calls on other streams, if the plugin made its own") {
    Bench bench;
    void* const stream = bench.devices.stream_create(bench.device());
    void* const memory = bench.alloc(stream);
    auto* const raw = static_cast<Stream>(stream);
    mcStreamBeginCapture(raw, mcStreamCaptureModeThreadLocal);
    bench.free(memory, stream);

    void* const other = bench.alloc(nullptr);  // it captures still
    CHECK(state().memory.count(memory) == 1);
    mcGraph_t graph{};
    CHECK(mcStreamEndCapture(raw, &graph) == mcSuccess);
    bench.free(other, nullptr);

    CHECK(state().memory.empty());
  }

  TEST_CASE("a stream of the application is asked only while it is sure to exist") {
    Bench bench;
    mcStream_t stream{};
    mcStreamCreateWithFlags(&stream, mcStreamNonBlocking);
    void* const memory = bench.alloc(stream);
    mcStreamBeginCapture(stream, mcStreamCaptureModeThreadLocal);
    bench.free(memory, stream);
    mcGraph_t graph{};
    CHECK(mcStreamEndCapture(stream, &graph) == mcSuccess);

    SUBCASE("named again, what it kept goes back") {
      bench.free(bench.alloc(stream), stream);
      CHECK(state().memory.empty());
    }
    SUBCASE("given back by the application, the whole device is waited for") {
      mcStreamDestroy(stream);
      bench.free(bench.alloc(nullptr), nullptr);
      CHECK(state().memory.size() == 1);
      bench.devices.synchronize(bench.device());
      CHECK(state().memory.empty());
      CHECK(state().asked_of_dead_streams == 0);
    }
  }

  TEST_CASE("what was kept when the plugin ends is given back") {
    fake_runtime::reset();
    mcStream_t stream{};
    {
      Bench bench;
      mcStreamCreateWithFlags(&stream, mcStreamNonBlocking);
      void* const memory = bench.alloc(stream);
      mcStreamBeginCapture(stream, mcStreamCaptureModeThreadLocal);
      bench.free(memory, stream);
      mcGraph_t graph{};
      mcStreamEndCapture(stream, &graph);
      REQUIRE(state().memory.size() == 1);
    }
    CHECK(state().memory.empty());
  }

  TEST_CASE(
      "an error that the application left is its own, and neither fails a call nor is eaten") {
    Bench bench;
    constexpr int kPeerEnabled = 704;
    state().last = code(kPeerEnabled);

    CHECK(thrown([&] {
            bench.devices.delay(0, bench.devices.stream_default(bench.device()), 1);
          }) == "0");
    void* const memory = bench.alloc(nullptr);
    bench.free(memory, nullptr);
    CHECK(thrown([&] { bench.devices.last_error(bench.device(), true); }) == "0");
    CHECK(state().last == code(kPeerEnabled));

    state().launch = code(9);
    const std::string own =
        thrown([&] { bench.devices.delay(0, bench.devices.stream_default(bench.device()), 1); });
    CHECK(begins(own, TENON_DEVICE));
    CHECK(own.find("mcError9") != std::string::npos);
    CHECK(state().last == mcSuccess);
  }

  TEST_CASE("an event that has not passed leaves no error behind") {
    Bench bench;

    CHECK_FALSE(bench.devices.event_query(bench.device(), nullptr));

    CHECK(state().last == mcSuccess);
  }

  TEST_CASE("a device is lost by each error after which no call succeeds, and by no other") {
    for (const int ends :
         {214, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911})
      CHECK(ends_device(code(ends)));
    for (const int passes : {1, 2, 9, 400, 600, 701, 704, 720, 800, 900, 901, 999})
      CHECK_FALSE(ends_device(code(passes)));

    // A device that no other case uses: what is lost stays lost.
    fake_runtime::reset();
    state().last = code(721);
    CHECK(begins(thrown([] { check_launch("launching", 7, code(721)); }), TENON_DEVICE));
    CHECK(loss_of(7).is_lost());
    CHECK(loss_of(7).why().find("mcError721") != std::string::npos);
  }

  TEST_CASE("a copy from one device to the other takes a stream of either") {
    Bench bench;
    void* const here = bench.alloc(nullptr);
    void* const there = bench.devices.alloc(bench.device(1), TENON_MEMORY_DEVICE, kSize, nullptr);
    for (const int of : {0, 1}) {
      CAPTURE(of);
      void* const stream = bench.devices.stream_create(bench.device(of));
      CHECK(thrown([&] {
              bench.devices.copy(bench.device(1), there, bench.device(0), here, kSize, stream);
            }) == "0");
      CHECK(state().copied_on == of);
      CHECK(state().current == 0);
    }
    void* const wrong = bench.devices.stream_create(bench.device(1));
    char bytes[kSize];
    CHECK(begins(thrown([&] {
                   bench.devices.copy(bench.host(), bytes, bench.device(0), here, kSize, wrong);
                 }),
                 TENON_INVALID_ARGUMENT));
  }

  TEST_CASE("a handle that was given back and made again elsewhere is another stream") {
    Bench bench;
    void* const memory = bench.alloc(nullptr);
    void* const stream = bench.devices.stream_create(bench.device(0));
    require_stream_of(0, static_cast<Stream>(stream));
    // As the runtime may: the same handle for a stream of the other device.
    SUBCASE("through the plugin, launches know") {
      bench.devices.stream_destroy(bench.device(0), stream);
      state().streams[static_cast<Stream>(stream)] = {1, false, false};
      CHECK(begins(thrown([&] { require_stream_of(0, static_cast<Stream>(stream)); }),
                   TENON_INVALID_ARGUMENT));
    }
    SUBCASE("by the application, copies and fills know") {
      state().streams[static_cast<Stream>(stream)] = {1, false, false};
      CHECK(begins(thrown([&] { bench.devices.fill(bench.device(0), memory, 0, kSize, stream); }),
                   TENON_INVALID_ARGUMENT));
    }
  }

  TEST_CASE("a capture that begins twice, or ends before it began, is an invalid argument") {
    Bench bench;
    void* const stream = bench.devices.stream_create(bench.device());

    CHECK(begins(thrown([&] { bench.devices.graph_end(0, stream); }), TENON_INVALID_ARGUMENT));
    bench.devices.graph_begin(0, stream);
    CHECK(begins(thrown([&] { bench.devices.graph_begin(0, stream); }), TENON_INVALID_ARGUMENT));
    CHECK(thrown([&] { bench.devices.graph_end(0, stream); }) == "0");
    CHECK(begins(thrown([&] { bench.devices.graph_begin(1, stream); }), TENON_INVALID_ARGUMENT));
  }
}

}  // namespace tenon::gpu
