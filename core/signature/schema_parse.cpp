// Reads operator schemas: one pass, no recursion, one step per character.
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "signature/schema_internal.hpp"
#include "tenon/core/nearest.hpp"
#include "tenon/core/schema.hpp"

namespace tenon {
namespace {

constexpr std::array<std::string_view, 18> kBases{"Tensor",
                                                  "int",
                                                  "SymInt",
                                                  "float",
                                                  "bool",
                                                  "str",
                                                  "Scalar",
                                                  "ScalarType",
                                                  "Layout",
                                                  "Device",
                                                  "DeviceIndex",
                                                  "Generator",
                                                  "Storage",
                                                  "Stream",
                                                  "QScheme",
                                                  "SymBool",
                                                  "DimVector",
                                                  "GraphModule"};
constexpr std::string_view kMemoryFormat = "MemoryFormat";
constexpr std::string_view kClassPrefix = "__torch__.torch.classes.";

// Spellings from C++ and from the JIT's notation, with the word that is meant.
struct ForeignType {
  std::string_view name;
  std::string_view advice;
};
constexpr std::array<ForeignType, 8> kForeign{{
    {"double", "use 'float'"},
    {"int64_t", "use 'SymInt' or 'int'"},
    {"complex", "use 'Scalar'"},
    {"string", "use 'str'"},
    {"Number", "use 'Scalar'"},
    {"number", "use 'Scalar'"},
    {"Dict", "there are no dictionaries in this notation"},
    {"Any", "there is no such type in this notation"},
}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }
bool starts_ident(char c) { return is_letter(c) || (c >= 'A' && c <= 'Z') || c == '_'; }
bool goes_on_ident(char c) { return starts_ident(c) || is_digit(c); }

class SchemaParser {
 public:
  explicit SchemaParser(std::string_view text) : text_(text) {}

  /// The schema, or nothing and `issue()`.
  std::optional<Schema> run() {
    Schema schema;
    if (!read_name(schema) || !expect("(", "'(' and the arguments") || !read_args(schema.args) ||
        !expect(")", "', ' and another argument, or ')'") ||
        !expect(" -> ", "' -> ' and the returns") || !read_returns(schema.returns)) {
      return std::nullopt;
    }
    if (pos_ != text_.size()) {
      fail("SYNTAX", "the end of the schema");
      return std::nullopt;
    }
    return schema;
  }

  [[nodiscard]] SchemaIssue issue() const { return issue_; }

 private:
  [[nodiscard]] char peek() const { return pos_ < text_.size() ? text_[pos_] : '\0'; }
  [[nodiscard]] std::string_view rest() const { return text_.substr(pos_); }
  [[nodiscard]] std::uint32_t column() const { return static_cast<std::uint32_t>(pos_ + 1); }

  bool accept(std::string_view token) {
    if (!rest().starts_with(token)) return false;
    pos_ += token.size();
    return true;
  }

  bool expect(std::string_view token, std::string_view expected) {
    return accept(token) || fail("SYNTAX", expected);
  }

  bool fail(std::string_view rule, std::string_view expected) {
    return fail_text(rule,
                     "expected " + std::string(expected) + ", found " + detail::shown(rest()));
  }

  bool fail_text(std::string_view rule, std::string message) {
    issue_ = SchemaIssue{column(), rule, std::move(message)};
    return false;
  }

  bool read_ident(std::string& ident, std::string_view what) {
    if (!starts_ident(peek())) return fail("SYNTAX", what);
    const std::size_t start = pos_;
    while (pos_ < text_.size() && goes_on_ident(text_[pos_])) ++pos_;
    ident = text_.substr(start, pos_ - start);
    return true;
  }

  bool read_name(Schema& schema) {
    if (!read_ident(schema.name, "the operator's name")) return false;
    if (accept("::")) {
      schema.ns = std::move(schema.name);
      if (!read_ident(schema.name, "the operator's name after '::'")) return false;
      if (rest().starts_with("::")) return fail("SYNTAX", "one namespace at most");
    }
    return !accept(".") || read_ident(schema.overload, "the overload's name after '.'");
  }

  bool read_args(std::vector<SchemaArg>& args) {
    bool after_star = false;
    if (peek() == ')') return true;
    do {
      if (peek() == '*') {
        if (after_star) return fail("SYNTAX", "one '*' at most");
        ++pos_;
        after_star = true;
        if (!expect(", ", "', ' and an argument after '*'")) return false;
        if (peek() == '*') return fail("SYNTAX", "one '*' at most");
      }
      SchemaArg arg;
      arg.is_kwarg_only = after_star;
      if (!read_arg(arg)) return false;
      args.push_back(std::move(arg));
    } while (accept(", "));
    return true;
  }

