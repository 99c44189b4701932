// Replays the fuzzer's corpus of plugin files, and tries mutated ones.
#include <array>
#include <string_view>

#include <doctest/doctest.h>

#include "note_one.hpp"
#include "replay.hpp"

namespace {

using tenon::fuzz::broken_note_property;
using namespace std::string_view_literals;

constexpr std::array kWords{"\177ELF"sv,
                            "\xff\xff\xff\xff"sv,
                            "\xff\xff\xff\xff\xff\xff\xff\xff"sv,
                            "\0\0\0\0"sv,
                            "\1\0\0\0"sv,
                            "\4\0\0\0\4\0\0\0"sv,
                            "\x40\0\0\0\0\0\0\0"sv,
                            "\xf5\xfe\xff\x6f\0\0\0\0"sv,
                            "\0\0\0\x80"sv,
                            "\0\0\0\0\0\0\0\x80"sv,
                            "\6\0\0\0"sv,
                            "TENON\0\0\0"sv,
                            "GNU\0"sv,
                            "tenon_plugin_v0\0"sv,
                            "acme\0"sv,
                            "\n"sv};

TEST_SUITE("fuzz/note") {
  TEST_CASE("every file of the corpus keeps the properties of the reader of plugin files") {
    tenon::fuzz::replay_corpus("note", broken_note_property);
  }

  TEST_CASE("20,000 mutated files keep the properties of the reader of plugin files") {
    tenon::fuzz::try_mutations("note", broken_note_property, kWords, 1, 20'000);
  }

  TEST_CASE("1,000,000 mutated files keep the properties of the reader of plugin files" *
            doctest::skip()) {
    tenon::fuzz::try_mutations("note", broken_note_property, kWords, 2, 1'000'000);
  }
}

}  // namespace
