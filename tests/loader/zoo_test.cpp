// The zoo of bad plugins: each is refused at its stage with its code, and the good one beside it
// works.
#include <string>

#include <doctest/doctest.h>

#include "support/fakes.hpp"
#include "support/test_env.hpp"
#include "tenon/tenon.hpp"

namespace tenon {
namespace {

struct Case {
  const char* variant;
  PluginStage stage;
  tenon_status code;
  const char* part;  // of the reason
};

// What only a child process can survive is in probe_test.cpp.
constexpr Case kZoo[] = {
    {"no-note", PluginStage::kNote, TENON_NOT_FOUND, "TENON_PLUGIN_NOTE"},
    {"wrong-major", PluginStage::kNote, TENON_INCOMPATIBLE, "ABI 7."},
    {"new-minor", PluginStage::kNote, TENON_INCOMPATIBLE, "ABI 0.9"},
    {"no-symbol", PluginStage::kNote, TENON_NOT_FOUND, TENON_PLUGIN_SYMBOL},
    {"undefined-symbol", PluginStage::kLoad, TENON_INCOMPATIBLE, "undefined symbol"},
    {"note-id", PluginStage::kValidate, TENON_INCOMPATIBLE, "disagree"},
    {"note-version", PluginStage::kValidate, TENON_INCOMPATIBLE, "disagree"},
    {"object-major", PluginStage::kValidate, TENON_INCOMPATIBLE, "disagree"},
    {"size-zero", PluginStage::kValidate, TENON_INVALID_ARGUMENT, "struct_size is 0"},
    {"size-short", PluginStage::kValidate, TENON_INVALID_ARGUMENT, "struct_size is 24"},
    {"size-huge", PluginStage::kValidate, TENON_INVALID_ARGUMENT, "struct_size is 1099511627776"},
    {"required-feature", PluginStage::kValidate, TENON_INCOMPATIBLE, "requires features"},
    {"init-outside",
     PluginStage::kValidate,
     TENON_INVALID_ARGUMENT,
     "tenon_plugin.init is no function inside the plugin's image"},
    {"unmapped-rows",
     PluginStage::kValidate,
     TENON_INVALID_ARGUMENT,
     "tenon_kernel_type lies in memory that cannot be read"},
    {"unmapped-name",
     PluginStage::kValidate,
     TENON_INVALID_ARGUMENT,
     "its key lies in memory that cannot be read"},
    {"unmapped-function",
     PluginStage::kValidate,
     TENON_INVALID_ARGUMENT,
     "'build' lies in memory that holds no code"},
    {"data-as-function",
     PluginStage::kValidate,
     TENON_INVALID_ARGUMENT,
     "'build' lies in memory that holds no code"},
    {"init-null", PluginStage::kValidate, TENON_INVALID_ARGUMENT, "tenon_plugin.init is missing"},
    {"init-error", PluginStage::kValidate, TENON_UNAVAILABLE, "licence"},
    {"init-error-without-text", PluginStage::kValidate, TENON_UNAVAILABLE, "gave no reason"},
    {"init-throw", PluginStage::kValidate, TENON_INTERNAL, "threw an exception"},
    {"null-build", PluginStage::kValidate, TENON_INVALID_ARGUMENT, "'build' is missing"},
    {"null-contract", PluginStage::kValidate, TENON_INVALID_ARGUMENT, "contract"},
    {"duplicate-key", PluginStage::kValidate, TENON_ALREADY_EXISTS, "twice"},
    {"bad-utf8", PluginStage::kValidate, TENON_INVALID_ARGUMENT, "UTF-8"},
    {"count-overflow", PluginStage::kValidate, TENON_INVALID_ARGUMENT, "2305843009213693951"},
    {"element-size-zero", PluginStage::kValidate, TENON_INCOMPATIBLE, "struct_size is 0"},
    {"short-row", PluginStage::kValidate, TENON_INCOMPATIBLE, "struct_size is 16"},
    {"huge-row", PluginStage::kValidate, TENON_INCOMPATIBLE, "struct_size is 1099511627776"},
    {"unknown-dtype", PluginStage::kValidate, TENON_INVALID_ARGUMENT, "dtype"},
    {"two-general", PluginStage::kValidate, TENON_ALREADY_EXISTS, "two general"},
    {"cycle", PluginStage::kValidate, TENON_INVALID_ARGUMENT, "circle"},
    {"kind-without-alloc", PluginStage::kValidate, TENON_INVALID_ARGUMENT, "'alloc'"},
    {"enumerate-error", PluginStage::kValidate, TENON_IO, "lost its table"},
    {"enumerate-throws", PluginStage::kValidate, TENON_INTERNAL, "threw an exception"},
};

TEST_CASE(
    "each bad plugin of the zoo is refused at its stage, and the good one beside it is active") {
  const test::TempDir folder;
  for (const Case& each : kZoo) {
    CAPTURE(std::string(each.variant));
    RuntimeOptions options;
    options.plugin_paths = {test::fake_path(each.variant), test::fake_path("good")};
    options.standard_folders = false;
    options.environment = loader::Environment::of({});
    options.settings = {{"caches.directory", folder / "cache"}};
    const auto runtime = Runtime::create(options);
    REQUIRE(runtime);
    REQUIRE(runtime->plugins().size() == 2);
    const PluginRecord& bad = runtime->plugins()[0];
    CHECK(bad.state == PluginState::kRejected);
    CHECK(name_of(bad.stage) == name_of(each.stage));
    CHECK(status_name(bad.code) == status_name(each.code));
    CHECK_MESSAGE(bad.reason.find(each.part) != std::string::npos, bad.reason);
    CHECK(runtime->plugins()[1].state == PluginState::kActive);
    CHECK(runtime->plugins()[1].kernel_types == 2);
  }
}

}  // namespace
}  // namespace tenon
