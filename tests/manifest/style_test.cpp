// Fifty entries in the manner of large manifests: every construct of the language, read and checked.
#include <filesystem>

#include <doctest/doctest.h>

#include "tenon/manifest/reader.hpp"

using namespace tenon::manifest;  // NOLINT(google-build-using-namespace): one layer's names

namespace {

LoadedSet load_style() {
  auto loaded = load_folder(std::filesystem::path(TENON_SOURCE_DIR) / "tests" / "manifest" / "tileops_style");
  REQUIRE(loaded.has_value());
  return *std::move(loaded);
}

}  // namespace

TEST_SUITE("manifest/style") {
  TEST_CASE("the test entries are read without a word") {
    const LoadedSet loaded = load_style();

    CHECK_MESSAGE(loaded.diagnostics.empty(), loaded.diagnostics.to_text());
    CHECK(loaded.set.entries.size() >= 45);
    CHECK(loaded.set.adts.size() == 2);
  }
}
