// Device kinds: the mock device, through the tables of its plugin file, as a host would use it.
#include <array>
#include <chrono>
#include <dlfcn.h>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "acme_plugin.hpp"
#include "support/fake_control.hpp"
#include "support/fake_stream.hpp"
#include "support/fakes.hpp"

namespace {

using Clock = std::chrono::steady_clock;

/// The mock plugin's rows, loaded once per process.
struct Mock {
  acme::Rows rows;
  const tenon_device_kind* kind = nullptr;
  tenon_device device{};
  tenon_reason reason{};

  Mock() {
    tenon::test::fake_control();
    reason.struct_size = sizeof(reason);
    device.struct_size = sizeof(device);
    void* file =
        dlopen(tenon::test::fake_path("fake").c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    REQUIRE_MESSAGE(file != nullptr, dlerror());
    const auto* plugin = static_cast<const tenon_plugin*>(dlsym(file, TENON_PLUGIN_SYMBOL));
    REQUIRE((plugin != nullptr));
    void* self = nullptr;
    REQUIRE(plugin->init(nullptr, &self, &reason) == TENON_OK);
    const tenon_registrar registrar = rows.registrar();
    REQUIRE(plugin->enumerate(self, &registrar, &reason) == TENON_OK);
    REQUIRE(rows.kinds.size() == 1);
    kind = rows.kinds.data();
    REQUIRE(kind->describe(kind->context, 0, &device, &reason) == TENON_OK);
  }
  void* alloc(std::uint64_t size_bytes) {
    void* memory = nullptr;
    REQUIRE(
        kind->alloc(
            kind->context, &device, TENON_MEMORY_DEVICE, size_bytes, nullptr, &memory, &reason) ==
        TENON_OK);
    return memory;
  }
  void free(void* memory, std::uint64_t size_bytes) {
    CHECK(kind->free(
              kind->context, &device, TENON_MEMORY_DEVICE, memory, size_bytes, nullptr, &reason) ==
          TENON_OK);
    wait();  // a free is ordered in its stream: the test must not end before it
  }
  void copy(void* dst, const void* src, std::uint64_t size_bytes, void* stream = nullptr) {
    REQUIRE(kind->copy(kind->context, &device, dst, &device, src, size_bytes, stream, &reason) ==
            TENON_OK);
  }
  void wait(void* stream = nullptr) {
    REQUIRE(kind->stream_synchronize(kind->context, &device, stream, &reason) == TENON_OK);
  }
};

}  // namespace

TEST_SUITE("plugin_api/device_kind") {
  TEST_CASE("the owner describes its devices, and only when it is asked") {
    tenon::test::fake_control().devices.counts = 0;
    Mock mock;

    CHECK(tenon::test::fake_control().devices.counts == 0);
    std::uint32_t count = 0;
    CHECK(mock.kind->count(mock.kind->context, &count, &mock.reason) == TENON_OK);
    CHECK(count == 2);
    CHECK(tenon::to_view(mock.device.kind) == "fake");
    CHECK(tenon::to_view(mock.device.arch) == "f2");
    CHECK(tenon::DeviceFacts(mock.device).runs("f1"));
    CHECK_FALSE(tenon::DeviceFacts(mock.device).runs("f"));
    CHECK(tenon::to_view(mock.device.pci) == "0000:f0:00.0");
  }

  TEST_CASE("no devices come with a reason, and a driver that fails is an error") {
    Mock mock;
    std::uint32_t count = 9;

    tenon::test::fake_control().devices.count = 0;
    CHECK(mock.kind->count(mock.kind->context, &count, &mock.reason) == TENON_OK);
    CHECK(count == 0);
    CHECK(std::string(mock.reason.text) == "the board says that there are none");
    tenon::test::fake_control().devices.count_status = TENON_UNAVAILABLE;
    CHECK(mock.kind->count(mock.kind->context, &count, &mock.reason) == TENON_UNAVAILABLE);
    tenon::test::fake_control().devices.count = 2;
    tenon::test::fake_control().devices.count_status = 0;
  }

  TEST_CASE("memory is 256-byte aligned, out of the host's reach, and goes back") {
    Mock mock;
    auto& board = tenon::test::fake_control().devices;
    const std::uint64_t live_before = board.live_bytes;

    void* memory = mock.alloc(1000);

    CHECK(reinterpret_cast<std::uintptr_t>(memory) % 256 == 0);
    CHECK(tenon::test::is_fake_address(memory));
    CHECK(board.live_bytes == live_before + 1000);
    mock.free(memory, 1000);
    CHECK(board.live_bytes == live_before);
    CHECK(
        mock.kind->free(mock.kind->context, &mock.device, 0, memory, 1000, nullptr, &mock.reason) ==
        TENON_INVALID_ARGUMENT);
  }

  TEST_CASE("an allocation fails when the board says so and when the device is full") {
    Mock mock;
    void* memory = nullptr;

    tenon::test::fake_control().devices.fail_allocs = 1;
    CHECK(
        mock.kind->alloc(mock.kind->context, &mock.device, 0, 8, nullptr, &memory, &mock.reason) ==
        TENON_OUT_OF_MEMORY);
    CHECK(mock.kind->alloc(mock.kind->context,
                           &mock.device,
                           0,
                           std::uint64_t{1} << 40,
                           nullptr,
                           &memory,
                           &mock.reason) == TENON_OUT_OF_MEMORY);
    CHECK(std::string(mock.reason.text) == "the fake device is full");
    mock.free(mock.alloc(8), 8);
  }

  TEST_CASE("a kernel launch returns before its stream has done the work") {
    Mock mock;
    const std::array<float, 2> ones = {1, 2};
    std::array<float, 2> back = {0, 0};
    void* x = mock.alloc(8);
    void* y = mock.alloc(8);
    mock.copy(x, ones.data(), 8);
    const tenon_kernel_type& add = mock.rows.type("rows");
    const std::int64_t shape = 2;
    const std::int64_t stride = 1;
    const tenon_value fields[] = {
        {TENON_VALUE_INTS, 0, 1, 0, 0, &shape},
        {TENON_VALUE_INT, 0, 0, 3, 0, nullptr},
        {TENON_VALUE_DTYPE, 0, 0, static_cast<std::int64_t>(tenon::kFloat32.id()), 0, nullptr}};
    const tenon_call call{sizeof(tenon_call), fields, 3, nullptr, 0};
    tenon_build build{};
    build.struct_size = sizeof(build);
    build.device = &mock.device;
    build.call = &call;
    tenon_kernel kernel{};
    kernel.struct_size = sizeof(kernel);
    REQUIRE(add.build(add.context, nullptr, &build, &kernel, &mock.reason) == TENON_OK);
    const tenon_tensor in{x, 0, 0, 1, tenon::kFloat32.raw(), &shape, &stride, 0};
    const tenon_tensor out{y, 0, 0, 1, tenon::kFloat32.raw(), &shape, &stride, 0};
    const tenon_tensor* tensors[] = {&in, &in, &out};
    const std::uint32_t first[] = {0, 1, 2, 3};
    tenon_launch launch{};
    launch.struct_size = sizeof(launch);
    launch.device = &mock.device;
    launch.call = &call;
    launch.tensors = tensors;
    launch.arg_first = first;
    launch.n_args = 3;
    REQUIRE(mock.kind->stream_default(
                mock.kind->context, &mock.device, &launch.stream, &mock.reason) == TENON_OK);
    const auto* test = static_cast<const tenon_device_test*>(
        mock.kind->extension(mock.kind->context, tenon::to_str(TENON_EXTENSION_DEVICE_TEST), 1));
    REQUIRE((test != nullptr));
    const auto begin = Clock::now();
    REQUIRE(
        test->delay(mock.kind->context, &mock.device, launch.stream, 200'000'000, &mock.reason) ==
        TENON_OK);

    REQUIRE(kernel.launch(kernel.state, &launch, &mock.reason) == TENON_OK);

    CHECK(Clock::now() - begin < std::chrono::milliseconds(150));
    mock.copy(back.data(), y, 8, launch.stream);
    mock.wait(launch.stream);
    CHECK(Clock::now() - begin >= std::chrono::milliseconds(200));
    CHECK(back[0] == 4.0f);
    CHECK(back[1] == 8.0f);
    kernel.destroy(kernel.state);
    mock.free(x, 8);
    mock.free(y, 8);
  }

  TEST_CASE("an event orders two streams") {
    Mock mock;
    void* a = nullptr;
    void* b = nullptr;
    void* event = nullptr;
    const tenon_device_kind& kind = *mock.kind;
    REQUIRE(kind.stream_create(kind.context, &mock.device, &a, &mock.reason) == TENON_OK);
    REQUIRE(kind.stream_create(kind.context, &mock.device, &b, &mock.reason) == TENON_OK);
    REQUIRE(kind.event_create(kind.context, &mock.device, &event, &mock.reason) == TENON_OK);
    const auto* test = static_cast<const tenon_device_test*>(
        kind.extension(kind.context, tenon::to_str(TENON_EXTENSION_DEVICE_TEST), 1));
    void* memory = mock.alloc(1);
    char back = 0;

    REQUIRE(test->delay(kind.context, &mock.device, a, 50'000'000, &mock.reason) == TENON_OK);
    REQUIRE(kind.fill(kind.context, &mock.device, memory, 7, 1, a, &mock.reason) == TENON_OK);
    REQUIRE(kind.event_record(kind.context, &mock.device, event, a, &mock.reason) == TENON_OK);
    REQUIRE(kind.stream_wait_event(kind.context, &mock.device, b, event, &mock.reason) == TENON_OK);
    mock.copy(&back, memory, 1, b);
    mock.wait(b);

    CHECK(back == 7);
    std::uint32_t done = 0;
    CHECK(kind.event_query(kind.context, &mock.device, event, &done, &mock.reason) == TENON_OK);
    CHECK(done == 1);
    CHECK(kind.event_destroy(kind.context, &mock.device, event, &mock.reason) == TENON_OK);
    CHECK(kind.stream_destroy(kind.context, &mock.device, a, &mock.reason) == TENON_OK);
    CHECK(kind.stream_destroy(kind.context, &mock.device, b, &mock.reason) == TENON_OK);
    mock.free(memory, 1);
  }

  TEST_CASE("captured work runs when its graph is launched, and not before") {
    Mock mock;
    const tenon_device_kind& kind = *mock.kind;
    const auto* graph = static_cast<const tenon_device_graph*>(
        kind.extension(kind.context, tenon::to_str(TENON_EXTENSION_DEVICE_GRAPH), 1));
    REQUIRE((graph != nullptr));
    void* stream = nullptr;
    REQUIRE(kind.stream_create(kind.context, &mock.device, &stream, &mock.reason) == TENON_OK);
    void* memory = mock.alloc(1);
    char back = 0;
    void* captured = nullptr;
    std::uint32_t capturing = 0;
    REQUIRE(kind.fill(kind.context, &mock.device, memory, 1, 1, stream, &mock.reason) == TENON_OK);

    REQUIRE(graph->begin(kind.context, &mock.device, stream, &mock.reason) == TENON_OK);
    CHECK(kind.stream_is_capturing(kind.context, &mock.device, stream, &capturing, &mock.reason) ==
          TENON_OK);
    CHECK(capturing == 1);
    CHECK(graph->begin(kind.context, &mock.device, stream, &mock.reason) == TENON_INVALID_ARGUMENT);
    REQUIRE(kind.fill(kind.context, &mock.device, memory, 2, 1, stream, &mock.reason) == TENON_OK);
    REQUIRE(graph->end(kind.context, &mock.device, stream, &captured, &mock.reason) == TENON_OK);
    mock.copy(&back, memory, 1, stream);
    mock.wait(stream);
    CHECK(back == 1);
    REQUIRE(graph->launch(kind.context, &mock.device, captured, stream, &mock.reason) == TENON_OK);
    mock.copy(&back, memory, 1, stream);
    mock.wait(stream);
    CHECK(back == 2);

    CHECK(graph->destroy(kind.context, &mock.device, captured, &mock.reason) == TENON_OK);
    CHECK(kind.stream_destroy(kind.context, &mock.device, stream, &mock.reason) == TENON_OK);
    mock.free(memory, 1);
  }

  TEST_CASE("last_error reports what a launch left behind, and forgets it when asked to") {
    Mock mock;
    tenon::test::fake_control().devices.sticky_error = TENON_DEVICE;

    CHECK(mock.kind->last_error(mock.kind->context, &mock.device, 0, &mock.reason) == TENON_DEVICE);
    CHECK(mock.kind->last_error(mock.kind->context, &mock.device, 1, &mock.reason) == TENON_DEVICE);
    CHECK(mock.kind->last_error(mock.kind->context, &mock.device, 0, &mock.reason) == TENON_OK);
  }

  TEST_CASE("a lost device says so in each function and in its description") {
    Mock mock;
    void* memory = nullptr;
    tenon::test::fake_control().devices.lost = true;

    CHECK(
        mock.kind->alloc(mock.kind->context, &mock.device, 0, 8, nullptr, &memory, &mock.reason) ==
        TENON_DEVICE);
    CHECK(mock.kind->describe(mock.kind->context, 0, &mock.device, &mock.reason) == TENON_OK);
    CHECK((mock.device.flags & TENON_DEVICE_FLAG_LOST) != 0);
    tenon::test::fake_control().devices.lost = false;
  }
}
