// Recursive-descent parser of expressions and shapes, with Python's precedence and a depth bound.
#include <optional>

#include <fmt/format.h>

#include "tenon/manifest/expr.hpp"

namespace tenon::manifest {
namespace {

using signature::CompareOp;
using signature::Expr;
using signature::kNoExpr;
using signature::Node;
using signature::Op;
using signature::Pool;

class Parser {
 public:
  Parser(const std::vector<Token>& tokens, Pool& pool, ExprError& error)
      : tokens_(tokens), pool_(pool), error_(error) {}

  Expr expression_only() { return finish(ternary()); }
  Expr call_only() {
    const Expr e = ternary();
    if (e != kNoExpr && pool_.at(e).op != Op::kCall) {
      return refuse(pool_.at(e).column, "expr.syntax", "not a call", "NAME(arguments)");
    }
    return finish(e);
  }
  Expr shape_only() { return finish(shape()); }

 private:
  // ---- Tokens
  // ---------------------------------------------------------------------------------------
  [[nodiscard]] const Token& now() const { return tokens_[at_]; }
  [[nodiscard]] const Token& after() const {
    return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_];
  }
  static bool is(const Token& t, std::string_view text) {
    return (t.kind == TokenKind::kSymbol || t.kind == TokenKind::kKeyword) && t.text == text;
  }
  [[nodiscard]] bool sees(std::string_view text) const { return is(now(), text); }
  bool take(std::string_view text) {
    if (!sees(text)) return false;
    ++at_;
    return true;
  }
  [[nodiscard]] std::string found() const {
    return now().kind == TokenKind::kEnd ? std::string("the end") : std::string(now().text);
  }

  Expr refuse(std::uint32_t column,
              std::string rule,
              std::string text,
              std::string expected,
              std::string hint = {}) {
    if (error_.rule.empty()) {
      error_ = {
          column, std::move(rule), std::move(text), found(), std::move(expected), std::move(hint)};
    }
    return kNoExpr;
  }
  Expr unexpected(std::string expected) {
    return refuse(now().column,
                  "expr.syntax",
                  now().kind == TokenKind::kEnd ? "the text ends too early"
                                                : fmt::format("unexpected '{}'", now().text),
                  std::move(expected));
  }
  bool expect(std::string_view text) {
    if (take(text)) return true;
    unexpected(fmt::format("'{}'", text));
    return false;
  }
  Expr finish(Expr e) {
    if (e == kNoExpr) return e;
    if (now().kind == TokenKind::kEnd) return e;
    if (const Expr rejected = reject_here(); rejected == kNoExpr && !error_.rule.empty())
      return kNoExpr;
    return unexpected("an operator or the end");
  }

  // ---- What Python has and the language has not
  // ----------------------------------------------------
  Expr reject_here() {
    const std::uint32_t c = now().column;
    const auto no = [&](std::string text, std::string hint) {
      return refuse(
          c, "expr.rejected", std::move(text), "an expression of the language", std::move(hint));
    };
    if (sees("/"))
      return no("'/' is not in the language",
                "integers divide with '//' (floor) or ceil_div(a, b)");
    if (sees("**")) return no("'**' is not in the language", "multiply instead");
    if (sees("is"))
      return no("'is' is not in the language", "write 'not present(t)' for 't is None'");
    if (sees("lambda"))
      return no("a lambda is not in the language", "only the primitives can be called");
    if (sees("{")) {
      return no("a set or dict display is not in the language",
                "for distinct axes write unique_axes(dim, n) instead of len({d % n for d in dim}) "
                "== len(dim)");
    }
    if (sees(":=") || sees("="))
      return no("an assignment is not in the language", "name the value in signature.let");
    if (sees("&") || sees("|") || sees("@")) {
      return no(fmt::format("'{}' is not in the language", now().text), "use 'and' and 'or'");
    }
    return kNoExpr;
  }

