// Tests of generators and predicates on the vectors of the language they come from.
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "tenon/manifest/generators.hpp"
#include "tenon/manifest/predicates.hpp"

namespace {

using tenon::AdtValue;
using tenon::Value;
using tenon::ValueList;
using tenon::manifest::CallArg;
using tenon::manifest::GeneratedTensor;

/// Reads the vectors' notation: ints, words, [lists], (tuples), {maps}.
class VectorReader {
 public:
  explicit VectorReader(std::string_view text) : text_(text) {}

  std::vector<Value> all() {
    std::vector<Value> values;
    while (!at_end()) {
      values.push_back(value());
      skip(',');
    }
    return values;
  }

 private:
  void blanks() {
    while (pos_ < text_.size() && text_[pos_] == ' ') ++pos_;
  }
  bool at_end() {
    blanks();
    return pos_ >= text_.size();
  }
  bool skip(char c) {
    blanks();
    if (pos_ >= text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }

  Value value() {
    if (skip('[')) return list(']');
    if (skip('(')) return list(')');
    if (skip('{')) return map();
    const std::string word = token();
    if (word == "true" || word == "false") return word == "true";
    if (word[0] == '-' || (word[0] >= '0' && word[0] <= '9'))
      return static_cast<std::int64_t>(std::stoll(word));
    return word;
  }
  Value list(char close) {
    std::vector<Value> items;
    while (!skip(close)) {
      items.push_back(value());
      skip(',');
    }
    return Value::list(std::move(items), close == ')');
  }
  /// {constructor: {field: value, ...}}
  Value map() {
    AdtValue adt;
    adt.constructor = token();
    REQUIRE(skip(':'));
    REQUIRE(skip('{'));
    while (!skip('}')) {
      std::string field = token();
      REQUIRE(skip(':'));
      adt.fields.emplace_back(std::move(field), value());
      skip(',');
    }
    REQUIRE(skip('}'));
    return adt;
  }
  std::string token() {
    blanks();
    if (skip('\'')) {
      const std::size_t end = text_.find('\'', pos_);
      REQUIRE(end != std::string_view::npos);
      const std::string quoted(text_.substr(pos_, end - pos_));
      pos_ = end + 1;
      return quoted;
    }
    const std::size_t end = text_.find_first_of(",:]})", pos_);
    std::string word(text_.substr(pos_, end - pos_));
    REQUIRE_FALSE(word.empty());
    pos_ = end == std::string_view::npos ? text_.size() : end;
    return word;
  }

  std::string_view text_;
  std::size_t pos_ = 0;
};

/// A nested list as a tensor: an empty one has extent 0 and as many more axes as `rank` asks for.
GeneratedTensor tensor_of(const Value& value, std::int32_t rank) {
  GeneratedTensor tensor;
  const auto* list = value.get_if<ValueList>();
  if (list == nullptr) {
    tensor.values.push_back(*value.get_if<std::int64_t>());
    return tensor;
  }
  tensor.shape.push_back(static_cast<std::int64_t>(list->items.size()));
  std::vector<std::int64_t> inner;
  for (const Value& item : list->items) {
    const GeneratedTensor part = tensor_of(item, rank - 1);
    inner = part.shape;
    tensor.values.insert(tensor.values.end(), part.values.begin(), part.values.end());
  }
  if (list->items.empty()) {
    for (std::int32_t axis = 1; axis < rank; ++axis) inner.push_back(2);
  }
  tensor.shape.insert(tensor.shape.end(), inner.begin(), inner.end());
  return tensor;
}

std::optional<std::vector<CallArg>> args_of(const std::vector<Value>& values, std::size_t from) {
  std::vector<CallArg> args;
  for (std::size_t i = from; i < values.size(); ++i) {
    auto arg = tenon::manifest::call_arg_of(values[i]);
    if (!arg) return std::nullopt;
    args.push_back(std::move(*arg));
  }
  return args;
}

TEST_SUITE("manifest/generators_data") {
  TEST_CASE("generators and predicates give the results of the vectors") {
    const std::string folder = TENON_SHARED_DATA;
    std::ifstream file(folder + "/manifest/primitive_vectors.tsv");
    if (folder.empty() || !file) {
      MESSAGE(
          "skipped: no primitive_vectors.tsv (set TENON_SHARED_DATA to the folder with test data)");
      return;
    }
    int generators = 0;
    int predicates = 0;
    for (std::string line; std::getline(file, line);) {
      std::istringstream in(line);
      std::string name;
      std::string arguments;
      std::string expected;
      std::getline(in, name, '\t');
      std::getline(in, arguments, '\t');
      std::getline(in, expected, '\t');
      CAPTURE(line);
      if (const auto* info = tenon::manifest::find_generator(name)) {
        const auto args = args_of(VectorReader(arguments).all(), 0);
        REQUIRE(args);
        const auto made = tenon::manifest::generate(name, *args);
        CHECK(made.has_value() == (expected != "error"));
        if (made)
          CHECK(made->values == tensor_of(VectorReader(expected).all().at(0), info->rank).values);
        ++generators;
      } else if (const auto* predicate = tenon::manifest::find_predicate(name)) {
        const std::vector<Value> values = VectorReader(arguments).all();
        const auto args = args_of(values, 1);
        REQUIRE(args);
        const auto result =
            tenon::manifest::holds(name, tensor_of(values.at(0), predicate->rank), *args);
        REQUIRE(result.has_value());
        CHECK(*result == (expected == "true"));
        ++predicates;
      }
    }
    CHECK(generators == 25);
    CHECK(predicates == 22);
  }
}

}  // namespace
