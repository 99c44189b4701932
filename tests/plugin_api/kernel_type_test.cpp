// Kernel types: the row that a class becomes, and the functions behind it, called as a host calls
// them.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "acme_plugin.hpp"

namespace {

acme::Rows rows_of_acme() {
  acme::Rows rows;
  const tenon_registrar registrar = rows.registrar();
  tenon_reason reason{};
  reason.struct_size = sizeof(reason);
  void* self = nullptr;
  REQUIRE(tenon_plugin_v0_acme.init(nullptr, &self, &reason) == TENON_OK);
  REQUIRE(tenon_plugin_v0_acme.enumerate(self, &registrar, &reason) == TENON_OK);
  return rows;
}

tenon_reason empty_reason() {
  tenon_reason reason{};
  reason.struct_size = sizeof(reason);
  return reason;
}

/// Builds the short-rows kernel for n; state null where the build failed.
struct Built {
  Built(std::int64_t n, tenon_status expected) : reason(empty_reason()), device(acme::a2_device()) {
    const acme::Rows rows = rows_of_acme();
    const acme::CallData call(3, n);
    tenon_build build{};
    build.struct_size = sizeof(build);
    build.device = &device;
    build.call = &call.call();
    kernel.struct_size = sizeof(kernel);
    const tenon_kernel_type& type = rows.type("short_rows");
    REQUIRE(type.build(type.context, nullptr, &build, &kernel, &reason) == expected);
  }
  Built(const Built&) = delete;
  Built& operator=(const Built&) = delete;
  ~Built() {
    if (kernel.destroy != nullptr) kernel.destroy(kernel.state);
  }
  tenon_reason reason;
  tenon_device device;
  tenon_kernel kernel{};
};

}  // namespace

