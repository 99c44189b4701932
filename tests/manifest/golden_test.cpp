// Wrong entries with one fault each: every diagnostic, exactly.
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support.hpp"
#include "tenon/manifest/check.hpp"

using namespace tenon::manifest;  // NOLINT(google-build-using-namespace): one layer's names

namespace {

const std::string kBases = TENON_SOURCE_DIR "/tests/manifest/bases/";

std::string read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  REQUIRE_MESSAGE(stream.good(), path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

struct Case {
  std::string base;
  std::string name;
  std::string before;
  std::string after;
  std::vector<std::string> expected;
};

/// A golden file's cases, and its other lines, so that it can be written anew with what was found.
std::vector<Case> read_cases(const std::string& path) {
  std::vector<Case> cases;
  std::string base;
  std::ifstream stream(path);
  REQUIRE_MESSAGE(stream.good(), path);
  const auto append = [](std::string& text, const std::string& line) {
    text += (text.empty() ? "" : "\n") + line;
  };
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind("base ", 0) == 0) base = line.substr(5);
    if (line.rfind('[', 0) == 0)
      cases.push_back({base, line.substr(1, line.size() - 2), "", "", {}});
    if (cases.empty() || line.size() < 2) continue;
    if (line.rfind("- ", 0) == 0) append(cases.back().before, line.substr(2));
    if (line.rfind("+ ", 0) == 0) append(cases.back().after, line.substr(2));
    if (line.rfind("= ", 0) == 0) cases.back().expected.push_back(line.substr(2));
  }
  return cases;
}

/// The golden file with the diagnostics that were found, beside the build: to be read, then copied.
void write_found(const std::string& golden,
                 const std::string& path,
                 const std::vector<std::vector<std::string>>& found) {
  std::ifstream in(golden);
  std::ofstream out(path);
  std::size_t next = 0;
  bool open = false;
  const auto close = [&] {
    if (open) {
      for (const std::string& line : found[next]) out << "= " << line << '\n';
      ++next;
    }
    open = false;
  };
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("= ", 0) == 0) continue;
    if (line.empty() || line.rfind('[', 0) == 0) close();
    if (line.rfind('[', 0) == 0) open = true;
    out << line << '\n';
  }
  close();
}

std::vector<std::string> diagnose(const Case& c) {
  std::string text = read(kBases + c.base);
  const std::size_t at = text.find(c.before);
  REQUIRE_MESSAGE(at != std::string::npos, c.name);
  REQUIRE_MESSAGE(text.find(c.before, at + 1) == std::string::npos, c.name);
  text.replace(at, c.before.size(), c.after);
  const std::vector<NamedText> files{{"types.yaml", read(kBases + "types.yaml")}, {c.base, text}};
  return test::lines(check(load_texts(files)).diagnostics);
}

}  // namespace

TEST_SUITE("manifest/golden") {
  TEST_CASE("the bases of the wrong entries are right") {
    for (const char* name : {"rich.yaml", "product.yaml", "layout.yaml"}) {
      const std::vector<NamedText> files{{"types.yaml", read(kBases + "types.yaml")},
                                         {name, read(kBases + name)}};
      const CheckedSet loaded = check(load_texts(files));
      CHECK_MESSAGE(loaded.diagnostics.error_count() == 0, loaded.diagnostics.to_text());
    }
  }

  TEST_CASE("every wrong entry gets exactly its diagnostics") {
    const std::string golden = TENON_SOURCE_DIR "/tests/golden/manifest/wrong_entries.txt";
    const std::vector<Case> cases = read_cases(golden);
    std::vector<std::vector<std::string>> found;
    bool equal = true;

    for (const Case& c : cases) {
      found.push_back(diagnose(c));
      INFO("case: ", c.name);
      CHECK(found.back() == c.expected);
      CHECK_FALSE(c.expected.empty());
      equal = equal && found.back() == c.expected;
    }

    CHECK(cases.size() >= 200);
    if (!equal) write_found(golden, TENON_BINARY_DIR "/wrong_entries.found.txt", found);
  }
}
