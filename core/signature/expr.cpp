// The expression pool: building, copying, comparing and printing nodes.
#include "tenon/core/signature/expr.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tenon/core/signature/primitives.hpp"

namespace tenon::signature {

std::uint32_t Pool::intern(std::string_view text) {
  const auto found = std::find(strings.begin(), strings.end(), text);
  if (found != strings.end()) return static_cast<std::uint32_t>(found - strings.begin());
  strings.emplace_back(text);
  return static_cast<std::uint32_t>(strings.size() - 1);
}

Expr Pool::add(Node node, std::span<const Expr> children) {
  node.first = static_cast<std::uint32_t>(kids.size());
  node.count = static_cast<std::uint32_t>(children.size());
  // The span may lie in `kids` itself, which grows.
  const std::vector<Expr> kept(children.begin(), children.end());
  kids.insert(kids.end(), kept.begin(), kept.end());
  nodes.push_back(node);
  return static_cast<Expr>(nodes.size() - 1);
}

Expr Pool::add(Op op, std::uint32_t column, std::span<const Expr> children, std::int64_t value) {
  Node node;
  node.op = op;
  node.column = column;
  node.value = value;
  return add(node, children);
}

namespace {

constexpr int kTight = 100;

int precedence(Op op) {
  switch (op) {
    case Op::kCond:
      return 1;
    case Op::kOr:
      return 2;
    case Op::kAnd:
      return 3;
    case Op::kNot:
      return 4;
    case Op::kCompare:
      return 5;
    case Op::kAdd:
    case Op::kSub:
      return 6;
    case Op::kMul:
    case Op::kFloorDiv:
    case Op::kMod:
      return 7;
    case Op::kNeg:
      return 8;
    default:
      return kTight;
  }
}

std::string_view symbol_of(CompareOp op) {
  static constexpr std::string_view kNames[] = {"==", "!=", "<", "<=", ">", ">=", "in", "not in"};
  return kNames[static_cast<std::size_t>(op)];
}

class Printer {
 public:
  Printer(const Pool& pool, std::span<const std::string> names) : pool_(pool), names_(names) {}

  std::string at(Expr e, int outer) const {
    const int inner = precedence(pool_.at(e).op);
    std::string text = plain(e);
    return inner < outer ? "(" + text + ")" : text;
  }

 private:
  std::string join(Expr e, std::string_view separator, int outer) const {
    std::string text;
    for (const Expr kid : pool_.children(e)) {
      if (pool_.at(kid).op == Op::kAbsent) continue;
      if (!text.empty()) text += separator;
      text += at(kid, outer);
    }
    return text;
  }
  std::string binary(Expr e, std::string_view symbol) const {
    const int level = precedence(pool_.at(e).op);
    return fmt::format(
        "{} {} {}", at(pool_.child(e, 0), level), symbol, at(pool_.child(e, 1), level + 1));
  }
  std::string compare(Expr e) const {
    std::string text = at(pool_.child(e, 0), 6);
    for (std::size_t i = 1; i < pool_.at(e).count; ++i) {
      text +=
          fmt::format(" {} {}", symbol_of(pool_.compare_op(e, i - 1)), at(pool_.child(e, i), 6));
    }
    return text;
  }
  std::string slice(Expr e) const {
    const auto part = [&](std::size_t i) {
      return pool_.at(pool_.child(e, i)).op == Op::kAbsent ? std::string()
                                                           : at(pool_.child(e, i), 0);
    };
    const std::string step = part(3);
    return fmt::format("{}[{}:{}{}]",
                       at(pool_.child(e, 0), kTight),
                       part(1),
                       part(2),
                       step.empty() ? "" : ":" + step);
  }
  std::string name(const Node& n) const {
    const auto index = static_cast<std::size_t>(n.value);
    return index < names_.size() ? names_[index] : fmt::format("${}", n.value);
  }
  static std::string bound(std::int64_t depth) {
    return std::string(1, static_cast<char>('i' + depth));
  }
  std::string call(Expr e) const;
  std::string plain(Expr e) const;

