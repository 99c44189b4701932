// Plain scalars read as PyYAML's safe loader reads them.
#include "tenon/manifest/scalar.hpp"

#include <cmath>
#include <limits>
#include <string_view>

#include <doctest/doctest.h>

using tenon::Value;
using tenon::manifest::resolve_plain;
using Kind = tenon::manifest::Scalar::Kind;

namespace {

struct Row {
  std::string_view text;
  Kind kind;
  Value value;
};

void check(const Row& row) {
  INFO("scalar: ", std::string(row.text));
  const auto scalar = resolve_plain(row.text);
  CHECK(scalar.kind == row.kind);
  CHECK(scalar.value == row.value);
}

Row string(std::string_view text) { return {text, Kind::kString, Value(std::string(text))}; }

}  // namespace

TEST_SUITE("manifest/scalar") {
  TEST_CASE("null, and only its four spellings") {
    for (const std::string_view text : {"", "~", "null", "Null", "NULL"})
      check({text, Kind::kNull, Value{}});
    for (const std::string_view text : {"none", "None", "nULL", "~~"}) check(string(text));
  }

  TEST_CASE("bools have three words each in three forms, and single letters are names") {
    for (const std::string_view text :
         {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})
      check({text, Kind::kBool, true});
    for (const std::string_view text :
         {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})
      check({text, Kind::kBool, false});
    for (const std::string_view text : {"N", "Y", "n", "y", "tRUE", "oN", "yES", "t"})
      check(string(text));
  }

  TEST_CASE("ints are decimal, octal, hexadecimal or binary, with underscores") {
    check({"0", Kind::kInt, 0});
    check({"0x10", Kind::kInt, 16});
    check({"010", Kind::kInt, 8});
    check({"1_000", Kind::kInt, 1000});
    check({"+1", Kind::kInt, 1});
    check({"-17", Kind::kInt, -17});
    check({"0b101", Kind::kInt, 5});
    check({"-0x_ff", Kind::kInt, -255});
    check({"00", Kind::kInt, 0});
    check({"9223372036854775807", Kind::kInt, std::numeric_limits<std::int64_t>::max()});
    check({"-9223372036854775808", Kind::kInt, std::numeric_limits<std::int64_t>::min()});
    for (const std::string_view text : {"09", "0o17", "1_a", "0xg", "0b2", "+", "-", "_1"})
      check(string(text));
  }

  TEST_CASE("an int beyond 64 bits is told apart") {
    CHECK(resolve_plain("9223372036854775808").kind == Kind::kOutOfRange);
    CHECK(resolve_plain("-9223372036854775809").kind == Kind::kOutOfRange);
    CHECK(resolve_plain("0xffffffffffffffffff").kind == Kind::kOutOfRange);
  }

  TEST_CASE("floats need a point, and a signed exponent if any") {
    check({"1.0e-6", Kind::kFloat, 1.0e-6});
    check({"1.e-5", Kind::kFloat, 1.0e-5});
    check({".5", Kind::kFloat, 0.5});
    check({"1.", Kind::kFloat, 1.0});
    check({"-1.5", Kind::kFloat, -1.5});
    check({"1_0.2_5", Kind::kFloat, 10.25});
    check({"1.0E+3", Kind::kFloat, 1000.0});
    check({".inf", Kind::kFloat, std::numeric_limits<double>::infinity()});
    check({"-.INF", Kind::kFloat, -std::numeric_limits<double>::infinity()});
    check({"1.0e-999", Kind::kFloat, 0.0});
    check({"1.0e+999", Kind::kFloat, std::numeric_limits<double>::infinity()});
    CHECK(resolve_plain(".nan").kind == Kind::kFloat);
    for (const std::string_view text :
         {"1e-6", "1.0e6", "1e5", "-.5", ".", "1.5b", "-.nan", ".iNf", "inf", "nan", "1.2.3"})
      check(string(text));
  }

  TEST_CASE("words that begin like numbers are strings") {
    for (const std::string_view text : {"1d", "3d-x", "16M", "repeat(512, 4)", "2048x4096", "1:"})
      check(string(text));
  }

  TEST_CASE("dates and numbers in base 60 are told apart") {
    for (const std::string_view text :
         {"2025-01-01", "2025-1-2T03:04:05Z", "2025-01-02 3:04:05.5 -07:30"}) {
      CHECK(resolve_plain(text).kind == Kind::kTimestamp);
    }
    for (const std::string_view text : {"1:30", "190:20:30", "190:20:30.15"})
      CHECK(resolve_plain(text).kind == Kind::kSexagesimal);
    for (const std::string_view text : {"2025-1-1", "1:60", "0:30", "2025-01-01T", "20250-01-01"})
      check(string(text));
  }
}
