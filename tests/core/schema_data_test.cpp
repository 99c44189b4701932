// Tests of the schema parser on every schema of PyTorch 2.14 and ExecuTorch, and on the generator's
// own verdicts.
#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "tenon/core/schema.hpp"

namespace {

using tenon::check_schema;
using tenon::Schema;
using tenon::SchemaKind;
using tenon::SchemaVerdict;

/// The lines of a file of test data; empty, with a message, where the data is absent.
std::vector<std::string> lines_of(const std::string& name) {
  std::vector<std::string> lines;
  const std::string folder = TENON_SHARED_DATA;
  std::ifstream file(folder + "/schemas/" + name);
  if (folder.empty() || !file) {
    MESSAGE("skipped: no " << name << " (set TENON_SHARED_DATA to the folder with test data)");
    return lines;
  }
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, '\t');) fields.push_back(field);
  return fields;
}

constexpr std::array<const char*, 3> kFiles{
    "aten_schemas.txt", "aten_schemas_autogen.txt", "executorch_schemas.txt"};

/// Where we knowingly differ from the generator's verdict.
struct Difference {
  std::string_view schema;
  bool is_accepted;  ///< by us
  std::string_view reason;
};
constexpr std::array<Difference, 5> kDifferences{{
    {"f(Tensor(a|b|c) self) -> Tensor",
     true,
     "the grammar has sets of any size; the generator's regular expression keeps two"},
    {"f(Tensor self, str s=\"a=b\") -> Tensor",
     true,
     "a string may hold any character; the generator splits at '='"},
    {"ns::sub::f(Tensor self) -> Tensor",
     false,
     "the grammar has one namespace; the generator takes any text as a name"},
    {" f(Tensor self) -> Tensor",
     false,
     "white space is exact; the generator takes any text as a name"},
    {"f(Tensor self) -> Tensor ",
     false,
     "white space is exact; the generator reads an empty return name"},
}};

TEST_SUITE("core/schema_data") {
  TEST_CASE("every real schema parses and prints back byte for byte") {
    for (const char* file : kFiles) {
      for (const std::string& line : lines_of(file)) {
        CAPTURE(line);
        const SchemaVerdict verdict = check_schema(line);
        REQUIRE(verdict.schema);
        CHECK(verdict.is_valid());
        CHECK(print(*verdict.schema) == line);
      }
    }
  }

  TEST_CASE("real schemas have the kinds that the generator counts") {
    std::map<std::string, int> counts;
    for (const char* file : kFiles) {
      for (const std::string& line : lines_of(file)) {
        const SchemaVerdict verdict = check_schema(line);
        REQUIRE(verdict.schema);
        ++counts[std::string(name_of(verdict.schema->kind()))];
      }
    }
    if (counts.empty()) return;
    CHECK(counts["functional"] == 1607 + 41 + 1);
    CHECK(counts["inplace"] == 337);
    CHECK(counts["mutable"] == 10);
    CHECK(counts["out"] == 631 + 477 + 114);
  }

  TEST_CASE("lint finds exactly the five schemas that PyTorch accepts by mistake") {
    std::vector<std::string> found;
    for (const char* file : kFiles) {
      for (const std::string& line : lines_of(file)) {
        const SchemaVerdict verdict = check_schema(line, true);
        for (const auto& issue : verdict.lint)
          found.push_back(verdict.schema->full_name() + " " + std::string(issue.rule));
      }
    }
    if (lines_of(kFiles[0]).empty()) return;
    std::sort(found.begin(), found.end());
    CHECK(found == std::vector<std::string>{
                       "fbgemm_linear_fp16_weight.out OVERLOAD_OUT",
                       "fbgemm_linear_fp16_weight_fp32_activation.out OVERLOAD_OUT",
                       "record_stream WRITES_UNSAID",
                       "retain_grad WRITES_UNSAID",
                       "set_data WRITES_UNSAID",
                   });
  }

  TEST_CASE(
      "every verdict of the generator on the edge cases holds, but for the differences listed "
      "here") {
    std::vector<std::string> lines = lines_of("schema_edge_cases.tsv");
    if (lines.empty()) return;
    lines.erase(lines.begin());
    std::size_t differences = 0;
    for (const std::string& line : lines) {
      const std::vector<std::string> fields = fields_of(line);
      REQUIRE(fields.size() >= 3);
      CAPTURE(fields[0]);
      const SchemaVerdict verdict = check_schema(fields[0]);
      const bool is_accepted = fields[1] == "accept";
      const auto* known =
          std::find_if(kDifferences.begin(), kDifferences.end(), [&](const Difference& difference) {
            return difference.schema == fields[0];
          });
      if (known != kDifferences.end()) {
        CHECK(verdict.is_valid() == known->is_accepted);
        CHECK(verdict.is_valid() != is_accepted);
        ++differences;
        continue;
      }
      CHECK(verdict.is_valid() == is_accepted);
      if (is_accepted) {
        REQUIRE(verdict.schema);
        CHECK(name_of(verdict.schema->kind()) == fields[2]);
      } else {
        CHECK(verdict.errors.at(0).column >= 1);
        CHECK(verdict.errors.at(0).message.find("expected ") == 0);
      }
    }
    CHECK(differences == kDifferences.size());
  }

  TEST_CASE("the variants of every PyTorch family agree and have the kind of their column") {
    std::map<std::string, Schema> by_name;
    for (const char* file : kFiles) {
      for (const std::string& line : lines_of(file)) {
        SchemaVerdict verdict = check_schema(line);
        REQUIRE(verdict.schema);
        by_name.emplace(verdict.schema->full_name(), std::move(*verdict.schema));
      }
    }
    std::vector<std::string> lines = lines_of("aten_groups.tsv");
    if (lines.empty()) return;
    lines.erase(lines.begin());
    constexpr std::array<SchemaKind, 4> kKinds{
        SchemaKind::kFunctional, SchemaKind::kInplace, SchemaKind::kOut, SchemaKind::kMutable};
    std::size_t families = 0;
    for (const std::string& line : lines) {
      std::vector<Schema> variants;
      const std::vector<std::string> fields = fields_of(line);
      REQUIRE(fields.size() == kKinds.size());
      CAPTURE(line);
      for (std::size_t i = 0; i < fields.size(); ++i) {
        if (fields[i] == "-") continue;
        REQUIRE(by_name.count(fields[i]) == 1);
        variants.push_back(by_name.at(fields[i]));
        CHECK(variants.back().kind() == kKinds[i]);
      }
      const std::vector<std::string> messages = check_family(variants);
      if (fields[0] == "bernoulli.p") {
        // The one family that does not agree: the generator rewrites its default by hand before it
        // compares.
        CHECK(messages == std::vector<std::string>{
                              "'bernoulli_.float' differs from 'bernoulli.p': argument 2 is 'float "
                              "p=0.5', expected 'float p'"});
        continue;
      }
      CHECK_MESSAGE(messages.empty(), (messages.empty() ? std::string() : messages[0]));
      if (variants.size() > 1) ++families;
    }
    CHECK(families > 700);
  }
}

}  // namespace