  bool read_arg(SchemaArg& arg) {
    arg.column = column();
    if (!read_type(arg.type, arg.alias) || !expect(" ", "one space and the argument's name") ||
        !read_ident(arg.name, "the argument's name")) {
      return false;
    }
    if (!accept("=")) return true;
    const std::size_t start = pos_;
    if (!read_default()) return false;
    arg.default_text = text_.substr(start, pos_ - start);
    return true;
  }

  bool read_returns(std::vector<SchemaReturn>& returns) {
    if (accept("()")) return true;
    const bool several = accept("(");
    do {
      SchemaReturn ret;
      ret.column = column();
      if (!read_type(ret.type, ret.alias)) return false;
      if (accept(" ") && !read_ident(ret.name, "the return's name")) return false;
      returns.push_back(std::move(ret));
    } while (several && accept(", "));
    if (!several) return true;
    if (returns.size() == 1 && peek() == ')') {
      return fail("SYNTAX", "', ' and another return (a single one has no parentheses)");
    }
    return expect(")", "', ' and another return, or ')'");
  }

  bool read_type(SchemaType& type, std::optional<SchemaAlias>& alias) {
    const std::size_t start = pos_;
    while (pos_ < text_.size() && (goes_on_ident(text_[pos_]) || text_[pos_] == '.')) ++pos_;
    type.base = text_.substr(start, pos_ - start);
    if (!is_base(type.base)) {
      pos_ = start;
      return fail_type(type.base);
    }
    if (peek() == '(') {
      if (type.base != "Tensor") return fail("ALIAS_SYNTAX", "no alias set: only a Tensor has one");
      ++pos_;
      alias.emplace();
      return read_alias(*alias) && read_suffix_behind_alias(type);
    }
    if (peek() == '!')
      return fail("ALIAS_SYNTAX", "an alias set with a letter, as in 'Tensor(a!)'");
    while (peek() == '?' || peek() == '[') {
      if (!read_suffix(type)) return false;
    }
    if (peek() == '(')
      return fail("ALIAS_SYNTAX", "the alias set right behind 'Tensor', as in 'Tensor(a!)?'");
    return true;
  }

  static bool is_base(std::string_view word) {
    if (word == kMemoryFormat || std::find(kBases.begin(), kBases.end(), word) != kBases.end())
      return true;
    if (!word.starts_with(kClassPrefix)) return false;
    bool at_start = true;
    for (const char c : word.substr(kClassPrefix.size())) {
      if (at_start ? !starts_ident(c) : (c != '.' && !goes_on_ident(c))) return false;
      at_start = c == '.';
    }
    return !at_start;
  }

  bool fail_type(std::string_view word) {
    if (word.empty()) return fail("SYNTAX", "a type");
    std::string message = "expected a type, found " + detail::shown(word);
    const auto foreign =
        std::find_if(kForeign.begin(), kForeign.end(), [&](auto& f) { return f.name == word; });
    if (foreign != kForeign.end()) {
      message += "; ";
      message += foreign->advice;
    } else if (const std::string hint = did_you_mean(word, kBases, 2); !hint.empty()) {
      message += "; " + hint;
    }
    return fail_text("UNKNOWN_TYPE", std::move(message));
  }

  bool read_letters(std::string& letters) {
    do {
      if (!is_letter(peek())) return fail("ALIAS_SYNTAX", "a letter from a to z");
      letters += text_[pos_++];
    } while (accept("|"));
    return true;
  }

  bool read_alias(SchemaAlias& alias) {
    if (!read_letters(alias.before)) return false;
    if (peek() == '!') {
      if (alias.before.size() > 1)
        return fail("ALIAS_SYNTAX", "')' or ' -> ': only a set of one letter is written");
      ++pos_;
      alias.is_write = true;
    }
    if (accept(" -> ")) {
      if (accept("*")) {
        alias.after = "*";
      } else {
        if (!read_letters(alias.after)) return false;
        if (alias.before.size() > 1 && alias.after.size() > 1) {
          return fail_text("ALIAS_SYNTAX",
                           "expected one letter on a side of ' -> ', found several on both");
        }
      }
    }
    return accept(")") ||
           fail("ALIAS_SYNTAX", alias.after.empty() ? "'|', '!', ' -> ' or ')'" : "')'");
  }