  // ---- Depth
  // ---------------------------------------------------------------------------------------
  struct Depth {
    explicit Depth(std::uint32_t& count) : level(++count), counter(count) {}
    ~Depth() { --counter; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    std::uint32_t level;
    std::uint32_t& counter;
  };
  bool too_deep(const Depth& depth) {
    if (depth.level <= kMaxExprDepth) return false;
    refuse(now().column,
           "expr.depth",
           "the expression nests too deeply",
           fmt::format("at most {} levels", kMaxExprDepth),
           "name parts of it in signature.let");
    return true;
  }

  // ---- Grammar
  // -------------------------------------------------------------------------------------
  Expr node(Op op, std::uint32_t column, std::vector<Expr> kids, std::int64_t value = 0) {
    for (const Expr kid : kids) {
      if (kid == kNoExpr) return kNoExpr;
    }
    return pool_.add(op, column, kids, value);
  }

  Expr ternary() {
    const Depth depth(depth_);
    if (too_deep(depth)) return kNoExpr;
    const Expr then = disjunction();
    if (then == kNoExpr || !sees("if")) return then;
    const std::uint32_t column = now().column;
    ++at_;
    const Expr test = disjunction();
    if (test == kNoExpr) return kNoExpr;
    if (!expect("else")) return kNoExpr;
    return node(Op::kCond, column, {test, then, ternary()});
  }

  Expr chain_of(Op op, std::string_view keyword, Expr (Parser::*operand)()) {
    const Expr first = (this->*operand)();
    if (first == kNoExpr || !sees(keyword)) return first;
    const std::uint32_t column = now().column;
    std::vector<Expr> kids{first};
    while (take(keyword)) kids.push_back((this->*operand)());
    return node(op, column, std::move(kids));
  }
  Expr disjunction() { return chain_of(Op::kOr, "or", &Parser::conjunction); }
  Expr conjunction() { return chain_of(Op::kAnd, "and", &Parser::inversion); }

  Expr inversion() {
    if (!sees("not")) return comparison();
    const Depth depth(depth_);
    if (too_deep(depth)) return kNoExpr;
    const std::uint32_t column = now().column;
    ++at_;
    return node(Op::kNot, column, {inversion()});
  }

  std::optional<CompareOp> compare_op() {
    static constexpr std::pair<std::string_view, CompareOp> kOps[] = {{"==", CompareOp::kEq},
                                                                      {"!=", CompareOp::kNe},
                                                                      {"<", CompareOp::kLt},
                                                                      {"<=", CompareOp::kLe},
                                                                      {">", CompareOp::kGt},
                                                                      {">=", CompareOp::kGe},
                                                                      {"in", CompareOp::kIn}};
    for (const auto& [text, op] : kOps) {
      if (take(text)) return op;
    }
    if (sees("not") && is(after(), "in")) {
      at_ += 2;
      return CompareOp::kNotIn;
    }
    return std::nullopt;
  }

  Expr comparison() {
    const Expr first = sum();
    if (first == kNoExpr) return first;
    const std::uint32_t column = now().column;
    std::vector<Expr> kids{first};
    std::uint64_t ops = 0;
    while (true) {
      const std::optional<CompareOp> op = compare_op();
      if (!op) break;
      if (kids.size() > signature::kMaxChain) {
        return refuse(
            column, "expr.depth", "a comparison chain is too long", "at most 16 operators");
      }
      ops |= static_cast<std::uint64_t>(*op) << (4 * (kids.size() - 1));
      kids.push_back(sum());
      if (kids.back() == kNoExpr) return kNoExpr;
    }
    if (sees("is") || sees("=")) return reject_here();
    return kids.size() == 1
               ? first
               : node(Op::kCompare, column, std::move(kids), static_cast<std::int64_t>(ops));
  }

