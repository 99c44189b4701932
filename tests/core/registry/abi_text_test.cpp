// What becomes of the texts of plugins.
#include "registry/abi_text.hpp"

#include <cstring>

#include <doctest/doctest.h>

#include "tenon/core/device_table.hpp"

using tenon::detail::clean_text;

TEST_SUITE("abi text") {
  TEST_CASE("a text becomes one line without control characters, its other characters stay") {
    CHECK(clean_text("Größe 4\xc2\xb5s") == "Größe 4\xc2\xb5s");
    CHECK(clean_text("a\nb\r\tc\x1b[2J\x7f") == "a\\x0ab\\x0d\\x09c\\x1b[2J\\x7f");
    CHECK(clean_text("bad \xff byte") == "bad ? byte");
    CHECK(clean_text({"a\0b", 3}) == "a\\x00b");
  }

  TEST_CASE("reasons and the names of devices are such texts") {
    tenon_reason reason = tenon::detail::empty_reason();
    std::strcpy(reason.text, "first\nsecond");
    std::strcpy(reason.attribute, "n\n");
    CHECK(tenon::detail::text_of(reason) == "first\\x0asecond");
    CHECK(tenon::detail::attribute_of(reason) == "n\\x0a");
    tenon_device device{};
    device.name = tenon::detail::str_of("Card\nother");
    const tenon::DeviceFacts facts(device);
    CHECK(std::string_view(facts.abi().name.data, facts.abi().name.size_bytes) == "Card\\x0aother");
  }
}
