// Splits expression texts into tokens.
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "tenon/manifest/expr.hpp"

namespace tenon::manifest {
namespace {

constexpr std::array<std::string_view, 13> kKeywords{
    "and", "or", "not", "in", "if", "else", "for", "is", "None", "True", "False", "lambda", "inf"};
// Longest first.
constexpr std::array<std::string_view, 31> kSymbols{
    "**=", "//=", "...", "//", "**", "==", "!=", "<=", ">=", "->", ":=", "+", "-", "*", "/", "%",
    "<",   ">",   "(",   ")",  "[",  "]",  ",",  ":",  ".",  "=",  "{",  "}", "@", "&", "|"};

class Lexer {
 public:
  Lexer(std::string_view text, std::vector<Token>& tokens, ExprError& error)
      : text_(text), tokens_(tokens), error_(error) {}

  bool run() {
    while (true) {
      const bool next_line = skip_blanks();
      Token token;
      token.column = static_cast<std::uint32_t>(at_);
      if (at_ == text_.size()) {
        tokens_.push_back(token);
        return true;
      }
      if (next_line && open_ == 0 && !tokens_.empty()) {
        return refuse(at_,
                      "a second line outside of brackets",
                      "one line",
                      "write '>-' for '|', which folds lines, or put the expression in brackets");
      }
      if (!next(token)) return false;
      if (token.text == "(" || token.text == "[") ++open_;
      if ((token.text == ")" || token.text == "]") && open_ > 0) --open_;
      tokens_.push_back(std::move(token));
    }
  }

 private:
  /// True where a line ended among the blanks.
  bool skip_blanks() {
    bool ended = false;
    for (; at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0; ++at_)
      ended = ended || text_[at_] == '\n';
    return ended;
  }

  bool refuse(std::size_t column, std::string text, std::string expected, std::string hint = {}) {
    const std::string_view found = text_.substr(column, 12);
    error_ = {static_cast<std::uint32_t>(column),
              "expr.syntax",
              std::move(text),
              std::string(found.substr(0, found.find('\n'))),
              std::move(expected),
              std::move(hint)};
    return false;
  }

  bool next(Token& token) {
    const char c = text_[at_];
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    const bool dot_digit = c == '.' && at_ + 1 < text_.size() &&
                           std::isdigit(static_cast<unsigned char>(text_[at_ + 1])) != 0;
    if (digit || dot_digit) return number(token);
    if (c == '\'' || c == '"') return string(token, at_);
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_') return name(token);
    for (const std::string_view symbol : kSymbols) {
      if (text_.substr(at_).starts_with(symbol)) {
        token.kind = TokenKind::kSymbol;
        token.text = text_.substr(at_, symbol.size());
        at_ += symbol.size();
        return true;
      }
    }
    return refuse(at_,
                  fmt::format("unexpected character '{}'", c),
                  "a name, a number, a string or an operator");
  }

  bool name(Token& token) {
    const std::size_t start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    token.text = text_.substr(start, at_ - start);
    if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) {
      return refuse(start, fmt::format("string prefix '{}'", token.text), "a plain quoted string");
    }
    token.kind = TokenKind::kName;
    for (const std::string_view keyword : kKeywords) {
      if (token.text == keyword) token.kind = TokenKind::kKeyword;
    }
    return true;
  }

  /// Decimal digits with single underscores between them.
  std::string digits() {
    std::string out;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool more =
          at_ + 1 < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_ + 1])) != 0;
      if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
        out += c;
      } else if (c != '_' || out.empty() || !more) {
        break;
      }
      ++at_;
    }
    return out;
  }

  bool number(Token& token) {
    const std::size_t start = at_;
    if (text_[at_] == '0' && at_ + 1 < text_.size() &&
        (text_[at_ + 1] == 'x' || text_[at_ + 1] == 'b' || text_[at_ + 1] == 'o')) {
      return based(token);
    }
    std::string plain = digits();
    bool real = false;
    if (at_ < text_.size() && text_[at_] == '.') {
      real = true;
      ++at_;
      plain += '.';
      plain += digits();
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      real = true;
      ++at_;
      plain += 'e';
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) plain += text_[at_++];
      const std::string exponent = digits();
      if (exponent.empty())
        return refuse(start, "an exponent without digits", "a number such as 1.0e-6");
      plain += exponent;
    }
    if (at_ < text_.size() &&
        (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      return refuse(
          start, "a number that runs into a name", "a blank or an operator after the number");
    }
    token.text = text_.substr(start, at_ - start);
    if (!real && plain.size() > 1 && plain.front() == '0' &&
        plain.find_first_not_of('0') != std::string::npos) {
      return refuse(start, "an integer with a leading zero", "a decimal integer");
    }
    return real ? real_value(token, plain, start) : int_value(token, plain, 10, start);
  }

  bool based(Token& token) {
    const std::size_t start = at_;
    const int base = text_[at_ + 1] == 'x' ? 16 : text_[at_ + 1] == 'b' ? 2 : 8;
    at_ += 2;
    std::string plain;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      if (text_[at_] != '_') plain += text_[at_];
      ++at_;
    }
    token.text = text_.substr(start, at_ - start);
    return int_value(token, plain, base, start);
  }

  bool int_value(Token& token, const std::string& plain, int base, std::size_t start) {
    token.kind = TokenKind::kInt;
    const auto [end, code] =
        std::from_chars(plain.data(), plain.data() + plain.size(), token.int_value, base);
    if (code == std::errc::result_out_of_range) {
      return refuse(start, "an integer beyond 64 bits", "at most 9223372036854775807");
    }
    if (code != std::errc() || end != plain.data() + plain.size())
      return refuse(start, "a malformed number", "digits");
    return true;
  }

  bool real_value(Token& token, const std::string& plain, std::size_t start) {
    token.kind = TokenKind::kFloat;
    const auto [end, code] =
        std::from_chars(plain.data(), plain.data() + plain.size(), token.float_value);
    if (code != std::errc() || end != plain.data() + plain.size() ||
        !std::isfinite(token.float_value)) {
      return refuse(start, "a number that is no finite float", "a finite number, or inf");
    }
    return true;
  }

  bool string(Token& token, std::size_t start) {
    const char quote = text_[at_++];
    while (at_ < text_.size() && text_[at_] != quote) {
      char c = text_[at_++];
      if (c == '\\') {
        if (at_ == text_.size()) break;
        c = text_[at_++];
        if (c != '\\' && c != '\'' && c != '"')
          return refuse(at_ - 2, "an escape in a string", "\\\\, \\' or \\\"");
      }
      token.string_value += c;
    }
    if (at_ >= text_.size())
      return refuse(start, "a string that does not end", fmt::format("a closing {}", quote));
    ++at_;
    token.kind = TokenKind::kString;
    token.text = text_.substr(start, at_ - start);
    return true;
  }

  std::string_view text_;
  std::vector<Token>& tokens_;
  ExprError& error_;
  std::size_t at_ = 0;
  std::size_t open_ = 0;  ///< brackets: inside of them a line may end
};

}  // namespace

bool lex(std::string_view text, std::vector<Token>& tokens, ExprError& error) {
  tokens.clear();
  return Lexer(text, tokens, error).run();
}

}  // namespace tenon::manifest
