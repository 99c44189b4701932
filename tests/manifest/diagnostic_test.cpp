// Lists of findings: what is kept of very many, and what is known of the others.
#include <string>

#include <doctest/doctest.h>

#include "support.hpp"
#include "tenon/manifest/check.hpp"

using namespace tenon::manifest;        // NOLINT(google-build-using-namespace): one layer's names
using namespace tenon::manifest::test;  // NOLINT(google-build-using-namespace)

namespace {

/// An entry with `count` keys that no entry has.
std::string noisy_entry(const std::string& name, std::size_t count) {
  std::string text = entry(kUnary, "", name);
  for (std::size_t i = 0; i < count; ++i) text += "  k" + std::to_string(i) + ": 1\n";
  return text;
}

}  // namespace

TEST_SUITE("manifest/diagnostics") {
  TEST_CASE("of a file's findings a bounded number is kept, and the last line counts the others") {
    const LoadedSet loaded = load(noisy_entry("DemoFwdOp", 50000));

    REQUIRE(loaded.diagnostics.size() == DiagnosticList::kMostPerFile + 1);
    const Diagnostic& last = loaded.diagnostics.items().back();
    CHECK(last.to_string() ==
          "demo.yaml: error: 49000 more findings are not listed, all of them errors "
          "[findings.more]; mend those above, and check the file again");
    CHECK(loaded.diagnostics.items().front().rule == "key.unknown");
    CHECK(loaded.diagnostics.error_count() == 50000);
    CHECK(loaded.diagnostics.advisory_count() == 0);
  }

  TEST_CASE("a file of 240,000 wrong keys is told in little") {
    const LoadedSet loaded = load(noisy_entry("DemoFwdOp", 240000));

    CHECK(loaded.diagnostics.size() <= DiagnosticList::kMostPerFile + 1);
    CHECK(loaded.diagnostics.to_text().size() < 1'000'000);
    CHECK(loaded.diagnostics.has_errors());
  }

  TEST_CASE("a file of very many wrong entries is counted, and not kept whole") {
    std::string text;
    for (std::size_t i = 0; i < 30000; ++i) text += "K" + std::to_string(i) + ": 1\n";
    text += entry(kUnary);

    const LoadedSet loaded = load(text);

    CHECK(loaded.set.entries.size() == 10001);
    CHECK(loaded.diagnostics.size() == DiagnosticList::kMostPerFile + 1);
    CHECK(loaded.diagnostics.error_count() == 60000);  // neither a name of an op nor a map
    REQUIRE(loaded.set.find("DemoFwdOp") != nullptr);
    CHECK_FALSE(loaded.set.find("DemoFwdOp")->faulty);
  }

  TEST_CASE("an entry whose every fault is beyond the bound is faulty all the same") {
    const LoadedSet loaded = load(noisy_entry("FirstFwdOp", 2000) + noisy_entry("SecondFwdOp", 1) +
                                  entry(kUnary, "  schema: third\n", "ThirdFwdOp"));

    REQUIRE(loaded.set.entries.size() == 3);
    CHECK(loaded.set.find("FirstFwdOp")->faulty);
    CHECK(loaded.set.find("SecondFwdOp")->faulty);
    CHECK_FALSE(loaded.set.find("ThirdFwdOp")->faulty);
    CHECK(loaded.diagnostics.error_count() == 2001);
  }

  TEST_CASE("the bound is each file's own") {
    const std::vector<NamedText> files{{"demo.yaml", noisy_entry("DemoFwdOp", 3000)},
                                       {"demo_b.yaml", noisy_entry("OtherFwdOp", 2)}};
    const LoadedSet loaded = load_texts(files);

    CHECK(loaded.diagnostics.size() == DiagnosticList::kMostPerFile + 3);
    CHECK(loaded.diagnostics.items()[DiagnosticList::kMostPerFile].rule == "findings.more");
    CHECK(loaded.diagnostics.items().back().where.file == "demo_b.yaml");
    CHECK(loaded.diagnostics.error_count() == 3002);
  }

  TEST_CASE("finishing twice and appending lists keep the counts") {
    DiagnosticList one;
    DiagnosticList other;
    for (std::uint32_t i = 1; i <= 1500; ++i) {
      one.error({"a.yaml", i, 1}, "AFwdOp", "", "rule", "a fault");
      other.advisory({"a.yaml", i, 2}, "BFwdOp", "", "rule", "a remark");
    }
    one.finish();
    one.finish();
    CHECK(one.size() == 1001);
    CHECK(one.error_count() == 1500);

    one.append(other);
    one.finish();
    CHECK(one.size() == 1001);
    CHECK(one.error_count() == 1500);
    CHECK(one.advisory_count() == 1500);
    CHECK(one.items().back().text == "2000 more findings are not listed, 500 of them errors");
    CHECK(one.has_unlisted_error("a.yaml", "AFwdOp"));
    CHECK_FALSE(one.has_unlisted_error("a.yaml", "BFwdOp"));
    CHECK_FALSE(one.has_unlisted_error("b.yaml", "AFwdOp"));
  }

  TEST_CASE("a finding beyond the bound may still change its weight") {
    DiagnosticList list;
    for (std::uint32_t i = 1; i <= DiagnosticList::kMostPerFile; ++i)
      list.error({"a.yaml", i, 1}, "", "", "rule", "a fault");

    Diagnostic& beyond = list.error({"a.yaml", 9999, 1}, "AFwdOp", "", "rule", "a fault");
    CHECK(list.error_count() == DiagnosticList::kMostPerFile + 1);
    beyond.severity = Severity::kAdvisory;
    beyond.hint = "it is none";

    CHECK(list.error_count() == DiagnosticList::kMostPerFile);
    CHECK(list.advisory_count() == 1);
    CHECK_FALSE(list.has_unlisted_error("a.yaml", "AFwdOp"));
    list.finish();
    CHECK(list.items().back().text == "one more finding is not listed, an advisory");
    CHECK(list.items().back().severity == Severity::kAdvisory);
  }
}
