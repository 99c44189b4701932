// The expression language as text: precedence, bounds, and what is refused with which rewrite.
#include "tenon/manifest/expr.hpp"

#include <string>

#include <doctest/doctest.h>

namespace tenon::manifest {
namespace {

TEST_SUITE_BEGIN("manifest/expr");

/// The text as the printer gives it back, or "rule@column: text; hint".
std::string parsed(std::string_view text, Grammar grammar = Grammar::kExpression) {
  signature::Pool pool;
  ExprError error;
  const signature::Expr e = parse(text, grammar, pool, error);
  if (e == signature::kNoExpr) {
    return error.rule + "@" + std::to_string(error.column) + ": " + error.text +
           (error.hint.empty() ? "" : "; " + error.hint);
  }
  return signature::print(pool, e);
}

TEST_CASE("precedence is Python's") {
  CHECK(parsed("1+2*3") == "1 + 2 * 3");
  CHECK(parsed("(1+2)*3") == "(1 + 2) * 3");
  CHECK(parsed("-a//2") == "-a // 2");
  CHECK(parsed("-(a//2)") == "-(a // 2)");
  CHECK(parsed("a - (b - c)") == "a - (b - c)");
  CHECK(parsed("(a - b) - c") == "a - b - c");
  CHECK(parsed("not a == b") == "not a == b");
  CHECK(parsed("not a and b or c") == "not a and b or c");
  CHECK(parsed("a or (b and not c)") == "a or b and not c");
  CHECK(parsed("(a or b) and c") == "(a or b) and c");
  CHECK(parsed("a if b else c if d else e") == "a if b else c if d else e");
  CHECK(parsed("(a if b else c) + 1") == "(a if b else c) + 1");
}

TEST_CASE("comparisons chain, and not in is one operator") {
  CHECK(parsed("0 < a <= b != c") == "0 < a <= b != c");
  CHECK(parsed("a not in ('x', 'y')") == "a not in ('x', 'y')");
  CHECK(parsed("not a in (1,)") == "not a in (1,)");
}

TEST_CASE("literals, subscripts, slices, attributes and calls") {
  CHECK(parsed("0x10 + 1_000 + 0b11") == "16 + 1000 + 3");
  CHECK(parsed("-inf <= f") == "-inf <= f");
  CHECK(parsed("S[1:][-1]") == "S[1:][-1]");
  CHECK(parsed("S[::-1]") == "S[::-1]");
  CHECK(parsed("v.value.max_m") == "v.value.max_m");
  CHECK(parsed("conv.out(a, b, 1, 0, 1)") == "conv.out(a, b, 1, 0, 1)");
  CHECK(parsed("per_axis(s, 0, 2, fallback=k)") == "per_axis(s, 0, 2, fallback=k)");
  CHECK(parsed("all(x > 0 for x in (a, b))") == "all(i > 0 for i in (a, b))");
  CHECK(parsed("sum(1 if n == 0 else 0 for n in S) == 2") ==
        "sum(1 if i == 0 else 0 for i in S) == 2");
  CHECK(parsed("()") == "()");
  CHECK(parsed("min") == "min");
}

TEST_CASE("shapes have axes, splices and family applications") {
  CHECK(parsed("[*B, 2 * N, *broadcast(A, B)]", Grammar::kShape) ==
        "[*B, 2 * N, *broadcast(A, B)]");
  CHECK(parsed("[]", Grammar::kShape) == "[]");
  CHECK(parsed("[*S[i]]", Grammar::kShape) == "[*S[i]]");
  CHECK(parsed("M", Grammar::kShape).starts_with("expr.syntax@0"));
  CHECK(parsed("[M", Grammar::kShape).starts_with("expr.syntax@2: the text ends too early"));
}

TEST_CASE("what is not in the language is refused with its rewrite") {
  CHECK(parsed("a / b") ==
        "expr.rejected@2: '/' is not in the language; integers divide with '//' (floor) or "
        "ceil_div(a, b)");
  CHECK(parsed("a ** 2") == "expr.rejected@2: '**' is not in the language; multiply instead");
  CHECK(parsed("t is None") ==
        "expr.rejected@2: 'is' is not in the language; write 'not present(t)' for 't is None'");
  CHECK(parsed("isinstance(p, int)").find("per_axis(value, i, n)") != std::string::npos);
  CHECK(parsed("len({d % n for d in dim}) == len(dim)").find("unique_axes(dim, n)") !=
        std::string::npos);
  CHECK(parsed("lambda x: x").starts_with("expr.rejected@0: a lambda"));
  CHECK(parsed("[a, b]").starts_with("expr.rejected@0: a list display"));
  CHECK(parsed("f'x'").starts_with("expr.syntax@0: string prefix"));
  CHECK(parsed("(x for x in s)").starts_with("expr.rejected@3: a comprehension outside a call"));
  CHECK(parsed("sum(x for x in s if x)").starts_with("expr.rejected@17: 'if' in a comprehension"));
  CHECK(parsed("max(1, x for x in s)").starts_with("expr.rejected@7"));
  CHECK(parsed("a = b").starts_with("expr.rejected@2"));
}

TEST_CASE("syntax errors name their column and what was expected") {
  signature::Pool pool;
  ExprError error;

  REQUIRE(parse("M + ", Grammar::kExpression, pool, error) == signature::kNoExpr);
  CHECK(error.column == 4);
  CHECK(error.found == "the end");
  REQUIRE(parse("M N", Grammar::kExpression, pool, error) == signature::kNoExpr);
  CHECK(error.column == 2);
  CHECK(error.found == "N");
  CHECK(error.expected == "an operator or the end");
  REQUIRE(parse("a $ b", Grammar::kExpression, pool, error) == signature::kNoExpr);
  CHECK(error.column == 2);
  REQUIRE(parse("99999999999999999999", Grammar::kExpression, pool, error) == signature::kNoExpr);
  CHECK(error.text == "an integer beyond 64 bits");
}

TEST_CASE("nesting is bounded in every direction") {
  const auto deep = [](std::string_view open, std::string_view close, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += open;
    text += "1";
    for (std::size_t i = 0; i < count; ++i) text += close;
    return parsed(text);
  };
  CHECK(deep("(", ")", 20) == "1");
  for (const auto& [open, close] : {std::pair("(", ")"),
                                    std::pair("-", ""),
                                    std::pair("not ", ""),
                                    std::pair("f(", ")"),
                                    std::pair("a[", "]"),
                                    std::pair("1 + (", ")"),
                                    std::pair("1 if c else ", "")}) {
    INFO(std::string(open));
    CHECK(deep(open, close, 100000).starts_with("expr.depth"));
  }
  CHECK(deep("", " + 1", 100000).starts_with("expr.depth"));
  CHECK(deep("", ".a", 100000).starts_with("expr.syntax"));
  CHECK(deep("", "[0]", 100000).starts_with("expr.depth"));
  CHECK(deep("", " < 1", 100).starts_with("expr.depth"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::manifest
