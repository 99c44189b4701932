// Calls without elements, through the loader to a plugin that counts its launches.
#include <doctest/doctest.h>

#include "support/fake_control.hpp"
#include "support/fakes.hpp"
#include "tenon/tenon.hpp"

namespace tenon {
namespace {

TEST_CASE("D101 a call with a size of 0 launches nothing, and leaves no error on the device") {
  auto& board = test::fake_control();
  RuntimeOptions options;
  options.plugin_paths = {test::fake_path("fake")};
  options.standard_folders = false;
  options.environment = loader::Environment::of({});
  const auto runtime = Runtime::create(options);
  REQUIRE_MESSAGE(runtime, runtime.error().to_string());
  DeviceTable& devices = runtime->engine().devices();
  const Device device{DeviceKind::of("fake"), 0};
  const auto tensor = [&](const Dims& shape) {
    return devices.make_tensor(DType::kFloat32, shape, device).value();
  };
  const auto launches = [&] {
    return board.kernel("fake:rows").launches + board.kernel("fake:strided").launches;
  };
  const std::uint64_t before = launches();

  for (const Dims& shape : {Dims{0}, Dims{0, 3}, Dims{3, 0}, Dims{2, 0, 4}}) {
    const auto sum =
        runtime->make("AddFwdOp").value().call({{"self", tensor(shape)}, {"other", tensor(shape)}});
    REQUIRE_MESSAGE(sum, sum.error().to_string());
    CHECK(sum->front().shape() == shape);
    const auto broadcast =
        runtime->make("AddFwdOp").value().call({{"self", tensor(shape)}, {"other", tensor({1})}});
    REQUIRE_MESSAGE(broadcast, broadcast.error().to_string());
    CHECK(broadcast->front().shape() == shape);
    const auto copy = runtime->make("CopyFwdOp").value().call({{"x", tensor(shape)}});
    REQUIRE_MESSAGE(copy, copy.error().to_string());
    CHECK(copy->front().shape() == shape);
  }

  CHECK(launches() == before);
  const DeviceEntry& entry = **devices.find(device);
  tenon_reason reason{};
  reason.struct_size = sizeof reason;
  const tenon_device_kind& kind = devices.kind(device.kind)->table;
  CHECK(kind.last_error(kind.context, &entry.launch, 0, &reason) == TENON_OK);
  // The same calls with elements are launched: the count counts.
  REQUIRE(runtime->make("AddFwdOp")
              .value()
              .call({{"self", tensor({2, 3})}, {"other", tensor({2, 3})}}));
  CHECK(launches() > before);
}

}  // namespace
}  // namespace tenon
