// A host of ABI 1.2 and plugins of 1.x (abi.md R3): those files of the loader that know the ABI's
// number are compiled here as 1.2, and whole Runtimes are made of it.
#include <string>

#include <doctest/doctest.h>

#include "support/fakes.hpp"
#include "zoo/beside_good.hpp"

namespace tenon {
namespace {

using test::Expected;
using test::fake_path;

static_assert(TENON_ABI_MAJOR == 1 && TENON_ABI_MINOR == 2, "this test is a host of 1.2");

/// Without a probe: the program that tries plugins in a child process is one of this tree's ABI.
Runtime host_with(std::vector<std::string> paths, const test::TempDir& folder) {
  return test::runtime_of(std::move(paths), folder, "never");
}

std::string versioned(const std::string& name) {
  return std::string(TENON_VERSIONED) + "/" + name + "/" + name + ".tenon.so";
}

}  // namespace

TEST_SUITE("loader/host_version") {
  TEST_CASE(
      "D10 a plugin of a newer minor that needs no newer host loads, sees the host's number and "
      "computes") {
    const test::TempDir folder;
    const Runtime runtime = host_with({versioned("v1-3-needs-1")}, folder);
    REQUIRE(runtime.plugins().size() == 2);
    CHECK_MESSAGE(runtime.plugins()[0].state == PluginState::kActive, runtime.plugins()[0].reason);
    CHECK(runtime.plugins()[0].abi_minor == 3);
    test::check_computes(runtime, "cpu:fast");
  }

  TEST_CASE(
      "an older plugin of the same major, and one of the host's own minor, load and compute") {
    for (const char* name : {"v1-0", "v1-2"}) {
      CAPTURE(std::string(name));
      const test::TempDir folder;
      const Runtime runtime = host_with({versioned(name)}, folder);
      REQUIRE(runtime.plugins().size() == 2);
      CHECK_MESSAGE(runtime.plugins()[0].state == PluginState::kActive,
                    runtime.plugins()[0].reason);
      test::check_computes(runtime, "cpu:fast");
    }
  }

  TEST_CASE(
      "D10 D12 what needs a newer host, or has another major, is refused by both numbers and "
      "advice") {
    const test::TempDir folder;
    const Runtime runtime = host_with({versioned("v1-3-needs-3"),
                                       fake_path("alpha-cpu"),
                                       fake_path("wrong-major"),
                                       versioned("v1-2")},
                                      folder);
    REQUIRE(runtime.plugins().size() == 5);
    const auto refused = [&](std::size_t i, const std::string& part) {
      test::check_record(runtime.plugins()[i],
                         {PluginState::kRejected, PluginStage::kNote, TENON_INCOMPATIBLE, part});
    };
    refused(0, "the plugin needs >= 1.3 (built with 1.3), the host has 1.2");
    refused(1, "the plugin speaks ABI 0.1, this host 1.2");
    refused(2, "rebuild the plugin with this release's headers");
    test::check_computes(runtime, "cpu:fast");
  }

  TEST_CASE(
      "D11 the host reads only the first bytes that it knows of a longer object and of longer "
      "rows") {
    const test::TempDir folder;
    const Runtime runtime = host_with({versioned("v1-3-longer")}, folder);
    REQUIRE(runtime.plugins().size() == 2);
    CHECK_MESSAGE(runtime.plugins()[0].state == PluginState::kActive, runtime.plugins()[0].reason);
    test::check_computes(runtime, "cpu:fast");
  }

  TEST_CASE(
      "D13 a shorter object of an older minor lacks its newest optional function, which is no "
      "fault") {
    const test::TempDir folder;
    const Runtime runtime = host_with({versioned("v1-0-shorter")}, folder);
    REQUIRE(runtime.plugins().size() == 2);
    CHECK_MESSAGE(runtime.plugins()[0].state == PluginState::kActive, runtime.plugins()[0].reason);
    test::check_computes(runtime, "cpu:fast");
  }
}

}  // namespace tenon
