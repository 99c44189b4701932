// Row sums through the runtime on devices that report 32 and 64 lanes.
#include <string>

#include <doctest/doctest.h>

#include "support/test_env.hpp"
#include "tenon/tenon.hpp"

namespace tenon {
namespace {

Runtime runtime_of_waves(const test::TempDir& folder) {
  RuntimeOptions options;
  options.plugin_paths = {TENON_WAVES_PLUGIN, TENON_CPU_PLUGIN};
  options.standard_folders = false;
  options.environment = loader::Environment::of({});
  options.settings = {{"caches.directory", folder / "cache"}};
  auto made = Runtime::create(options);
  if (!made) FAIL(made.error().to_string());
  return std::move(*made);
}

/// Rows of integers on a device, summed; the kernel that ran, or what was wrong.
std::string kernel_of_exact_sums(const Runtime& runtime, Device device, std::int64_t width) {
  constexpr std::int64_t kRows = 3;
  const Tensor host = Tensor::host(DType::kFloat32, {kRows, width}).value();
  for (std::int64_t i = 0; i < kRows * width; ++i)
    host.data<float>()[i] = static_cast<float>(i * 5 % 23 - 9);
  TensorView view = host.view();
  view.device = device;  // its memory is the host's
  const Tensor x(host.storage(), view);
  auto op = runtime.make("SumFwdOp", {{"dim", Value({-1})}});
  if (!op) return op.error().to_string();
  const auto out = op->call({{"x", x}});
  if (!out) return out.error().to_string();
  for (std::int64_t row = 0; row < kRows; ++row) {
    std::int64_t wanted = 0;
    for (std::int64_t at = 0; at < width; ++at) wanted += (row * width + at) * 5 % 23 - 9;
    const float got = static_cast<const float*>((*out)[0].storage()->memory())[row];
    if (got != static_cast<float>(wanted))
      return "row " + std::to_string(row) + " gives " + std::to_string(got);
  }
  return std::string(op->last_call()->kernel());
}

}  // namespace

TEST_SUITE("plugins/gpu/waves") {
  TEST_CASE(
      "D99 rows of 1 to 130 integers sum exactly on 32 and on 64 lanes, by the kernel that each "
      "serves") {
    const test::TempDir folder;
    const Runtime runtime = runtime_of_waves(folder);
    const Device narrow{DeviceKind::of("waves"), 0};
    const Device wide{DeviceKind::of("waves"), 1};
    REQUIRE(runtime.engine().devices().find(narrow).value()->facts.fields().warp_size == 32);
    REQUIRE(runtime.engine().devices().find(wide).value()->facts.fields().warp_size == 64);

    for (std::int64_t width = 1; width <= 130; ++width) {
      CAPTURE(width);
      CHECK(kernel_of_exact_sums(runtime, narrow, width) == "waves:wave32");
      CHECK(kernel_of_exact_sums(runtime, wide, width) == "waves:any_wave");
    }
  }

  TEST_CASE("D99 a kernel that needs 32 lanes is refused on a device of 64, which says why") {
    const test::TempDir folder;
    const Runtime runtime = runtime_of_waves(folder);
    const Tensor host = Tensor::host(DType::kFloat32, {3, 40}).value();
    TensorView view = host.view();
    view.device = Device{DeviceKind::of("waves"), 1};
    InstanceOptions options;
    options.kernel_override = {{"sum_fwd", "waves:wave32"}};
    auto op = runtime.make("SumFwdOp", {{"dim", Value({-1})}}, options);
    REQUIRE(op);

    const auto out = op->call({{"x", Tensor(host.storage(), view)}});

    REQUIRE(!out);
    CHECK(out.error().code() == ErrorCode::kNoImplementation);
    INFO(out.error().to_string());
    CHECK(out.error().to_string().find(
              "serves warp_size = 32, got 64 (each row is one wave of 32 lanes)") !=
          std::string::npos);
  }
}

}  // namespace tenon
