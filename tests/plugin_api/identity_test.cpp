// Build identities: equal values give equal bytes, different ones different bytes, whatever the
// run.
#include "tenon/plugin/identity.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

template <class T>
std::vector<unsigned char> bytes_of(const T& value) {
  std::uint64_t size_bytes = 0;
  tenon::detail::write_identity(value, nullptr, 0, &size_bytes);
  std::vector<unsigned char> bytes(size_bytes);
  tenon::detail::write_identity(value, bytes.data(), bytes.size(), &size_bytes);
  return bytes;
}

}  // namespace

TEST_SUITE("plugin_api/identity") {
  TEST_CASE("every NaN is the same, and the two zeros differ") {
    const double quiet = std::numeric_limits<double>::quiet_NaN();
    CHECK(bytes_of(std::tuple{quiet}) == bytes_of(std::tuple{std::copysign(quiet, -1.0)}));
    CHECK(bytes_of(std::tuple{0.0}) != bytes_of(std::tuple{-0.0}));
  }

  TEST_CASE("an int and a float Number of one value differ") {
    CHECK(bytes_of(std::tuple{tenon::Number(std::int64_t{1})}) !=
          bytes_of(std::tuple{tenon::Number(1.0)}));
  }

  TEST_CASE("the lengths of texts and lists take part") {
    using namespace std::string_view_literals;
    CHECK(bytes_of(std::tuple{"ab"sv, "c"sv}) != bytes_of(std::tuple{"a"sv, "bc"sv}));
    CHECK(bytes_of(std::tuple{std::vector<std::int64_t>{1}, std::vector<std::int64_t>{}}) !=
          bytes_of(std::tuple{std::vector<std::int64_t>{}, std::vector<std::int64_t>{1}}));
  }

  TEST_CASE("an absent optional differs from a present zero") {
    CHECK(bytes_of(std::tuple{std::optional<std::int64_t>()}) !=
          bytes_of(std::tuple{std::optional<std::int64_t>(0)}));
  }

  TEST_CASE("the bytes are those of the format, which builds on disk rely on") {
    const auto bytes = bytes_of(std::tuple{std::int64_t{258}, true, tenon::kFloat32});
    const std::vector<unsigned char> expected = {2, 1, 0, 0, 0, 0, 0, 0, 1, 2, 32, 1, 0};
    CHECK(bytes == expected);
  }

  TEST_CASE("too small a buffer gets nothing but the whole size") {
    unsigned char buffer[8] = {9, 9, 9, 9, 9, 9, 9, 9};
    std::uint64_t size_bytes = 0;

    tenon::detail::write_identity(
        std::tuple{std::int64_t{1}, std::int64_t{2}}, buffer, sizeof(buffer), &size_bytes);

    CHECK(size_bytes == 16);
    for (const unsigned char byte : buffer) CHECK(byte == 9);
  }
}
