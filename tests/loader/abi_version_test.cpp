// Which ABI numbers a host takes, how versions compare, and the small grammars.
#include "tenon/loader/abi_version.hpp"

#include <doctest/doctest.h>

namespace tenon::loader {

TEST_SUITE_BEGIN("loader/abi_version");

TEST_CASE("D10 from 1.0 on a newer plugin that needs no newer host loads, at the host's minor") {
  CHECK_FALSE(abi_refusal({1, 3}, {1, 4, 3}));
  CHECK(effective_minor({1, 3}, {1, 4, 3}) == 3);
}

TEST_CASE("D10 a plugin that needs a newer host is refused with both numbers") {
  const auto text = abi_refusal({1, 3}, {1, 4, 4});
  REQUIRE(text);
  CHECK(text->find("needs >= 1.4") != std::string::npos);
  CHECK(text->find("host has 1.3") != std::string::npos);
}

TEST_CASE("D11 built with 1.4, minimum 1.2, loads on a host of 1.3 at 1.3") {
  CHECK_FALSE(abi_refusal({1, 3}, {1, 4, 2}));
  CHECK(effective_minor({1, 3}, {1, 4, 2}) == 3);
}

TEST_CASE("an older plugin of the same major loads at its own minor") {
  CHECK_FALSE(abi_refusal({1, 3}, {1, 0, 0}));
  CHECK(effective_minor({1, 3}, {1, 0, 0}) == 0);
}

TEST_CASE("D12 another major is refused with the accepted range and what to do") {
  const auto text = abi_refusal({1, 3}, {2, 0, 0});
  REQUIRE(text);
  CHECK(text->find("ABI 2.0") != std::string::npos);
  CHECK(text->find("1.x") != std::string::npos);
  CHECK(text->find("rebuild") != std::string::npos);
}

TEST_CASE("while the major is 0 the minors must be equal") {
  CHECK_FALSE(abi_refusal({0, 1}, {0, 1, 1}));
  CHECK(abi_refusal({0, 2}, {0, 1, 1}));
  CHECK(abi_refusal({0, 1}, {0, 2, 1}));
}

TEST_CASE("D14 versions compare number by number") {
  CHECK(compare_versions("1.10", "1.9") > 0);
  CHECK(compare_versions("1.8", "1.9") < 0);
  CHECK(compare_versions("1.2", "1.2.0") == 0);
  CHECK(compare_versions("1.2.0.1", "1.2") > 0);
  CHECK(compare_versions("01.2", "1.2") == 0);
  CHECK(compare_versions("2.0-rc1", "2.0") < 0);
  CHECK(compare_versions("2.0-rc2", "2.0-rc10") < 0);
  CHECK(compare_versions("2.0.1", "2.0-rc1") > 0);
  CHECK(compare_versions("99999999999999999999999", "99999999999999999999998") > 0);
  CHECK(compare_versions("", "0.1") < 0);
  CHECK(compare_versions("1.0+abc", "1.0+abd") == 0);
}

TEST_CASE("a version is numbers between dots, with a suffix that ranks below and a build") {
  for (const char* good :
       {"1", "1.2.3", "0.10.0.4", "2.0-rc1", "1.2.3-beta.2", "1.0+git5", "1.0-a+b"})
    CHECK_MESSAGE(is_version(good), good);
  for (const char* bad : {"",
                          "v1.2",
                          "1.",
                          ".1",
                          "1..2",
                          "1.x",
                          "1.0 beta",
                          "1.0-",
                          "1.0+",
                          "1.0_2",
                          "latest",
                          "1.0-rc\n"})
    CHECK_FALSE_MESSAGE(is_version(bad), bad);
  CHECK(is_version("1." + std::string(62, '0')));
  const std::string long_one = "1." + std::string(63, '0');
  CHECK_FALSE(is_version(long_one));
  CHECK_MESSAGE(version_refusal(long_one).find("has 65 characters; at most 64 are taken") !=
                    std::string::npos,
                version_refusal(long_one));
}

TEST_CASE("plugin ids are lower case letters, digits and hyphens") {
  CHECK(is_plugin_id("acme-2"));
  CHECK_FALSE(is_plugin_id("Acme"));
  CHECK_FALSE(is_plugin_id("2acme"));
  CHECK_FALSE(is_plugin_id("a_b"));
  CHECK_FALSE(is_plugin_id(""));
}

TEST_CASE("an id of more characters than are taken is told its length, not its form") {
  CHECK(is_plugin_id(std::string(64, 'a')));
  CHECK_FALSE(is_plugin_id(std::string(65, 'a')));
  CHECK(id_refusal(std::string(65, 'a')).find("has 65 characters, at most 64 are taken") !=
        std::string::npos);
  CHECK(id_refusal("A") == "id 'A' is not of the form [a-z][a-z0-9-]*");
}

TEST_CASE("UTF-8 is checked strictly") {
  CHECK(is_utf8("K\xC3\xA4se \xF0\x9F\x98\x80"));
  CHECK_FALSE(is_utf8("\xC0\x80"));          // overlong
  CHECK_FALSE(is_utf8("\xED\xA0\x80"));      // a surrogate
  CHECK_FALSE(is_utf8("\xF4\x90\x80\x80"));  // above U+10FFFF
  CHECK_FALSE(is_utf8("a\xC3"));             // cut
  CHECK_FALSE(is_utf8(std::string_view("a\0b", 3)));
}

TEST_CASE("globs match whole names") {
  CHECK(glob_matches("ac*", "acme"));
  CHECK(glob_matches("*-x?", "acme-x2"));
  CHECK(glob_matches("*", ""));
  CHECK_FALSE(glob_matches("ac", "acme"));
  CHECK_FALSE(glob_matches("?", ""));
}

TEST_SUITE_END();

}  // namespace tenon::loader
