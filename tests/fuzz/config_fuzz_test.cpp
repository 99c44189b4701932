// Replays the fuzzer's corpus of configurations, and tries mutated ones.
#include <array>
#include <string_view>

#include <doctest/doctest.h>

#include "config_one.hpp"
#include "replay.hpp"

namespace {

using tenon::fuzz::broken_config_property;

constexpr std::array<std::string_view, 28> kWords{"\n  ",
                                                  ": ",
                                                  "{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  ", ",
                                                  "\"",
                                                  "&a ",
                                                  "*a",
                                                  "<<: *a",
                                                  "!!str ",
                                                  "null",
                                                  "~",
                                                  "1e9",
                                                  "9223372036854775808",
                                                  "plugins",
                                                  "options",
                                                  "ops.AddFwdOp.",
                                                  "selection.reference",
                                                  "caches.call_keys_per_instance",
                                                  "devices.visible",
                                                  "log.level",
                                                  "\n=====\n",
                                                  "TENON_TARGET=",
                                                  "target=",
                                                  ".",
                                                  "\xff"};

TEST_SUITE("fuzz/config") {
  TEST_CASE("every text of the corpus keeps the properties of the configuration's reader") {
    tenon::fuzz::replay_corpus("config", broken_config_property);
  }

  TEST_CASE("2,000 mutated texts keep the properties of the configuration's reader") {
    tenon::fuzz::try_mutations("config", broken_config_property, kWords, 1, 2'000);
  }

  TEST_CASE("200,000 mutated texts keep the properties of the configuration's reader" *
            doctest::skip()) {
    tenon::fuzz::try_mutations("config", broken_config_property, kWords, 2, 200'000);
  }
}

}  // namespace