TEST_SUITE("plugin_api/kernel_type") {
  TEST_CASE("what a class says of itself stands in its row") {
    const acme::Rows rows = rows_of_acme();

    const tenon_kernel_type& row = rows.type("short_rows");

    CHECK(row.struct_size == sizeof(tenon_kernel_type));
    CHECK(tenon::to_view(row.op) == "RMSNormFwdOp");
    CHECK(tenon::to_view(row.interface) == "rms_norm_fwd");
    CHECK(row.contract->hash == 0x1234);
    REQUIRE(row.n_devices == 1);
    CHECK(tenon::to_view(row.devices[0]) == "acme");
    REQUIRE(row.n_archs == 2);
    CHECK(tenon::to_view(row.archs[1]) == "a3");
    REQUIRE(row.n_preferred_over == 2);
    CHECK(tenon::to_view(row.preferred_over[1]) == "other:*");
    REQUIRE(row.n_storage == 2);
    CHECK(tenon::ElementType(row.storage[1].dtype) == tenon::kFloat16);
    CHECK(tenon::ElementType(row.storage[1].stored_as) == tenon::kFloat16);
    CHECK(row.flags == (TENON_KERNEL_DETERMINISTIC | TENON_KERNEL_CAPTURE_SAFE));
    CHECK(row.layouts ==
          (TENON_LAYOUT_BIT(TENON_LAYOUT_INNER) | TENON_LAYOUT_BIT(TENON_LAYOUT_STRIDED)));
    CHECK(row.alignment_elements == 8);
    CHECK(tenon::ElementType(row.accumulate) == tenon::kFloat32);
  }

  TEST_CASE("what a class leaves out is null or zero") {
    const acme::Rows rows = rows_of_acme();

    const tenon_kernel_type& row = rows.type("rows");

    CHECK((row.refuse == nullptr));
    CHECK((row.identity == nullptr));
    CHECK(row.n_archs == 0);
    CHECK(row.n_preferred_over == 0);
    CHECK(row.layouts == 0);
    CHECK(row.alignment_elements == 0);
    CHECK(row.accumulate.bits == 0);
    CHECK(tenon::ElementType(row.storage[0].stored_as) == tenon::kUInt8);
    CHECK(row.flags == (TENON_KERNEL_GENERAL | TENON_KERNEL_REFERENCE |
                        TENON_KERNEL_HANDLES_PADDING | TENON_KERNEL_SEQUENTIAL_SUMS));
    CHECK((rows.type("elsewhere").build != nullptr));
  }

  TEST_CASE("refuse answers by call, device and argument facts") {
    const acme::Rows rows = rows_of_acme();
    const tenon_kernel_type& row = rows.type("short_rows");
    tenon_device device = acme::a2_device();
    tenon_reason reason = empty_reason();

    CHECK(row.refuse(row.context, &device, &acme::CallData(2, 1024).call(), &reason) == TENON_OK);
    CHECK(row.refuse(row.context, &device, &acme::CallData(2, 1025).call(), &reason) ==
          TENON_REFUSED);
    CHECK(std::string(reason.text) == "serves n <= 1024, got 1025");
    CHECK(row.refuse(row.context, &device, &acme::CallData(-1, 8).call(), &reason) ==
          TENON_REFUSED);
    CHECK(reason.code == TENON_REASON_WIDE);
    device.unit_count = 1;
    CHECK(row.refuse(row.context, &device, &acme::CallData(2, 8).call(), &reason) == TENON_REFUSED);
    CHECK(reason.code == TENON_REASON_DEVICE_LIMIT);
  }

  TEST_CASE("a call that lacks a field is an error of refuse, not a refusal") {
    const acme::Rows rows = rows_of_acme();
    const tenon_kernel_type& row = rows.type("short_rows");
    const tenon_device device = acme::a2_device();
    const tenon_call call{sizeof(tenon_call), nullptr, 0, nullptr, 0};
    tenon_reason reason = empty_reason();

    const tenon_status status = row.refuse(row.context, &device, &call, &reason);

    CHECK(status == TENON_INVALID_ARGUMENT);
    CHECK(std::string(reason.text) == "the call has no field 0 ('m')");
  }

  TEST_CASE("identity depends on what the class returns and on nothing else") {
    const acme::Rows rows = rows_of_acme();
    const tenon_kernel_type& row = rows.type("short_rows");
    const tenon_device device = acme::a2_device();
    const auto identity = [&](const acme::CallData& call) {
      std::uint64_t size_bytes = 0;
      REQUIRE(row.identity(row.context, &device, &call.call(), nullptr, 0, &size_bytes) ==
              TENON_OK);
      std::string bytes(size_bytes, '\0');
      REQUIRE(row.identity(
                  row.context, &device, &call.call(), bytes.data(), bytes.size(), &size_bytes) ==
              TENON_OK);
      return bytes;
    };

    CHECK(identity(acme::CallData(2, 8)) == identity(acme::CallData(3, 8)));
    CHECK(identity(acme::CallData(2, 8)) != identity(acme::CallData(2, 9)));
    CHECK(identity(acme::CallData(2, 8)) != identity(acme::CallData(2, 8, tenon::kFloat16)));
  }

  TEST_CASE(
      "a built kernel launches on its arguments, asks for workspace, tunes and tells its "
      "configuration") {
    const Built built(8, TENON_OK);
    float out = 0;
    const std::int64_t shape = 1;
    const std::int64_t stride = 1;
    const tenon_tensor tensor{&out, 1, 0, 1, tenon::kFloat32.raw(), &shape, &stride, 0};
    const tenon_tensor* tensors[] = {&tensor, nullptr, &tensor};
    const std::uint32_t arg_first[] = {0, 1, 2, 3};
    tenon_launch launch{};
    launch.struct_size = sizeof(launch);
    launch.device = &built.device;
    launch.tensors = tensors;
    launch.arg_first = arg_first;
    launch.n_args = 3;
    tenon_reason reason = empty_reason();

    CHECK(built.kernel.launch(built.kernel.state, &launch, &reason) == TENON_OK);
    CHECK(out == 15.0f);
    std::uint64_t workspace_bytes = 0;
    CHECK(built.kernel.workspace(
              built.kernel.state, &acme::CallData(3, 8).call(), &workspace_bytes) == TENON_OK);
    CHECK(workspace_bytes == 12);
    CHECK(built.kernel.tune(built.kernel.state, &launch, 42, &reason) == TENON_OK);
    char text[8] = {};
    std::uint64_t size_bytes = 0;
    CHECK(built.kernel.config(built.kernel.state, text, 2, &size_bytes) == TENON_OK);
    CHECK(size_bytes == 4);
    CHECK(text[0] == '\0');
    CHECK(built.kernel.config(built.kernel.state, text, sizeof(text), &size_bytes) == TENON_OK);
    CHECK(std::string(text, size_bytes) == "n=42");
  }

  TEST_CASE("a launch that reads elements as a type that they are not fails with both names") {
    const Built built(8, TENON_OK);
    double out = 0;
    tenon_tensor tensor{&out, 1, 0, 0, tenon::kFloat64.raw(), nullptr, nullptr, 0};
    const tenon_tensor* tensors[] = {&tensor, nullptr, &tensor};
    const std::uint32_t arg_first[] = {0, 1, 2, 3};
    tenon_launch launch{};
    launch.struct_size = sizeof(launch);
    launch.device = &built.device;
    launch.tensors = tensors;
    launch.arg_first = arg_first;
    launch.n_args = 3;
    tenon_reason reason = empty_reason();

    CHECK(built.kernel.launch(built.kernel.state, &launch, &reason) == TENON_INVALID_ARGUMENT);

    CHECK(std::string(reason.text) == "an argument of dtype float64 is read as float");
    CHECK(out == 0);
  }

  TEST_CASE("unsigned integers and bytes carry any element of their size, other types their own") {
    float value = 0;
    const auto reads = [&](tenon::ElementType dtype, auto sample) {
      const tenon_tensor raw{&value, 1, 0, 0, dtype.raw(), nullptr, nullptr, 0};
      try {
        return tenon::TensorRef(&raw).data<const decltype(sample)>() != nullptr;
      } catch (const tenon::Failure& failure) {
        CHECK(failure.status() == TENON_INVALID_ARGUMENT);
        return false;
      }
    };

    CHECK(reads(tenon::kFloat32, 0.0f));
    CHECK(reads(tenon::kFloat32, std::uint32_t{}));
    CHECK(reads(tenon::kBFloat16, std::uint16_t{}));
    CHECK(reads(tenon::kFloat8E4M3FN, std::uint8_t{}));
    CHECK(reads(tenon::kFloat32, char{}));
    CHECK(reads(tenon::kBool, bool{}));
    CHECK(reads(tenon::kInt64, std::int64_t{}));
    CHECK_FALSE(reads(tenon::kFloat32, std::int32_t{}));
    CHECK_FALSE(reads(tenon::kFloat16, std::int16_t{}));
    CHECK_FALSE(reads(tenon::kInt32, 0.0f));
    CHECK_FALSE(reads(tenon::kFloat16, 0.0f));
    CHECK_FALSE(reads(tenon::kFloat32, bool{}));
    CHECK_FALSE(reads(tenon::kBFloat16, std::uint32_t{}));
    CHECK(tenon::TensorRef().data_or_null<float>() == nullptr);
  }

  TEST_CASE("what a launch throws becomes its status and text") {
    const Built built(8, TENON_OK);
    float out = 0;
    int failing_stream = 1;
    const tenon_tensor tensor{&out, 1, 0, 0, tenon::kFloat32.raw(), nullptr, nullptr, 0};
    const tenon_tensor* tensors[] = {&tensor, nullptr, nullptr};
    const std::uint32_t arg_first[] = {0, 1, 2, 3};
    tenon_launch launch{};
    launch.struct_size = sizeof(launch);
    launch.device = &built.device;
    launch.tensors = tensors;
    launch.arg_first = arg_first;
    launch.n_args = 3;
    launch.stream = &failing_stream;
    tenon_reason reason = empty_reason();

    CHECK(built.kernel.launch(built.kernel.state, &launch, &reason) == TENON_INVALID_ARGUMENT);
    CHECK(std::string(reason.text) == "a required argument is absent");
    tensors[2] = &tensor;
    CHECK(built.kernel.launch(built.kernel.state, &launch, &reason) == TENON_DEVICE);
    CHECK(std::string(reason.text) == "launch failed");
  }

  TEST_CASE("whatever a constructor throws becomes a status and a text, and no kernel") {
    CHECK(std::string(Built(13, TENON_INTERNAL).reason.text) == "no tile fits 13");
    CHECK(std::string(Built(14, TENON_DEVICE).reason.text) == "the driver said no");
    CHECK(std::string(Built(15, TENON_INTERNAL).reason.text) ==
          "an exception that is no std::exception");
    CHECK(std::string(Built(16, TENON_OUT_OF_MEMORY).reason.text) == "out of host memory");
    CHECK((Built(13, TENON_INTERNAL).kernel.launch == nullptr));
  }
}
