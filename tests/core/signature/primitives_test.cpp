// The primitives: constants of our own, and the vectors of the reference where they are at hand.
#include "tenon/core/signature/primitives.hpp"

#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace tenon::signature {
namespace {

TEST_SUITE_BEGIN("signature/primitives");

/// Values as the vectors write them: numbers, 'strings', (tuples), [lists], {constructor: {field:
/// value}}.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<Value> sequence(char end) {
    std::vector<Value> items;
    blanks();
    while (at_ < text_.size() && text_[at_] != end) {
      items.push_back(value());
      blanks();
      if (at_ < text_.size() && text_[at_] == ',') ++at_;
      blanks();
    }
    if (end != '\0') ++at_;
    return items;
  }

 private:
  void blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  std::string word() {
    const std::size_t start = at_;
    while (at_ < text_.size() &&
           std::string_view(",:)]} ").find(text_[at_]) == std::string_view::npos)
      ++at_;
    return std::string(text_.substr(start, at_ - start));
  }
  Value map() {
    AdtValue adt;
    adt.constructor = key();
    ++at_;  // {
    while (text_[at_] != '}') {
      const std::string field = key();
      adt.fields.emplace_back(field, value());
      if (text_[at_] == ',') ++at_;
      blanks();
    }
    at_ += 2;  // }}
    return adt;
  }
  std::string key() {
    blanks();
    std::string name = word();
    ++at_;  // :
    blanks();
    return name;
  }
  Value value() {
    blanks();
    const char c = text_[at_];
    if (c == '(' || c == '[') {
      ++at_;
      return Value::list(sequence(c == '(' ? ')' : ']'), c == '(');
    }
    if (c == '{') {
      ++at_;
      return map();
    }
    if (c == '\'') {
      const std::size_t end = text_.find('\'', at_ + 1);
      std::string text(text_.substr(at_ + 1, end - at_ - 1));
      at_ = end + 1;
      return text;
    }
    const std::string text = word();
    if (text == "None") return {};
    if (text == "true" || text == "false") return text == "true";
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (text.find_first_of(".e") != std::string::npos &&
        text.find_first_not_of("+-.e0123456789") == std::string::npos)
      return std::stod(text);
    if (text.find_first_not_of("-0123456789") == std::string::npos)
      return static_cast<std::int64_t>(std::stoll(text));
    return text;  // an enum field of a constructor
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// The printed result, or "error".
std::string run(std::string_view name, std::string_view arguments) {
  const auto index = primitive_index(name);
  REQUIRE(index);
  const Primitive& row = primitives()[*index];
  Arena arena;
  std::string text;
  Env env;
  env.arena = &arena;
  env.error = &text;
  const std::vector<Value> values = Reader(arguments).sequence('\0');
  std::vector<Cell> cells;
  for (const Value& v : values) cells.push_back(cell_of(v, arena));
  if (!row.variadic) cells.resize(row.formals.size());
  Cell out;
  if (!row.run(env, cells, out)) {
    CHECK_FALSE(text.empty());
    return "error";
  }
  return print(out);
}

std::string printed(std::string_view result) {
  if (result == "error") return "error";
  return Reader(result).sequence('\0').front().to_string();
}

TEST_CASE("shapes of lists are joined, split and broadcast") {
  CHECK(run("concat.ok", "[(2, 3), (2, 5)], 1") == "true");
  CHECK(run("concat.ok", "[(2, 3), (1, 5)], -1") == "false");
  CHECK(run("concat.out", "[(2, 3), (2, 5)], 1") == "(2, 8)");
  CHECK(run("concat.out", "[(2, 3), (1, 5)], 1") == "error");
  CHECK(run("split.out", "(4, 8), 1, [3, 5], 1") == "(4, 5)");
  CHECK(run("split.out", "(4, 8), 1, [3, 4], 1") == "error");
  CHECK(run("broadcast_all", "[(4, 1), (3,)]") == "(4, 3)");
}

TEST_CASE("there are 22 primitives and 4 over lists, each with a line of documentation") {
  CHECK(primitives().size() == 26);
  for (const Primitive& p : primitives()) {
    CHECK_FALSE(p.doc.empty());
    const bool runs = p.run != nullptr;
    CHECK(runs);
    CHECK(primitive_index(p.name) == static_cast<std::uint32_t>(&p - primitives().data()));
  }
  CHECK_FALSE(primitive_index("isinstance"));
}

TEST_CASE("pool.out follows its formula in ceil and floor mode") {
  CHECK(run("pool.out", "8, 3, 2, 0, 1, true") == "4");
  CHECK(run("pool.out", "8, 3, 2, 0, 1, false") == "3");
  CHECK(run("pool.out", "3, 1, 2, 0, 1, true") == "2");
  CHECK(run("pool.out", "2, 5, 1, 0, 1, false") == "0");
  CHECK(run("pool.out", "8, 3, 0, 0, 1, true") == "error");
}

TEST_CASE("per_axis takes the item, the scalar or the fallback") {
  CHECK(run("per_axis", "[5, None], 1, 2, 9") == "9");
  CHECK(run("per_axis", "[5, None], 0, 2, 9") == "5");
  CHECK(run("per_axis", "7, 1, 2") == "7");
  CHECK(run("per_axis", "None, 0, 2") == "error");
  CHECK(run("per_axis", "[1, 2, 3], 0, 2") == "error");
}

TEST_CASE("axes wrap within the rank, and rank 0 has 0 and -1") {
  CHECK(run("valid_axes", "[-3, 2], 3") == "true");
  CHECK(run("valid_axes", "[-4], 3") == "false");
  CHECK(run("valid_axes", "-1, 0") == "true");
  CHECK(run("unique_axes", "[0, -3], 3") == "false");
  CHECK(run("unique_axes", "[0, 3], 3") == "error");
  CHECK(run("reduced", "(2, 3), [0, -2], true, 'full'") == "(1, 3)");
  CHECK(run("reduced", "(2, 3), [], false, 'reject'") == "error");
}

TEST_CASE("broadcast counts a size of zero as a size") {
  CHECK(run("broadcast", "(0, 7), (1, 7)") == "(0, 7)");
  CHECK(run("broadcast", "(0, 7), (2, 7)") == "error");
  CHECK(run("broadcast", "(4, 1), (3,), (5, 1, 1)") == "(5, 4, 3)");
}

TEST_CASE("products and sums beyond 64 bits are errors, and a zero factor is zero") {
  CHECK(run("prod", "[4294967296, 4294967296]") == "error");
  CHECK(run("prod", "[4294967296, 4294967296, 0]") == "0");
  CHECK(run("prod", "()") == "1");
  CHECK(run("sum", "[9223372036854775807, 1]") == "error");
  CHECK(run("conv.out", "9223372036854775807, 3, 1, 1, 1") == "error");
}

TEST_CASE("representable mirrors the overflow check of fills") {
  CHECK(run("representable", "-255, 'uint8'") == "true");
  CHECK(run("representable", "-256, 'uint8'") == "false");
  CHECK(run("representable", "true, 'int8'") == "true");
  CHECK(run("representable", "inf, 'float8_e4m3fn'") == "false");
  CHECK(run("representable", "inf, 'float8_e5m2'") == "true");
  CHECK(run("representable", "9223372036854775807, 'float32'") == "true");
  CHECK(run("representable", "9223372036854775808.0, 'int64'") == "false");
}

TEST_CASE("mhc.expansion finds n with n * n + 2 * n") {
  CHECK(run("mhc.expansion", "24") == "4");
  CHECK(run("mhc.expansion", "8") == "2");
  CHECK(run("mhc.expansion", "9") == "error");
}

TEST_CASE("the reference's vectors hold") {
  const std::string folder = TENON_SHARED_DATA;
  std::ifstream file(folder + "/manifest/primitive_vectors.tsv");
  if (folder.empty() || !file) {
    MESSAGE("skipped: TENON_SHARED_DATA does not lead to manifest/primitive_vectors.tsv");
    return;
  }
  std::string line;
  std::getline(file, line);
  std::size_t count = 0;
  while (std::getline(file, line)) {
    const std::size_t first = line.find('\t');
    const std::size_t second = line.find('\t', first + 1);
    const std::string name = line.substr(0, first);
    if (!primitive_index(name)) continue;  // generators and predicates are the manifest layer's
    INFO(line);
    CHECK(run(name, std::string_view(line).substr(first + 1, second - first - 1)) ==
          printed(std::string_view(line).substr(second + 1)));
    ++count;
  }
  CHECK(count > 60);
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::signature
