// The exported object, builder targets, and what happens when the host says no.
#include <string>

#include <doctest/doctest.h>

#include "acme_plugin.hpp"

TEST_SUITE("plugin_api/plugin") {
  TEST_CASE("the exported object carries what the description says") {
    const tenon_plugin& plugin = tenon_plugin_v0_acme;

    CHECK(plugin.struct_size == sizeof(tenon_plugin));
    CHECK(plugin.abi_major == TENON_ABI_MAJOR);
    CHECK(plugin.abi_minor == TENON_ABI_MINOR);
    CHECK(plugin.min_host_minor == TENON_TARGET_MINOR);
    CHECK(plugin.required_features == 0);
    CHECK(tenon::to_view(plugin.id) == "acme");
    CHECK(tenon::to_view(plugin.version) == "1.2.0");
    CHECK(tenon::to_view(plugin.vendor) == "Acme");
    CHECK(plugin.manifest.size_bytes == 0);
    REQUIRE(plugin.n_needs_kinds == 1);
    CHECK(tenon::to_view(plugin.needs_kinds[0]) == "cuda");
    REQUIRE(plugin.n_options == 3);
    CHECK(plugin.options[0].kind == TENON_VALUE_BOOL);
    CHECK(plugin.options[0].default_value.i == 1);
    CHECK(plugin.options[1].default_value.i == 4);
    CHECK(plugin.options[2].default_value.count == 4);
  }

  TEST_CASE("a registrar's refusal ends the enumeration with its status") {
    acme::Rows rows;
    rows.answer = TENON_ALREADY_EXISTS;
    const tenon_registrar registrar = rows.registrar();
    tenon_reason reason{};
    reason.struct_size = sizeof(reason);
    void* self = nullptr;
    REQUIRE(tenon_plugin_v0_acme.init(nullptr, &self, &reason) == TENON_OK);

    const tenon_status status = tenon_plugin_v0_acme.enumerate(self, &registrar, &reason);

    CHECK(status == TENON_ALREADY_EXISTS);
    CHECK(rows.types.size() == 2);
    CHECK(rows.targets.empty());
  }

  TEST_CASE(
      "a builder target claims, builds from specs and parameters, and its kernel launches without "
      "a call") {
    acme::Rows rows;
    const tenon_registrar registrar = rows.registrar();
    tenon_reason reason{};
    reason.struct_size = sizeof(reason);
    void* self = nullptr;
    REQUIRE(tenon_plugin_v0_acme.init(nullptr, &self, &reason) == TENON_OK);
    REQUIRE(tenon_plugin_v0_acme.enumerate(self, &registrar, &reason) == TENON_OK);
    REQUIRE(rows.targets.size() == 1);
    const tenon_target& target = rows.targets[0];
    const tenon_device device = acme::a2_device();
    const std::int64_t shape = 5;
    const std::int64_t stride = 1;
    std::int64_t data = 100;
    tenon_tensor tensor{nullptr, 1, 0, 1, tenon::kInt64.raw(), &shape, &stride, 0};
    const tenon_tensor* tensors[] = {&tensor};
    const std::uint32_t first[] = {0, 1};
    const tenon_value param{TENON_VALUE_INT, 0, 0, 7, 0, nullptr};
    tenon_build build{};
    build.struct_size = sizeof(build);
    build.device = &device;
    tenon_kernel kernel{};
    kernel.struct_size = sizeof(kernel);
    std::uint32_t yes = 0;

    CHECK(tenon::to_view(target.name) == "acme-graph");
    CHECK(target.n_ops == 2);
    CHECK(target.claims(target.context, &device, &yes) == TENON_OK);
    CHECK(yes == 1);
    CHECK(target.build(
              target.context, nullptr, 9, &build, tensors, first, 1, &param, 1, &kernel, &reason) ==
          TENON_INVALID_ARGUMENT);
    REQUIRE(
        target.build(
            target.context, nullptr, 0, &build, tensors, first, 1, &param, 1, &kernel, &reason) ==
        TENON_OK);
    CHECK(kernel.struct_size == sizeof(kernel));
    tensor.data = &data;
    tenon_launch launch{};
    launch.struct_size = sizeof(launch);
    launch.device = &device;
    launch.tensors = tensors;
    launch.arg_first = first;
    launch.n_args = 1;
    CHECK(kernel.launch(kernel.state, &launch, &reason) == TENON_OK);
    CHECK(data == 112);
    std::uint64_t workspace_bytes = 0;
    CHECK(kernel.workspace(kernel.state, nullptr, &workspace_bytes) == TENON_OK);
    CHECK(workspace_bytes == 64);
    kernel.destroy(kernel.state);
  }
}
