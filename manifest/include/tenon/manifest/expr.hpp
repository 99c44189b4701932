// Expressions as text: the lexer and the parser of the closed expression language.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/signature/expr.hpp"

namespace tenon::manifest {

/// What is wrong with an expression's text, and where.
struct ExprError {
  std::uint32_t column = 0;  ///< offset in the text, from 0
  std::string rule;          ///< "expr.syntax", "expr.rejected"
  std::string text;          ///< "unexpected ')'"
  std::string found;
  std::string expected;
  std::string hint;  ///< the rewrite, where one is known
};

/// Kind of a token.
enum class TokenKind : std::uint8_t { kEnd, kInt, kFloat, kString, kName, kKeyword, kSymbol };

/// One token of an expression's text.
struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::uint32_t column = 0;
  std::string_view text;     ///< as written
  std::string string_value;  ///< of a string, quotes and escapes resolved
  std::int64_t int_value = 0;
  double float_value = 0;
};

/// Splits a text into tokens; the last is kEnd. False with `error` set where a character belongs to
/// no token.
bool lex(std::string_view text, std::vector<Token>& tokens, ExprError& error);

/// Nesting beyond this is refused, so that no text can exhaust the stack.
inline constexpr std::uint32_t kMaxExprDepth = 64;

/// What a text has to be.
enum class Grammar : std::uint8_t {
  kExpression,
  kShape,  ///< "[" axes "]" or a family application
  kCall,   ///< exactly one call: a generator, a predicate, a value primitive
};

/// Parses a text into `pool`. Names stay names (kName, kAttr, kCall): resolution is the compiler's.
/// Returns kNoExpr with `error` set where the text is not in the language.
[[nodiscard]] signature::Expr parse(std::string_view text,
                                    Grammar grammar,
                                    signature::Pool& pool,
                                    ExprError& error);

}  // namespace tenon::manifest