  Expr sum() {
    Expr left = product();
    while (left != kNoExpr && (sees("+") || sees("-"))) {
      const std::uint32_t column = now().column;
      const Op op = sees("+") ? Op::kAdd : Op::kSub;
      ++at_;
      left = grow(op, column, left, product());
    }
    return left;
  }
  Expr product() {
    Expr left = unary();
    while (left != kNoExpr) {
      if (sees("/") || sees("**") || sees("@")) return reject_here();
      const Op op = sees("*") ? Op::kMul : sees("//") ? Op::kFloorDiv : Op::kMod;
      if (op == Op::kMod && !sees("%")) break;
      const std::uint32_t column = now().column;
      ++at_;
      left = grow(op, column, left, unary());
    }
    return left;
  }
  /// Left-nested chains are as deep as they are long: they count against the bound too.
  Expr grow(Op op, std::uint32_t column, Expr left, Expr right) {
    if (left == kNoExpr || right == kNoExpr) return kNoExpr;
    std::uint32_t levels = 0;
    for (Expr e = left; pool_.at(e).op >= Op::kAdd && pool_.at(e).op <= Op::kMod;
         e = pool_.child(e, 0))
      ++levels;
    if (levels > kMaxExprDepth) {
      return refuse(column,
                    "expr.depth",
                    "the expression nests too deeply",
                    fmt::format("at most {} levels", kMaxExprDepth));
    }
    return node(op, column, {left, right});
  }
  Expr unary() {
    if (sees("+")) {
      return refuse(
          now().column, "expr.rejected", "unary '+' is not in the language", "the number itself");
    }
    if (!sees("-")) return postfix();
    const Depth depth(depth_);
    if (too_deep(depth)) return kNoExpr;
    const std::uint32_t column = now().column;
    ++at_;
    return node(Op::kNeg, column, {unary()});
  }

  Expr postfix() {
    Expr e = atom();
    std::uint32_t levels = 0;
    while (e != kNoExpr && (sees("[") || sees(".") || sees("("))) {
      if (++levels > kMaxExprDepth) {
        return refuse(now().column,
                      "expr.depth",
                      "the expression nests too deeply",
                      fmt::format("at most {} levels", kMaxExprDepth));
      }
      if (sees("(")) {
        e = call(e);
        continue;
      }
      const std::uint32_t column = now().column;
      if (take(".")) {
        if (now().kind != TokenKind::kName) return unexpected("an attribute");
        const std::uint32_t name = pool_.intern(now().text);
        ++at_;
        e = node(Op::kAttr, column, {e}, name);
      } else {
        ++at_;
        e = subscript(e, column);
      }
    }
    return e;
  }

  Expr subscript(Expr sequence, std::uint32_t column) {
    const Depth depth(depth_);
    if (too_deep(depth)) return kNoExpr;
    const auto bound = [&] {
      return sees(":") || sees("]") ? pool_.add(Op::kAbsent, now().column) : ternary();
    };
    Expr start = bound();
    Expr result = kNoExpr;
    if (start != kNoExpr && take(":")) {
      const Expr stop = bound();
      Expr step = kNoExpr;
      if (stop != kNoExpr) step = take(":") ? bound() : pool_.add(Op::kAbsent, now().column);
      result = node(Op::kSlice, column, {sequence, start, stop, step});
    } else if (start != kNoExpr) {
      if (pool_.at(start).op == Op::kAbsent) return unexpected("an index");
      result = node(Op::kSubscript, column, {sequence, start});
    }
    if (result == kNoExpr || !expect("]")) return kNoExpr;
    return result;
  }

  /// The callee's dotted text; empty where it is not a dotted name.
  std::string callee_of(Expr e) const {
    const Node& n = pool_.at(e);
    if (n.op == Op::kName) return pool_.text(e);
    if (n.op != Op::kAttr) return {};
    const std::string left = callee_of(pool_.child(e, 0));
    return left.empty() ? std::string() : left + "." + pool_.text(e);
  }

  Expr call(Expr callee) {
    const std::uint32_t column = pool_.at(callee).column;
    const std::string name = callee_of(callee);
    if (name.empty()) {
      return refuse(
          now().column, "expr.rejected", "only a primitive can be called", "a name before '('");
    }
    if (name == "isinstance") {
      return refuse(column,
                    "expr.rejected",
                    "'isinstance' is not in the language",
                    "an expression of the language",
                    "per_axis(value, i, n) takes both the number and the list");
    }
    ++at_;  // (
    const Depth depth(depth_);
    if (too_deep(depth)) return kNoExpr;
    std::vector<Expr> arguments;
    bool keywords = false;
    while (!sees(")")) {
      const Expr argument = one_argument(keywords, arguments.empty());
      if (argument == kNoExpr) return kNoExpr;
      arguments.push_back(argument);
      if (!take(",")) break;
    }
    if (sees("*") || sees("**")) return unexpected("an argument");
    if (!expect(")")) return kNoExpr;
    return node(Op::kCall, first_column(callee), std::move(arguments), pool_.intern(name));
  }
  std::uint32_t first_column(Expr e) const {
    return pool_.at(e).op == Op::kAttr ? first_column(pool_.child(e, 0)) : pool_.at(e).column;
  }

