// Tests of tables, wrapping and numbers with units.
#include "text.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using tenon::cli::as_shown;
using tenon::cli::Cell;
using tenon::cli::Ink;
using tenon::cli::Style;
using tenon::cli::Table;

TEST_SUITE("cli/text") {
  TEST_CASE("a table is as wide as its cells and has no trailing spaces") {
    Table table({{"NAME"}, {"OPS", true}, {"KINDS"}});
    table.row({"cpu", "9", "cpu"});
    table.row({"acme-long", "120", ""});

    CHECK(table.render(Style{}) ==
          "NAME       OPS  KINDS\n"
          "cpu          9  cpu\n"
          "acme-long  120\n");
  }

  TEST_CASE("a column that may wrap gives way so that rows fit the width") {
    Table table({{"KEY"}, {"REASON", false, true}});
    table.row({"cpu:rows", "serves n <= 1024, got 4096, and says so at length"});

    CHECK(table.render(Style{40, false}) ==
          "KEY       REASON\n"
          "cpu:rows  serves n <= 1024, got 4096,\n"
          "          and says so at length\n");
  }

  TEST_CASE("a word longer than its column stays whole") {
    Table table({{"KEY"}, {"PATH", false, true}});
    table.row({"a", "/a/very/long/path/that/does/not/fit/anywhere/at/all.so is it"});

    CHECK(table.render(Style{40, false}) ==
          "KEY  PATH\n"
          "a    /a/very/long/path/that/does/not/fit/anywhere/at/all.so\n"
          "     is it\n");
  }

  TEST_CASE("a column without any text is left out") {
    Table table({{"A"}, {"B"}, {"C"}});
    table.row({"1", "", "3"});

    CHECK(table.render(Style{}) == "A  C\n1  3\n");
  }

  TEST_CASE("a note stands whole on a line of its own") {
    Table table({{"A"}});
    table.row({"1"});
    table.note("/p");

    CHECK(table.render(Style{}, 2) == "  A\n  1\n    /p\n");
  }

  TEST_CASE("colour changes no alignment") {
    Table table({{"A"}, {"B"}});
    table.row({Cell("x", Ink::kGood), "y"});
    table.row({"long", "y"});

    const Style style{80, true};
    CHECK(as_shown(table.render(style), style) ==
          "\x1b[1mA\x1b[0m     \x1b[1mB\x1b[0m\n"
          "\x1b[32mx\x1b[0m     y\n"
          "long  y\n");
  }

  TEST_CASE("escapes come from the command alone, whatever a text holds") {
    const Style style{80, true};
    Table table({{""}});
    table.row({Cell("x\x1b[31my", Ink::kBold)});

    CHECK(as_shown(table.render(style), style) == "\x1b[1mx\\x1b[31my\x1b[0m\n");
    CHECK(as_shown(table.render({}), {}) == "x\\x1b[31my\n");
    CHECK(as_shown("\xff", style) == "\\xff");
  }

  TEST_CASE("paragraphs keep their line ends and indentation") {
    CHECK(tenon::cli::paragraph("one two three\n  four", 2, Style{11, false}) ==
          "  one two\n  three\n  four\n");
  }

  TEST_CASE("numbers have units") {
    using namespace tenon::cli;
    CHECK(bytes_text(512) == "512 B");
    CHECK(bytes_text(1536) == "1.5 KiB");
    CHECK(bytes_text(85899345920.0) == "80.0 GiB");
    CHECK(quantity_text(999, "flop") == "999 flop");
    CHECK(quantity_text(16777216, "flop") == "16.8 Mflop");
    CHECK(duration_text(950) == "950 ns");
    CHECK(duration_text(12345) == "12.3 us");
    CHECK(duration_text(4560000) == "4.56 ms");
    CHECK(counted(1, "op") == "1 op");
    CHECK(counted(0, "op") == "0 ops");
  }
}

}  // namespace
