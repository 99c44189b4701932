// Fifty entries in the manner of large manifests: every construct of the language, read and
// checked.
#include <filesystem>

#include <doctest/doctest.h>

#include "tenon/manifest/check.hpp"

using namespace tenon::manifest;  // NOLINT(google-build-using-namespace): one layer's names

namespace {

LoadedSet load_style() {
  auto loaded =
      load_folder(std::filesystem::path(TENON_SOURCE_DIR) / "tests" / "manifest" / "tileops_style");
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

  TEST_CASE("the test entries compile, and every row becomes calls") {
    const CheckedSet checked = check(load_style());

    CHECK_MESSAGE(checked.diagnostics.error_count() == 0,
                  checked.diagnostics.to_text());  // advisories may stand
    std::size_t cases = 0;
    for (std::size_t i = 0; i < checked.plans.size(); ++i) {
      INFO("op: ", checked.set.entries[i].decl.name);
      CHECK(checked.plans[i] != nullptr);
      CHECK(checked.workloads[i].cases.size() >= checked.set.entries[i].workloads.size());
      cases += checked.workloads[i].cases.size();
    }
    CHECK(cases >= 90);
  }

  TEST_CASE("the shipped entries pass the whole check") {
    const CheckedSet checked = check(load_shipped());

    CHECK_MESSAGE(checked.diagnostics.empty(), checked.diagnostics.to_text());
  }
}
