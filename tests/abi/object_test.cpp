// The exported object in finished files, and the macros that read structs of another size.
#include <cstdlib>
#include <dlfcn.h>
#include <string>

#include <doctest/doctest.h>

#include "support/fakes.hpp"
#include "tenon/plugin.h"

/// A host that happens to export the name itself.
extern "C" __attribute__((visibility("default"), used))
const tenon_plugin host_object __asm__("tenon_plugin_v0") = {};

TEST_SUITE("abi/object") {
  TEST_CASE("a plugin gives its own object even where the host exports one of that name") {
    void* file = dlopen(TENON_CPP_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    REQUIRE_MESSAGE(file != nullptr, dlerror());

    const auto* plugin = static_cast<const tenon_plugin*>(dlsym(file, TENON_PLUGIN_SYMBOL));

    REQUIRE((plugin != nullptr));
    CHECK((plugin != &host_object));
    CHECK(plugin->struct_size == sizeof(tenon_plugin));
    CHECK(std::string(plugin->id.data, plugin->id.size_bytes) == "alone");
  }

  TEST_CASE("a field counts only if it lies wholly inside the size that the writer knew") {
    tenon_reason reason{};
    reason.struct_size = offsetof(tenon_reason, text) + sizeof(reason.text);
    CHECK(TENON_HAS(&reason, text));
    reason.struct_size -= 1;
    CHECK_FALSE(TENON_HAS(&reason, text));
    CHECK(TENON_HAS(&reason, attribute));
    const tenon_reason* none = nullptr;
    CHECK_FALSE(TENON_HAS(none, code));
  }

  TEST_CASE("the statuses and reasons have their registered numbers") {
    CHECK(TENON_OK == 0);
    CHECK(TENON_REFUSED == 1);
    CHECK(TENON_INVALID_ARGUMENT == -1);
    CHECK(TENON_NOT_FOUND == -2);
    CHECK(TENON_ALREADY_EXISTS == -3);
    CHECK(TENON_UNAVAILABLE == -4);
    CHECK(TENON_INCOMPATIBLE == -5);
    CHECK(TENON_OUT_OF_MEMORY == -6);
    CHECK(TENON_IO == -7);
    CHECK(TENON_DEVICE == -8);
    CHECK(TENON_SHUT_DOWN == -9);
    CHECK(TENON_INTERNAL == -10);
    CHECK(TENON_REASON_DEVICE_KIND == 1);
    CHECK(TENON_REASON_CONTRACT_NEWER == 6);
    CHECK(TENON_REASON_PRESENCE == 16);
    CHECK(TENON_REASON_OTHER == 26);
    CHECK(TENON_REASON_VENDOR == 0x10000);
  }
}
