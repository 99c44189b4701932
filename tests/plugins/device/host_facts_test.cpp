// Reading /proc texts.
#include "device/host_facts.hpp"

#include <doctest/doctest.h>

namespace tenon::cpu {
namespace {

TEST_SUITE("plugins/cpu/host_facts") {
  TEST_CASE("the processor's name is the first model name of cpuinfo") {
    CHECK(processor_name("processor\t: 0\nmodel name\t: Acme Fast 9 \nflags\t: a b\n"
                         "processor\t: 1\nmodel name\t: Other\n") == "Acme Fast 9");
  }

  TEST_CASE("a board that writes only Model is named by it") {
    CHECK(processor_name("processor\t: 0\nBogoMIPS\t: 48.00\n\nModel\t\t: Acme Board 4\n") ==
          "Acme Board 4");
  }

  TEST_CASE("a cpuinfo without a name gives none") {
    CHECK(processor_name("").empty());
    CHECK(processor_name("model name\t:\n").empty());
    CHECK(processor_name("no colon here").empty());
  }

  TEST_CASE("memory fields are read in bytes, and a malformed one gives nothing") {
    constexpr std::string_view text =
        "MemTotal:       24576 kB\nMemFree: 12 kB\nMemAvailable:  8192 kB\nOdd: 3 pages\nBad: x "
        "kB\n";
    CHECK(meminfo_bytes(text, "MemTotal") == 24576ULL * 1024);
    CHECK(meminfo_bytes(text, "MemAvailable") == 8192ULL * 1024);
    CHECK_FALSE(meminfo_bytes(text, "Mem").has_value());
    CHECK_FALSE(meminfo_bytes(text, "Odd").has_value());
    CHECK_FALSE(meminfo_bytes(text, "Bad").has_value());
    CHECK_FALSE(meminfo_bytes("MemTotal: 99999999999999999999 kB", "MemTotal").has_value());
  }

  TEST_CASE("this machine has memory and a processor") {
    const auto now = memory_now();
    REQUIRE(now.has_value());
    CHECK(now->total_bytes > 0);
    CHECK(now->free_bytes <= now->total_bytes);
    CHECK(usable_processors() >= 1);
  }
}

}  // namespace
}  // namespace tenon::cpu