  Expr one_argument(bool& keywords, bool first) {
    if (now().kind == TokenKind::kName && is(after(), "=")) {
      const std::uint32_t column = now().column;
      const std::uint32_t name = pool_.intern(now().text);
      at_ += 2;
      keywords = true;
      return node(Op::kKeyword, column, {ternary()}, name);
    }
    if (keywords) return unexpected("a keyword argument: those follow the others");
    const std::size_t start = at_;
    const std::size_t bound_before = bound_.size();
    // `f(x) for x in s`: the name is known only after the body, so look ahead for it.
    if (const std::optional<std::string_view> name = comprehension_name()) {
      if (!first) {
        return refuse(now().column,
                      "expr.rejected",
                      "a comprehension that is not the first argument",
                      "a comprehension only as the first argument of all, sum, max and min");
      }
      bound_.push_back(*name);
      const Expr body = ternary();
      bound_.resize(bound_before);
      if (body == kNoExpr) return kNoExpr;
      return comprehension(body);
    }
    at_ = start;
    return ternary();
  }

  /// The bound name, if a `for` stands at this argument's own nesting level.
  [[nodiscard]] std::optional<std::string_view> comprehension_name() const {
    int level = 0;
    for (std::size_t i = at_; i < tokens_.size(); ++i) {
      const Token& t = tokens_[i];
      if (t.kind == TokenKind::kEnd) return std::nullopt;
      if (is(t, "(") || is(t, "[") || is(t, "{")) ++level;
      if (is(t, ")") || is(t, "]") || is(t, "}")) --level;
      if (level < 0 || (level == 0 && is(t, ","))) return std::nullopt;
      if (level == 0 && is(t, "for")) {
        return tokens_[i + 1].kind == TokenKind::kName ? tokens_[i + 1].text : std::string_view();
      }
    }
    return std::nullopt;
  }

  Expr comprehension(Expr body) {
    const std::uint32_t column = now().column;
    if (!expect("for")) return kNoExpr;
    if (now().kind != TokenKind::kName) return unexpected("one name");
    ++at_;
    if (sees(",")) return unexpected("'in': a comprehension binds one name");
    if (!expect("in")) return kNoExpr;
    if (bound_.size() >= 8) {
      return refuse(column, "expr.depth", "comprehensions nest too deeply", "at most 8 levels");
    }
    const Expr source = disjunction();
    if (source == kNoExpr) return kNoExpr;
    if (sees("if") || sees("for")) {
      return refuse(now().column,
                    "expr.rejected",
                    fmt::format("'{}' in a comprehension", now().text),
                    "f(x) for x in s, one name and no condition",
                    "put the condition into the body");
    }
    return node(Op::kEach, column, {body, source}, static_cast<std::int64_t>(bound_.size()));
  }