  bool read_suffix_behind_alias(SchemaType& type) {
    if (accept("?")) {
      type.suffixes.push_back({false, 0});
    } else if (accept("[]")) {
      type.suffixes.push_back({true, 0});
    }
    if (peek() == '?' || peek() == '[')
      return fail("ALIAS_SYNTAX", "at most one '?' or '[]' behind an alias set");
    return true;
  }

  bool read_suffix(SchemaType& type) {
    if (accept("?")) {
      type.suffixes.push_back({false, 0});
      return true;
    }
    ++pos_;  // the bracket
    std::uint64_t length = 0;
    if (peek() == '0') return fail("SYNTAX", "']' or a length without leading zeros");
    for (std::size_t digits = 0; is_digit(peek()); ++digits, ++pos_) {
      if (digits == 18) return fail("SYNTAX", "a length of at most 18 digits");
      length = length * 10 + static_cast<std::uint64_t>(peek() - '0');
    }
    if (!expect("]", "a length or ']'")) return false;
    type.suffixes.push_back({true, length});
    return true;
  }

  bool read_default() {
    if (!accept("[")) return read_item("a default value");
    if (accept("]")) return true;
    do {
      if (!read_item("a value without spaces around it")) return false;
    } while (accept(","));
    return expect("]", "',' and another value, or ']'");
  }

  bool read_item(std::string_view what) {
    const char first = peek();
    if (first == '\'' || first == '"') return read_string(first);
    if (first == '-' || first == '.' || is_digit(first)) return read_number();
    std::string word;
    return read_ident(word, what);
  }

  bool read_string(char quote) {
    bool is_escaped = false;
    for (++pos_; pos_ < text_.size(); ++pos_) {
      const char c = text_[pos_];
      if (static_cast<unsigned char>(c) < 0x20)
        return fail("SYNTAX", "no control character in a string");
      if (c == quote && !is_escaped) {
        ++pos_;
        return true;
      }
      is_escaped = c == '\\' && !is_escaped;
    }
    return fail("SYNTAX", "the closing quote of the string");
  }

  bool read_digits() {
    const std::size_t start = pos_;
    while (is_digit(peek())) ++pos_;
    return pos_ > start;
  }

  bool read_number() {
    accept("-");
    if (accept("inf")) return true;
    const bool whole = read_digits();
    const bool fraction = accept(".") && read_digits();
    if (!whole && !fraction) return fail("SYNTAX", "a number");
    if (peek() == 'e' || peek() == 'E') {
      ++pos_;
      if (peek() == '+' || peek() == '-') ++pos_;
      if (!read_digits()) return fail("SYNTAX", "the digits of the exponent");
    }
    return true;
  }

  std::string_view text_;
  std::size_t pos_ = 0;
  SchemaIssue issue_;
};

}  // namespace

namespace detail {

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 24;
  constexpr std::string_view kHex = "0123456789abcdef";
  if (text.empty()) return "the end";
  std::string quoted = "'";
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      quoted += c;
    } else {
      quoted += "\\x";
      quoted += kHex[byte >> 4];
      quoted += kHex[byte & 15];
    }
  }
  if (text.size() > kLongest) quoted += "...";
  return quoted + '\'';
}

void sort_by_column(std::vector<SchemaIssue>& issues) {
  std::stable_sort(issues.begin(), issues.end(), [](const SchemaIssue& a, const SchemaIssue& b) {
    return a.column < b.column;
  });
}

}  // namespace detail

SchemaVerdict check_schema(std::string_view text, bool with_lint) {
  SchemaVerdict verdict;
  if (text.size() > kMaxSchemaBytes) {
    verdict.errors.push_back({1,
                              "LENGTH",
                              "expected at most " + std::to_string(kMaxSchemaBytes) +
                                  " bytes, found " + std::to_string(text.size())});
    return verdict;
  }
  SchemaParser parser(text);
  verdict.schema = parser.run();
  if (!verdict.schema) {
    verdict.errors.push_back(parser.issue());
    return verdict;
  }
  detail::check_schema_rules(*verdict.schema, verdict.errors);
  if (with_lint && verdict.errors.empty()) verdict.lint = lint_schema(*verdict.schema);
  return verdict;
}

Result<Schema> parse_schema(std::string_view text) {
  SchemaVerdict verdict = check_schema(text);
  if (verdict.errors.empty()) return std::move(*verdict.schema);
  const SchemaIssue& issue = verdict.errors.front();
  return fail(
      Error(ErrorCode::kManifestInvalid,
            "operator schema, column " + std::to_string(issue.column) + ": " + issue.message)
          .with("column", std::to_string(issue.column))
          .with("rule", std::string(issue.rule)));
}

}  // namespace tenon
