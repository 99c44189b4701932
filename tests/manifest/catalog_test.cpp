// The catalogue of a real manifest: every name, family and form of argument that is seen there can
// be declared.
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support.hpp"
#include "tenon/manifest/check.hpp"
#include "tenon/manifest/expr.hpp"

namespace tenon::manifest::test {
namespace {

struct Row {
  std::string name;
  std::string family;
  std::string status;
  std::string signature;
  std::string ref_api;
};

std::vector<Row> catalog() {
  std::ifstream file(std::string(TENON_SHARED_DATA) + "/manifest/tileops_op_catalog.tsv");
  std::vector<Row> rows;
  std::string line;
  std::getline(file, line);  // the head
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    Row row;
    std::getline(fields, row.name, '\t');
    std::getline(fields, row.family, '\t');
    std::getline(fields, row.status, '\t');
    std::getline(fields, row.signature, '\t');
    std::getline(fields, row.ref_api, '\t');
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The shapes in a signature column: "[B+1]", "[*broadcast(A,B)]". Prose in brackets, and lists
/// that stand for several axes ("k*2", "spatial*1"), are left out.
std::vector<std::string> shapes_in(const std::string& text) {
  static const std::set<std::string> kProse{"[rank 4]", "[*reduced(...)]", "[*broadcast(...)]"};
  std::vector<std::string> shapes;
  for (std::size_t at = text.find('['); at != std::string::npos; at = text.find('[', at + 1)) {
    const std::size_t end = text.find(']', at);
    if (end == std::string::npos) break;
    std::string shape = text.substr(at, end - at + 1);
    const bool several =
        shape.find("k*") != std::string::npos || shape.find("spatial*") != std::string::npos ||
        shape.find("[*,") != std::string::npos || shape.find(" of ") != std::string::npos;
    if (!several && !kProse.contains(shape)) shapes.push_back(std::move(shape));
  }
  return shapes;
}

TEST_SUITE("manifest/catalog") {
  TEST_CASE("every op of the catalogue can be declared under its name, family and reference") {
    const std::vector<Row> rows = catalog();
    if (rows.empty()) {
      MESSAGE("skipped: the catalogue is not there (TENON_SHARED_DATA)");
      return;
    }
    CHECK(rows.size() == 205);
    std::map<std::string, std::string> files;
    std::size_t referenced = 0;
    for (const Row& row : rows) {
      std::string text =
          row.name + ":\n  family: " + row.family + "\n  status: " + row.status + "\n";
      // A reference in words instead of a dotted name is the catalogue's, not the manifest's.
      if (row.ref_api.find_first_of(" (/,;+") == std::string::npos &&
          row.ref_api.find('.') != std::string::npos) {
        text += "  ref_api: " + row.ref_api + "\n";
        ++referenced;
      }
      text += "  signature:\n" + std::string(kUnary) +
              "  workloads: [{S: [4], dtype_cases: [{T: float32}], label: a}]\n"
              "  roofline: {func: tileops.perf.formulas." +
              row.family + "}\n";
      files[row.family] += text;
    }
    CHECK(referenced > 50);
    std::vector<NamedText> texts;
    for (const auto& [family, text] : files) texts.push_back({family + ".yaml", text});
    const CheckedSet checked = check(load_texts(texts));
    INFO(checked.diagnostics.to_text());
    CHECK_FALSE(checked.diagnostics.has_errors());
    CHECK(checked.set.entries.size() == rows.size());
    for (const auto& plan : checked.plans) CHECK(plan != nullptr);
  }

  TEST_CASE("every shape that the catalogue writes is a shape of the language") {
    std::size_t count = 0;
    for (const Row& row : catalog()) {
      for (const std::string& shape : shapes_in(row.signature)) {
        signature::Pool pool;
        ExprError error;
        const bool parsed = parse(shape, Grammar::kShape, pool, error) != signature::kNoExpr;
        CHECK_MESSAGE(parsed, row.name << ": " << shape << ": " << error.text);
        ++count;
      }
    }
    if (count == 0) MESSAGE("skipped: the catalogue is not there (TENON_SHARED_DATA)");
    CHECK((count == 0 || count > 400));
  }
}

}  // namespace
}  // namespace tenon::manifest::test
