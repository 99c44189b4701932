// The arch tags of devices: what runs where, the most specific first.
#include "host/arch_tags.hpp"

#include <algorithm>

#include <doctest/doctest.h>

using tenon::gpu::amd_arch_tags;
using tenon::gpu::nvidia_arch_tags;

namespace {

bool runs(const std::vector<std::string>& tags, const std::string& tag) {
  return std::find(tags.begin(), tags.end(), tag) != tags.end();
}

}  // namespace

TEST_SUITE("plugins/gpu/arch_tags") {
  TEST_CASE(
      "machine code runs on later minors of its major, intermediate code on everything later") {
    const auto ga102 = nvidia_arch_tags(8, 6);

    CHECK(ga102.front() == "sm_86");
    CHECK(runs(ga102, "sm_80"));
    CHECK(runs(ga102, "compute_86"));
    CHECK(runs(ga102, "compute_75"));
    CHECK_FALSE(runs(ga102, "sm_75"));
    CHECK_FALSE(runs(ga102, "sm_89"));
    CHECK_FALSE(runs(ga102, "compute_90"));
  }

  TEST_CASE("code for the features of one capability runs there alone") {
    const auto h200 = nvidia_arch_tags(9, 0);
    const auto b200 = nvidia_arch_tags(10, 0);

    CHECK(h200.front() == "sm_90a");
    CHECK(runs(h200, "sm_90"));
    CHECK_FALSE(runs(b200, "sm_90a"));
    CHECK_FALSE(runs(b200, "compute_90a"));
    CHECK(runs(b200, "compute_90"));
  }

  TEST_CASE(
      "a capability that no toolkit names yet runs its own code and older intermediate code") {
    const auto unknown = nvidia_arch_tags(13, 7);

    CHECK(runs(unknown, "sm_137"));
    CHECK(runs(unknown, "compute_121"));
    CHECK_FALSE(runs(unknown, "sm_121"));
  }

  TEST_CASE("an AMD device runs code with its features named, and without") {
    CHECK(amd_arch_tags("gfx90a:sramecc+:xnack-") ==
          std::vector<std::string>{"gfx90a:sramecc+:xnack-", "gfx90a"});
    CHECK(amd_arch_tags("gfx1030") == std::vector<std::string>{"gfx1030"});
  }
}
