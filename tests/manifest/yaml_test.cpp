// YAML text to nodes: places, duplicate keys, bounds, and messages that never show the library's
// own.
#include "tenon/manifest/yaml.hpp"

#include <ctime>
#include <functional>
#include <pthread.h>
#include <string>

#include <doctest/doctest.h>

using tenon::Value;
using tenon::manifest::DiagnosticList;
using tenon::manifest::Node;
using tenon::manifest::parse_yaml;

namespace {

Node good(std::string_view text) {
  DiagnosticList diagnostics;
  auto node = parse_yaml("f.yaml", text, diagnostics);
  REQUIRE_MESSAGE(diagnostics.empty(), diagnostics.to_text());
  REQUIRE(node.has_value());
  return *std::move(node);
}

/// The only diagnostic of a text.
tenon::manifest::Diagnostic fault(std::string_view text) {
  DiagnosticList diagnostics;
  (void)parse_yaml("f.yaml", text, diagnostics);
  diagnostics.finish();
  REQUIRE_MESSAGE(diagnostics.size() == 1, diagnostics.to_text());
  return diagnostics.items().front();
}

std::string line_of(std::string_view text) { return fault(text).to_string(); }

/// Runs `body` on a thread with a stack of 256 KiB.
void with_small_stack(const std::function<void()>& body) {
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, 256u << 10) == 0);
  pthread_t thread{};
  const auto run = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&body)) ==
          0);
  REQUIRE(pthread_join(thread, nullptr) == 0);
  (void)pthread_attr_destroy(&attributes);
}

void check_depth(const std::string& text) {
  DiagnosticList diagnostics;
  bool parsed = true;
  with_small_stack([&] { parsed = parse_yaml("f.yaml", text, diagnostics).has_value(); });
  CHECK_FALSE(parsed);
  REQUIRE(diagnostics.size() == 1);
  CHECK(diagnostics.items().front().rule == "yaml.depth");
  CHECK(diagnostics.items().front().text == "the text nests deeper than 64 levels");
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

}  // namespace