  Expr atom() {
    const Token& t = now();
    switch (t.kind) {
      case TokenKind::kInt:
        ++at_;
        return node(Op::kInt, t.column, {}, t.int_value);
      case TokenKind::kFloat:
        ++at_;
        return real(t.column, t.float_value);
      case TokenKind::kString:
        ++at_;
        if (now().kind == TokenKind::kString) return unexpected("an operator between two strings");
        return node(Op::kString, t.column, {}, pool_.intern(t.string_value));
      case TokenKind::kName:
        ++at_;
        return name(t);
      case TokenKind::kKeyword:
        return keyword(t);
      case TokenKind::kSymbol:
        if (t.text == "(") return parenthesis();
        if (t.text == "[") {
          return refuse(t.column,
                        "expr.rejected",
                        "a list display is not in the language",
                        "a tuple: (a, b)");
        }
        if (const Expr rejected = reject_here(); !error_.rule.empty()) return rejected;
        return unexpected("a value");
      case TokenKind::kEnd:
        break;
    }
    return unexpected("a value");
  }
  Expr real(std::uint32_t column, double value) {
    Node n;
    n.op = Op::kFloat;
    n.column = column;
    n.number = value;
    return pool_.add(n);
  }
  Expr name(const Token& t) {
    // A name before `(` is a callee, never a bound variable.
    if (!sees("(") && !sees(".")) {
      for (std::size_t depth = bound_.size(); depth-- > 0;) {
        if (bound_[depth] == t.text)
          return node(Op::kBound, t.column, {}, static_cast<std::int64_t>(depth));
      }
    }
    return node(Op::kName, t.column, {}, pool_.intern(t.text));
  }
  Expr keyword(const Token& t) {
    if (t.text == "None") return ++at_, node(Op::kNone, t.column, {});
    if (t.text == "True" || t.text == "False")
      return ++at_, node(Op::kBool, t.column, {}, t.text == "True" ? 1 : 0);
    if (t.text == "inf") return ++at_, real(t.column, __builtin_inf());
    if (const Expr rejected = reject_here(); !error_.rule.empty()) return rejected;
    return unexpected("a value");
  }
  Expr parenthesis() {
    const Depth depth(depth_);
    if (too_deep(depth)) return kNoExpr;
    const std::uint32_t column = now().column;
    ++at_;
    std::vector<Expr> items;
    bool tuple = sees(")");
    while (!sees(")")) {
      items.push_back(ternary());
      if (items.back() == kNoExpr) return kNoExpr;
      if (sees("for")) {
        return refuse(now().column,
                      "expr.rejected",
                      "a comprehension outside a call",
                      "a comprehension only as the first argument of all, sum, max and min");
      }
      if (!take(",")) break;
      tuple = true;
    }
    if (!expect(")")) return kNoExpr;
    if (!tuple) return items.front();
    return node(Op::kTuple, column, std::move(items));
  }

  // ---- Shapes
  // ---------------------------------------------------------------------------------------
  Expr shape() {
    const std::uint32_t column = now().column;
    if (now().kind == TokenKind::kName && is(after(), "[")) return family();
    if (!take("[")) return unexpected("'[' of a shape, or a type family's name");
    std::vector<Expr> axes;
    while (!sees("]")) {
      const std::uint32_t at = now().column;
      if (take("*")) {
        axes.push_back(node(Op::kSplice, at, {sum()}));
      } else {
        axes.push_back(ternary());
      }
      if (axes.back() == kNoExpr) return kNoExpr;
      if (!take(",")) break;
    }
    if (!expect("]")) return kNoExpr;
    return node(Op::kList, column, std::move(axes));
  }
  Expr family() {
    const std::uint32_t column = now().column;
    const std::uint32_t name = pool_.intern(now().text);
    at_ += 2;
    std::vector<Expr> arguments;
    while (!sees("]")) {
      arguments.push_back(ternary());
      if (arguments.back() == kNoExpr) return kNoExpr;
      if (!take(",")) break;
    }
    if (!expect("]")) return kNoExpr;
    return node(Op::kFamily, column, std::move(arguments), name);
  }

  const std::vector<Token>& tokens_;
  Pool& pool_;
  ExprError& error_;
  std::size_t at_ = 0;
  std::uint32_t depth_ = 0;
  std::vector<std::string_view> bound_;
};

}  // namespace

signature::Expr parse(std::string_view text,
                      Grammar grammar,
                      signature::Pool& pool,
                      ExprError& error) {
  error = {};
  std::vector<Token> tokens;
  if (!lex(text, tokens, error)) return kNoExpr;
  Parser parser(tokens, pool, error);
  Expr result = kNoExpr;
  switch (grammar) {
    case Grammar::kExpression:
      result = parser.expression_only();
      break;
    case Grammar::kShape:
      result = parser.shape_only();
      break;
    case Grammar::kCall:
      result = parser.call_only();
      break;
  }
  if (result == kNoExpr && error.rule.empty())
    error = {0, "expr.syntax", "not an expression", std::string(text), "an expression", ""};
  return result;
}

}  // namespace tenon::manifest
