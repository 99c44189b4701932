// Tests of schema families and of the comparison of two versions.
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "tenon/core/schema.hpp"

namespace {

using tenon::check_family;
using tenon::compare_schemas;
using tenon::parse_schema;
using tenon::Schema;

std::vector<Schema> parsed(const std::vector<std::string_view>& texts) {
  std::vector<Schema> schemas;
  for (const std::string_view text : texts) {
    auto schema = parse_schema(text);
    CAPTURE(text);
    REQUIRE(schema.has_value());
    schemas.push_back(std::move(*schema));
  }
  return schemas;
}

std::string breaks(std::string_view older, std::string_view newer) {
  const std::vector<Schema> schemas = parsed({older, newer});
  std::string text;
  for (const auto& broken : compare_schemas(schemas[0], schemas[1])) {
    text += std::string(name_of(broken.affected)) + ": " + broken.message + "\n";
  }
  return text;
}

TEST_SUITE("core/schema_family") {
  TEST_CASE("the variants of one function have one signature") {
    const std::vector<Schema> variants = parsed({
        "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
        "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
    });

    CHECK(check_family(variants).empty());
    CHECK(signature_of(variants[1]) ==
          "add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
    CHECK(check_family({}).empty());
  }

  TEST_CASE("what is written and not returned counts as returned") {
    const std::vector<Schema> variants = parsed({
        "norm_functional(Tensor x, Tensor mean) -> (Tensor, Tensor mean_out)",
        "norm(Tensor x, Tensor(a!) mean) -> Tensor",
        "norm.out(Tensor x, Tensor(a!) mean, *, Tensor(b!) out) -> Tensor(b!)",
    });

    CHECK(check_family(variants).empty());
    CHECK(signature_of(variants[2]) == "norm(Tensor x, Tensor mean) -> (Tensor, Tensor)");
  }

  TEST_CASE("factory options are no part of the signature") {
    CHECK(check_family(parsed({
                           "ones(int[] size, *, ScalarType? dtype=None, Layout? layout=None, "
                           "Device? device=None, bool? "
                           "pin_memory=None, int n) -> Tensor",
                           "ones.out(int[] size, *, int n, Tensor(a!) out) -> Tensor(a!)",
                       }))
              .empty());
  }

  TEST_CASE("a variant that differs is told with the place") {
    CHECK(check_family(parsed({
              "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
              "sub_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
              "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=2) -> Tensor(a!)",
              "add.out(Tensor self, Tensor other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)",
              "add.x(Tensor self, Tensor other, *, Scalar alpha=1) -> (Tensor, Tensor)",
              "add.y(Tensor self) -> Tensor",
          })) ==
          std::vector<std::string>{
              "'sub_.Tensor' differs from 'add.Tensor': the base name is 'sub', expected 'add'",
              "'add_.Tensor' differs from 'add.Tensor': argument 3 is 'Scalar alpha=2', expected "
              "'Scalar alpha=1'",
              "'add.out' differs from 'add.Tensor': argument 3, 'Scalar alpha=1', is keyword-only "
              "in one of them",
              "'add.x' differs from 'add.Tensor': return 2 (written arguments included) is "
              "'Tensor', expected none",
              "'add.y' differs from 'add.Tensor': argument 2 is none, expected 'Tensor other'",
          });
  }

  TEST_CASE("equal schemas and other letters for the same sets break nobody") {
    CHECK(breaks("f(Tensor(a) x, Tensor(b) y) -> Tensor(a)",
                 "f(Tensor(c) x, Tensor(a) y) -> Tensor(c)") == "");
  }

  TEST_CASE("arguments that come, go, move or change hands break those who rely on them") {
    CHECK(breaks("f(int a) -> ()", "f(int a, int b=1) -> ()") ==
          "implementers: argument 'b' is new and may be passed\n");
    CHECK(breaks("f(int a) -> ()", "f(int a, int b) -> ()") ==
          "callers: argument 'b' is new and has no default\nimplementers: argument 'b' is new and "
          "may be passed\n");
    CHECK(breaks("f(int a, int b=1) -> ()", "f(int a) -> ()") == "callers: argument 'b' is gone\n");
    CHECK(breaks("f(int a) -> ()", "f() -> ()") ==
          "callers: argument 'a' is gone\n"
          "implementers: argument 'a', which has no default, is not passed any more\n");
    CHECK(breaks("f(int a) -> ()", "f(int b=0, int a) -> ()")
              .find("callers: argument 'a' is argument 2 now, was 1\n") == 0);
    CHECK(breaks("f(int a) -> ()", "f(*, int a) -> ()") ==
          "callers: argument 'a' is keyword-only now\n");
    CHECK(breaks("f(*, int a) -> ()", "f(int a) -> ()") ==
          "implementers: argument 'a' may be passed by position now\n");
    CHECK(breaks("f(*, int a, int b) -> ()", "f(*, int b, int a) -> ()") == "");
  }

  TEST_CASE("a default that changes breaks both sides, one that comes or goes breaks one") {
    CHECK(breaks("f(int a=1) -> ()", "f(int a) -> ()") ==
          "callers: argument 'a' has lost its default 1\n");
    CHECK(breaks("f(int a) -> ()", "f(int a=1) -> ()") ==
          "implementers: argument 'a' may be left out now\n");
    CHECK(breaks("f(int a=1) -> ()", "f(int a=2) -> ()") ==
          "callers: argument 'a' has default 2 now, was 1\nimplementers: argument 'a' has default "
          "2 now, was 1\n");
  }

  TEST_CASE(
      "a wider argument type breaks implementers, a narrower one callers, and returns the other "
      "way round") {
    CHECK(breaks("f(int a) -> ()", "f(int? a) -> ()") ==
          "implementers: argument 'a' has type 'int?' now, was 'int'\n");
    CHECK(breaks("f(int? a) -> ()", "f(int a) -> ()") ==
          "callers: argument 'a' has type 'int' now, was 'int?'\n");
    CHECK(breaks("f() -> int?", "f() -> int") ==
          "implementers: return 1 has type 'int' now, was 'int?'\n");
    CHECK(breaks("f() -> int", "f() -> int?") ==
          "callers: return 1 has type 'int?' now, was 'int'\n");
    CHECK(breaks("f() -> ()", "f() -> int") ==
          "callers: there are 1 returns now, were 0\nimplementers: there are 1 returns now, were "
          "0\n");
    CHECK(breaks("f() -> (int a, int b)", "f() -> (int, int b)") ==
          "callers: return 1 has lost its name 'a'\n");
  }

  TEST_CASE("which type takes the place of which") {
    const auto widens = [](std::string_view from, std::string_view to) {
      const std::string text =
          breaks("f(" + std::string(from) + " a) -> ()", "f(" + std::string(to) + " a) -> ()");
      return text.find("callers") == std::string::npos;
    };

    CHECK(widens("int", "SymInt"));
    CHECK(widens("int", "Scalar"));
    CHECK(widens("float", "Scalar"));
    CHECK(widens("int[]", "int?[]"));
    CHECK(widens("int[]", "int[]?"));
    CHECK(widens("int[2]?", "SymInt?[2]?"));
    CHECK(widens("int[]", "int[2]"));
    CHECK(widens("int", "int[1]"));
    CHECK(widens("int", "int??"));
    CHECK_FALSE(widens("Scalar", "float"));
    CHECK_FALSE(widens("int[2]", "int[]"));
    CHECK_FALSE(widens("int[2]", "int[3]"));
    CHECK_FALSE(widens("int", "int[]"));
    CHECK_FALSE(widens("int[]", "int"));
    CHECK_FALSE(widens("int[]?", "int?[]"));
    CHECK_FALSE(widens("int?[]", "int[]?"));
    CHECK_FALSE(widens("str", "int"));
  }

  TEST_CASE("a change of what is written or shared breaks both sides") {
    CHECK(breaks("f(Tensor self, Tensor x) -> ()", "f(Tensor self, Tensor(a!) x) -> ()") ==
          "callers: argument 'x' is written now\nimplementers: argument 'x' is written now\n");
    CHECK(breaks("f(Tensor(a) x) -> Tensor(a)", "f(Tensor x) -> Tensor") ==
          "callers: argument 'x' shares storage by no set now, was '(a)'\n"
          "implementers: argument 'x' shares storage by no set now, was '(a)'\n"
          "callers: return 1 shares storage by no set now, was '(a)'\n"
          "implementers: return 1 shares storage by no set now, was '(a)'\n");
    CHECK(breaks("f(Tensor(a) x, Tensor(b) y) -> Tensor(a)",
                 "f(Tensor(a) x, Tensor(b) y) -> Tensor(b)") != "");
    CHECK(breaks("f() -> ()", "g() -> ()") ==
          "callers: the schema is named 'g' now, was 'f'\nimplementers: the schema is named 'g' "
          "now, was 'f'\n");
  }
}

}  // namespace