TEST_SUITE("manifest/yaml") {
  TEST_CASE("flow and block style, quotes and folds give the same values") {
    const Node block = good("a:\n- 1\n- x\nb: >-\n  one\n  two\nc: 'it''s'\n");
    const Node flow = good("{a: [1, x], b: \"one two\", c: \"it's\"}");

    CHECK(tenon::manifest::to_flow_text(block) == tenon::manifest::to_flow_text(flow));
    CHECK(block.find("b")->text == "one two");
    CHECK(block.find("c")->value == Value("it's"));
  }

  TEST_CASE("a scalar knows its place, and whether its text stands there as it is") {
    const Node node = good("a: {b: \"x + y\"}\nc: >-\n  x\n  y\n");
    const Node* plain = node.find("a")->find("b");

    CHECK(plain->line == 1);
    CHECK(plain->column == 8);
    CHECK(plain->lead == 1);
    CHECK(plain->verbatim);
    CHECK_FALSE(good("a: 'it''s'").find("a")->verbatim);
    CHECK_FALSE(good("a: one\n  two").find("a")->verbatim);
  }

  TEST_CASE("an empty value stands where its key stands") {
    const Node node = good("a:\n  b:\nc: 1\n");

    CHECK(node.find("a")->find("b")->is_null());
    CHECK(node.find("a")->find("b")->line == 2);
  }

  TEST_CASE("quoted scalars are strings, and tags of the core schema hold") {
    CHECK(good("a: \"1\"").find("a")->value == Value("1"));
    CHECK(good("a: !!str 1").find("a")->value == Value("1"));
    CHECK(good("a: !!int \"3\"").find("a")->value == Value(3));
    CHECK(line_of("a: !!float x") ==
          "f.yaml:1:4: error: a: 'x' is no value of its tag !!float [yaml.tag]");
    CHECK(fault("a: !thing 1").text == "the tag !thing is not understood");
  }

  TEST_CASE("plain dates, base 60 and ints beyond 64 bits are refused with the quoted form") {
    CHECK(line_of("a: {b: 2025-01-01}") ==
          "f.yaml:1:8: error: a: b: the plain scalar 2025-01-01 reads as a date in YAML 1.1 "
          "[yaml.scalar]; found "
          "2025-01-01; expected a string in quotes; write \"2025-01-01\"");
    CHECK(fault("a: 1:30").hint == "write \"1:30\"");
    CHECK(fault("a: 9223372036854775808").rule == "yaml.int-range");
  }

  TEST_CASE("D27: a duplicate key is an error that names both lines, and the first value stays") {
    DiagnosticList diagnostics;
    const auto node = parse_yaml(
        "f.yaml", "Op:\n  inputs: {x: 1}\n  outputs: {}\n  inputs: {y: 2}\n", diagnostics);

    REQUIRE(diagnostics.size() == 1);
    CHECK(diagnostics.items().front().to_string() ==
          "f.yaml:4:3: error: Op: inputs: the key 'inputs' stands twice in one map: at line 2 and "
          "at line 4 "
          "[yaml.duplicate-key]; found 'inputs' again, first at line 2; expected each key once; "
          "remove one of the two, or "
          "rename it");
    REQUIRE(node.has_value());
    CHECK(node->find("Op")->find("inputs")->find("x") != nullptr);
    CHECK(node->find("Op")->size() == 2);
  }

  TEST_CASE("aliases are copied and merge keys fill what a map lacks") {
    const Node node =
        good("base: &b {x: 1, y: 2}\nuse: {<<: *b, y: 3}\nboth: {<<: [*b, {z: 4}]}\n");

    CHECK(tenon::manifest::to_flow_text(*node.find("use")) == "{y: 3, x: 1}");
    CHECK(tenon::manifest::to_flow_text(*node.find("both")) == "{x: 1, y: 2, z: 4}");
    CHECK(fault("a: &a [*a]").rule == "yaml.alias");
    CHECK(fault("a: {<<: 1}").rule == "yaml.merge");
  }

  TEST_CASE("an explosion of aliases is refused before it is written out") {
    std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 12; ++i) {
      const std::string before = "*a" + std::to_string(i - 1);
      text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
      for (int k = 1; k < 10; ++k) text += ", " + before;
      text += "]\n";
    }

    CHECK(fault(text).rule == "yaml.size");
  }

  TEST_CASE("D33: brackets nested 10,000 and 100,000 deep are refused on a stack of 256 KiB") {
    for (const std::size_t depth : {std::size_t{65}, std::size_t{10'000}, std::size_t{100'000}}) {
      check_depth(repeated("[", depth));
      check_depth(repeated("{a: ", depth));
      check_depth(repeated("[", depth) + repeated("]", depth));
    }
  }

  TEST_CASE("D33: lists and maps nested by indentation are refused on a stack of 256 KiB") {
    for (const std::size_t depth : {std::size_t{66}, std::size_t{10'000}, std::size_t{100'000}}) {
      check_depth(repeated("- ", depth) + "x");
      check_depth(repeated("? ", depth) + "x");
    }
    std::string maps;
    for (std::size_t i = 0; i < 2'000; ++i) maps += std::string(i, ' ') + "a:\n";
    check_depth(maps);
  }

  TEST_CASE("depth up to the limit is read") {
    CHECK(good(repeated("[", 64) + repeated("]", 64)).is_list());
  }

  TEST_CASE("a file beyond the size limit is refused without being parsed") {
    const auto found = fault("a: " + std::string(9u << 20, 'x'));

    CHECK(found.rule == "yaml.size");
    CHECK(found.expected == "at most 8388608 bytes");
  }

  TEST_CASE("hostile files up to the size limit cost seconds at most") {
    std::string keys;
    for (int i = 0; i < 60'000; ++i) keys += "k" + std::to_string(i) + ": 1\n";
    std::string anchors;
    for (int i = 0; i < 12'000; ++i)
      anchors += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [x]\n";
    for (int i = 0; i < 12'000; ++i)
      anchors += "b" + std::to_string(i) + ": *a" + std::to_string(i) + "\n";
    const std::string base = "b: &b {" + repeated("x, ", 100'000) + "y}\n";
    for (const std::string& text : {keys,
                                    anchors,
                                    "a: [" + repeated("x,", 600'000) + "x]\n",
                                    repeated("[", 8'000'000),
                                    "a: \"" + repeated("x\\n", 300'000) + "\"\n",
                                    repeated("# x\n", 300'000),
                                    "a: |\n" + repeated("  x\n", 300'000),
                                    base + repeated("- *b\n", 100)}) {
      DiagnosticList diagnostics;
      const std::clock_t start = std::clock();

      (void)parse_yaml("f.yaml", text, diagnostics);

      const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      INFO(text.substr(0, 20));
      CHECK(text.size() < 8u << 20);
      CHECK(seconds < 20);  // far more than it takes, far less than anything that is not linear
    }
  }

  TEST_CASE("D31: files with CRLF line ends and a byte order mark are read like others") {
    const Node node = good(
        "\xef\xbb\xbf"
        "a: {b: 1}\r\nc: x\r\n");

    CHECK(node.find("c")->value == Value("x"));
    CHECK(node.find("c")->line == 2);
    CHECK(node.key(0).text == "a");
  }

  TEST_CASE("D31: what is no YAML gets our words, the place and the expected form") {
    CHECK(line_of("a:\n  x: [1, 2\nb: 3\n") ==
          "f.yaml:2:6: error: the '[' that opens here is not closed [yaml.syntax]; expected ',' or "
          "']'; close the '[' or quote the text");
    CHECK(line_of("a: {b: 1\n") ==
          "f.yaml:1:4: error: the '{' that opens here is not closed [yaml.syntax]; expected ',' or "
          "'}'; close the '{' or quote the text");
    CHECK(line_of("a: \"x\n") ==
          "f.yaml:1:4: error: the quote that opens here is not closed [yaml.syntax]; expected a "
          "closing quote; close the quote");
    CHECK(fault("a:\n\tb: 1\n").to_string() ==
          "f.yaml:2:1: error: a tab stands where indentation is expected [yaml.tab]; found a tab; "
          "expected spaces; replace the tab by spaces");
    CHECK(fault("a:\n  b: 1\n\tc: 2\n").rule == "yaml.tab");
    CHECK(fault("a: b: c\n").text == "a ':' stands where no value may follow");
    CHECK(fault("a: [1]]\n").text == "a closing bracket has no opening one");
    CHECK(fault("a: *x\n").text == "an alias names an anchor that is not defined before it");
    CHECK(fault("a: \"\\q\"\n").text == "a backslash sequence in double quotes is not known");
    CHECK(fault("a: @x\n").text == "a plain scalar cannot begin with this character");
    CHECK(fault("a: \"b\" c\n").text == "this text does not continue the map");
    CHECK(fault("a: 1\n---\nb: 2\n").rule == "yaml.documents");
    CHECK(fault("? [a]\n: 1\n").rule == "yaml.key");
  }

  TEST_CASE("D31: bytes that are no UTF-8 and control characters are refused at their place") {
    CHECK(line_of("a: x\nb: \xff\n") ==
          "f.yaml:2:4: error: the byte 0xff is not UTF-8 [yaml.encoding]; found 0xff; expected "
          "UTF-8 text; save the file as UTF-8");
    CHECK(fault("a: \xc0\xaf").rule == "yaml.encoding");
    CHECK(fault("a: \xed\xa0\x80").rule == "yaml.encoding");
    CHECK(fault(std::string_view("a: \0b", 5)).text ==
          "the file holds the control character NUL (0x00)");
    CHECK(line_of("a: x\nb: \"\x1b[1m\"\n") ==
          "f.yaml:2:5: error: the file holds the control character ESC (0x1b) [yaml.encoding]; "
          "found ESC (0x1b); expected text without control characters; take it out, or write it "
          "as \\x1B in double quotes");
    CHECK(fault("a: \x7f").found == "DEL (0x7f)");
    CHECK(good("a: é\nb: \xf0\x9f\x98\x80\n").find("a")->value == Value("é"));
  }

  TEST_CASE("tabs inside flow, quotes, comments and block scalars are no indentation") {
    CHECK(good("a: [1,\n\t2]\n").find("a")->size() == 2);
    CHECK(good("a: \"x\n\ty\"\n").find("a")->text == "x y");
    CHECK(good("a: |\n  x\n  \ty\nb: 1\n").find("a")->text == "x\n\ty\n");
  }

  TEST_CASE("an apostrophe in a plain scalar and a bracket in a comment open nothing") {
    CHECK(good("a: it's  # [0, 1)\nb: x\n").find("a")->text == "it's");
  }

  TEST_CASE("an empty document is null") {
    CHECK(good("").is_null());
    CHECK(good("# only a comment\n").is_null());
  }

  TEST_CASE("values of a program are one YAML value") {
    CHECK(tenon::manifest::value_from_yaml(std::string_view("[1, 2.5, x, null]")).value() ==
          Value::list({Value(1), Value(2.5), Value("x"), Value{}}));
    CHECK(tenon::manifest::value_from_yaml(std::string_view("1e-6")).value() == Value("1e-6"));
    const auto adt =
        tenon::manifest::value_from_yaml(std::string_view("{masked: {max_m: 8}}")).value();
    REQUIRE(adt.get_if<tenon::AdtValue>() != nullptr);
    CHECK(adt.get_if<tenon::AdtValue>()->constructor == "masked");
    CHECK(adt.get_if<tenon::AdtValue>()->fields.front().second == Value(8));
    const auto wrong = tenon::manifest::value_from_yaml(std::string_view("[1"));
    REQUIRE_FALSE(wrong.has_value());
    CHECK(wrong.error().message() ==
          "'[1' is no YAML value: at column 1 the '[' that opens here is not closed");
  }
}
