// Expressions of the manifest language as plain data: nodes in a pool, children by index.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::signature {

/// Index of a node in its pool.
using Expr = std::uint32_t;
inline constexpr Expr kNoExpr = 0xffffffffu;

/// What a node of an expression does.
enum class Op : std::uint8_t {
  // Literals
  kAbsent,  ///< an argument or slice bound that is not given
  kNone,
  kBool,    ///< value: 0 or 1
  kInt,     ///< value
  kFloat,   ///< number
  kString,  ///< value: string index; also a dtype constant
  kTuple,   ///< children
  // Names. The parser makes kName, kAttr and kCall; resolution replaces them by what they mean.
  kName,       ///< value: string index
  kAttr,       ///< child 0; value: string index of the attribute
  kCall,       ///< value: string index of the callee; children: arguments, keywords as kKeyword
  kKeyword,    ///< child 0; value: string index of the keyword
  kSymbol,     ///< value: symbol number
  kBound,      ///< value: comprehension depth, from 0
  kFormal,     ///< value: number of the family's formal
  kPayload,    ///< child 0, a Maybe: v.value
  kKind,       ///< child 0, an ADT: x.kind
  kField,      ///< child 0, an ADT; value: string index of the field
  kPresent,    ///< child 0: a kSymbol or kFormal
  kBytes,      ///< child 0: a tensor's kSymbol
  kPrimitive,  ///< value: number in the primitive table; children: one per formal, kAbsent where
               ///< not given
  // Operators
  kAdd,
  kSub,
  kMul,
  kFloorDiv,
  kMod,
  kNeg,
  kCompare,  ///< children: operands; value: CompareOp of each adjacent pair, 4 bits each from the
             ///< lowest
  kAnd,      ///< children
  kOr,       ///< children
  kNot,
  kCond,       ///< test, then, else
  kSubscript,  ///< sequence, index
  kSlice,      ///< sequence, start, stop, step
  kEach,       ///< body, source; value: depth of the bound variable
  // Shapes
  kList,    ///< children: axes
  kSplice,  ///< child 0: a sequence
  kFamily,  ///< value: string index before resolution, family number after; children: actual
            ///< arguments
};

/// Comparison operators of a chain.
enum class CompareOp : std::uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kIn, kNotIn };
/// Chains are at most this long, so that their operators fit a node.
inline constexpr std::size_t kMaxChain = 16;

/// One node of an expression; nodes lie in a pool and name each other by index.
struct Node {
  Op op = Op::kAbsent;
  std::uint32_t column = 0;  ///< offset of the token in the text, from 0
  std::uint32_t first = 0;   ///< children are kids[first, first + count)
  std::uint32_t count = 0;
  std::int64_t value = 0;
  double number = 0;
};

/// Owns nodes, child lists and strings. Only ever appended to.
struct Pool {
  std::vector<Node> nodes;
  std::vector<Expr> kids;
  std::vector<std::string> strings;

  [[nodiscard]] const Node& at(Expr e) const { return nodes[e]; }
  [[nodiscard]] std::span<const Expr> children(Expr e) const {
    return {kids.data() + nodes[e].first, nodes[e].count};
  }
  [[nodiscard]] Expr child(Expr e, std::size_t i) const { return kids[nodes[e].first + i]; }
  [[nodiscard]] const std::string& text(Expr e) const {
    return strings[static_cast<std::size_t>(nodes[e].value)];
  }
  [[nodiscard]] CompareOp compare_op(Expr e, std::size_t i) const {
    return static_cast<CompareOp>((static_cast<std::uint64_t>(nodes[e].value) >> (4 * i)) & 15u);
  }

  /// The string's index, the same for equal strings.
  std::uint32_t intern(std::string_view text);
  Expr add(Node node, std::span<const Expr> children = {});
  Expr add(Op op,
           std::uint32_t column,
           std::span<const Expr> children = {},
           std::int64_t value = 0);
};

/// The expression in the language's syntax, for messages. `symbol_names` names the kSymbol nodes.
[[nodiscard]] std::string print(const Pool& pool,
                                Expr e,
                                std::span<const std::string> symbol_names = {});

/// True for literals and tuples of literals.
[[nodiscard]] bool is_constant(const Pool& pool, Expr e);
/// True if the expression reads no symbol, no formal and no bound variable of an enclosing
/// comprehension.
[[nodiscard]] bool is_closed(const Pool& pool, Expr e);
/// Structural equality.
[[nodiscard]] bool same(const Pool& a, Expr x, const Pool& b, Expr y);
/// Copies a subtree into another pool.
Expr copy(const Pool& from, Expr e, Pool& to);
/// Appends every symbol number that the subtree reads, in order of first occurrence. `present(x)`
/// and `bytes(x)` count only with `with_presence`.
void collect_symbols(const Pool& pool,
                     Expr e,
                     std::vector<std::uint32_t>& symbols,
                     bool with_presence);

}  // namespace tenon::signature
