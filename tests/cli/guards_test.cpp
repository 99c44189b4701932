// Guarded memory of a device kind whose owner is at fault itself.
#include "guards.hpp"

#include <cstring>
#include <string>

#include <doctest/doctest.h>

#include "core/support/fake_rows.hpp"

using namespace tenon;
using namespace tenon::cli;
using tenon::test::FakeKind;

namespace {

struct Guarded {
  template <class Change>
  Guarded(const char* name, Change change) : kind(DeviceKind::of(name)) {
    tenon_device_kind table = FakeKind::make().table(name);
    change(table);
    REQUIRE(devices.add({kind, "dev", table}));
    auto made = GuardedMemory::over(devices, std::vector{kind});
    REQUIRE(made);
    memory.emplace(std::move(*made));
    memory->guard(std::byte{0xff});
  }
  Result<Tensor> tensor() { return devices.make_tensor(DType::kFloat32, {5}, Device{kind, 0}); }

  DeviceKind kind;
  DeviceTable devices;
  std::optional<GuardedMemory> memory;
};

}  // namespace

TEST_SUITE("cli/guards") {
  TEST_CASE("memory of a sound owner is guarded, and nothing is found") {
    Guarded g("guarded-sound", [](tenon_device_kind&) {});
    auto tensor = g.tensor();
    REQUIRE_MESSAGE(tensor, tensor.error().to_string());
    CHECK_FALSE(g.memory->failure());
    CHECK(g.memory->damage().value().empty());
    tensor->data<float>()[5] = 1.0f;
    CHECK(g.memory->damage().value().size() == 1);
  }

  TEST_CASE("why an owner gives no memory is told in its own words and code") {
    Guarded g("guarded-full", [](tenon_device_kind& table) {
      table.alloc = [](void*,
                       const tenon_device*,
                       std::uint32_t,
                       std::uint64_t,
                       void*,
                       void**,
                       tenon_reason* reason) -> tenon_status {
        std::strcpy(reason->text, "error 719");
        return TENON_DEVICE;
      };
    });
    const auto made = g.tensor();
    REQUIRE_FALSE(made);
    CHECK(made.error().message().find(GuardedMemory::kName) != std::string::npos);
    const auto refusal = g.memory->refusal();
    REQUIRE(refusal);
    CHECK(refusal->code() == ErrorCode::kDeviceError);
    CHECK(refusal->message() == "allocating 20 bytes on guarded-full:0 failed: error 719");
    g.memory->guard(std::byte{0xff});
    CHECK_FALSE(g.memory->refusal());
  }

  TEST_CASE("a copy that does nothing is its owner's fault, told before any kernel runs") {
    Guarded g("guarded-idle", [](tenon_device_kind& table) {
      table.copy = [](void*,
                      const tenon_device*,
                      void*,
                      const tenon_device*,
                      const void*,
                      std::uint64_t,
                      void*,
                      tenon_reason*) -> tenon_status { return TENON_OK; };
    });
    CHECK_FALSE(g.tensor());
    const auto failure = g.memory->failure();
    REQUIRE(failure);
    CHECK(failure->code() == ErrorCode::kPluginFailed);
    CHECK_MESSAGE(failure->message().find("copy of device kind 'guarded-idle' (plugin 'dev')") == 0,
                  failure->message());
    CHECK(failure->message().find("does not come back") != std::string::npos);
  }
}