  const Pool& pool_;
  std::span<const std::string> names_;
};

std::string Printer::plain(Expr e) const {
  const Node& n = pool_.at(e);
  switch (n.op) {
    case Op::kAbsent:
      return "";
    case Op::kNone:
      return "None";
    case Op::kBool:
      return n.value != 0 ? "True" : "False";
    case Op::kInt:
      return fmt::format("{}", n.value);
    case Op::kFloat: {
      const std::string text = fmt::format("{}", n.number);
      // 3.0 would read back as the integer 3.
      return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
    }
    case Op::kString:
      return fmt::format("'{}'", pool_.text(e));
    case Op::kTuple:
      return fmt::format("({}{})", join(e, ", ", 1), n.count == 1 ? "," : "");
    case Op::kName:
      return pool_.text(e);
    case Op::kAttr:
    case Op::kField:
      return fmt::format("{}.{}", at(pool_.child(e, 0), kTight), pool_.text(e));
    case Op::kPayload:
      return at(pool_.child(e, 0), kTight) + ".value";
    case Op::kKind:
      return at(pool_.child(e, 0), kTight) + ".kind";
    case Op::kKeyword:
      return fmt::format("{}={}", pool_.text(e), at(pool_.child(e, 0), 1));
    case Op::kSymbol:
      return name(n);
    case Op::kBound:
      return bound(n.value);
    case Op::kFormal:
      return fmt::format("%{}", n.value);
    case Op::kAdd:
      return binary(e, "+");
    case Op::kSub:
      return binary(e, "-");
    case Op::kMul:
      return binary(e, "*");
    case Op::kFloorDiv:
      return binary(e, "//");
    case Op::kMod:
      return binary(e, "%");
    case Op::kNeg:
      return fmt::format("-{}", at(pool_.child(e, 0), 8));
    case Op::kCompare:
      return compare(e);
    case Op::kAnd:
      return join(e, " and ", 4);
    case Op::kOr:
      return join(e, " or ", 3);
    case Op::kNot:
      return "not " + at(pool_.child(e, 0), 4);
    case Op::kCond:
      return fmt::format("{} if {} else {}",
                         at(pool_.child(e, 1), 2),
                         at(pool_.child(e, 0), 2),
                         at(pool_.child(e, 2), 1));
    case Op::kSubscript:
      return fmt::format("{}[{}]", at(pool_.child(e, 0), kTight), at(pool_.child(e, 1), 0));
    case Op::kSlice:
      return slice(e);
    case Op::kEach:
      return fmt::format(
          "{} for {} in {}", at(pool_.child(e, 0), 1), bound(n.value), at(pool_.child(e, 1), 2));
    case Op::kList:
      return fmt::format("[{}]", join(e, ", ", 1));
    case Op::kSplice:
      return fmt::format("*{}", at(pool_.child(e, 0), 6));
    default:
      return call(e);
  }
}

std::string Printer::call(Expr e) const {
  const Node& n = pool_.at(e);
  switch (n.op) {
    case Op::kPresent:
      return fmt::format("present({})", join(e, ", ", 1));
    case Op::kBytes:
      return fmt::format("bytes({})", join(e, ", ", 1));
    case Op::kPrimitive:
      return fmt::format(
          "{}({})", primitives()[static_cast<std::size_t>(n.value)].name, join(e, ", ", 1));
    case Op::kFamily:
      return fmt::format("family {}[{}]", n.value, join(e, ", ", 1));
    default:
      return fmt::format("{}({})", pool_.text(e), join(e, ", ", 1));
  }
}

/// `depth`: the outermost comprehension inside the subtree that is asked about.
bool closed_below(const Pool& pool, Expr e, std::int64_t depth) {
  const Node& n = pool.at(e);
  if (n.op == Op::kSymbol || n.op == Op::kFormal || n.op == Op::kName) return false;
  if (n.op == Op::kBound) return n.value >= depth;
  if (n.op == Op::kEach) depth = std::min(depth, n.value);
  return std::all_of(pool.children(e).begin(), pool.children(e).end(), [&](Expr kid) {
    return closed_below(pool, kid, depth);
  });
}

bool holds_string(Op op) {
  switch (op) {
    case Op::kString:
    case Op::kName:
    case Op::kAttr:
    case Op::kCall:
    case Op::kKeyword:
    case Op::kField:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string print(const Pool& pool, Expr e, std::span<const std::string> symbol_names) {
  return Printer(pool, symbol_names).at(e, 0);
}

bool is_constant(const Pool& pool, Expr e) {
  switch (pool.at(e).op) {
    case Op::kNone:
    case Op::kBool:
    case Op::kInt:
    case Op::kFloat:
    case Op::kString:
      return true;
    case Op::kTuple:
      return std::all_of(pool.children(e).begin(), pool.children(e).end(), [&](Expr kid) {
        return is_constant(pool, kid);
      });
    default:
      return false;
  }
}

bool is_closed(const Pool& pool, Expr e) {
  return closed_below(pool, e, static_cast<std::int64_t>(1) << 32);
}

bool same(const Pool& a, Expr x, const Pool& b, Expr y) {
  const Node& m = a.at(x);
  const Node& n = b.at(y);
  if (m.op != n.op || m.count != n.count) return false;
  if (holds_string(m.op) ? a.text(x) != b.text(y) : m.value != n.value) return false;
  if (m.op == Op::kFloat && m.number != n.number) return false;
  for (std::size_t i = 0; i < m.count; ++i) {
    if (!same(a, a.child(x, i), b, b.child(y, i))) return false;
  }
  return true;
}

Expr copy(const Pool& from, Expr e, Pool& to) {
  Node node = from.at(e);
  if (holds_string(node.op)) node.value = to.intern(from.text(e));
  std::vector<Expr> kids;
  kids.reserve(node.count);
  for (std::size_t i = 0; i < node.count; ++i) kids.push_back(copy(from, from.child(e, i), to));
  return to.add(node, kids);
}

void collect_symbols(const Pool& pool,
                     Expr e,
                     std::vector<std::uint32_t>& symbols,
                     bool with_presence) {
  const Node& n = pool.at(e);
  if ((n.op == Op::kPresent || n.op == Op::kBytes) && !with_presence) return;
  if (n.op == Op::kSymbol) {
    const auto symbol = static_cast<std::uint32_t>(n.value);
    if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end())
      symbols.push_back(symbol);
  }
  for (std::size_t i = 0; i < n.count; ++i)
    collect_symbols(pool, pool.child(e, i), symbols, with_presence);
}

}  // namespace tenon::signature
