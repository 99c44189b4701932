// What is known of a branch's names before any call.
#include "signature/branch_code.hpp"

#include <algorithm>

namespace tenon::signature {

bool BranchCode::is_known(Expr leaf) const {
  const Node& n = pool_.at(leaf);
  if (n.op == Op::kSymbol) return prefix_.known[symbol_of(leaf)];
  if (n.op != Op::kPresent) return false;
  const Node& operand = pool_.at(pool_.child(leaf, 0));
  return operand.op == Op::kSymbol &&
         branch_.facts.presence[static_cast<std::size_t>(operand.value)] >= 0;
}

const ParamType* BranchCode::given_param(std::uint32_t symbol) const {
  const Symbol& s = data_.symbols[symbol];
  if (s.kind != SymbolKind::kParam) return nullptr;
  const ParamType& type = data_.param_types[s.ordinal];
  return type.maybe && branch_.facts.presence[symbol] != 1 ? nullptr : &type;
}

bool BranchCode::is_int_leaf(Expr leaf) const {
  if (pool_.at(leaf).op != Op::kSymbol) return false;
  const Symbol& symbol = data_.symbols[symbol_of(leaf)];
  if (symbol.kind == SymbolKind::kDim) return true;
  if (symbol.kind == SymbolKind::kLet) {
    const Expr let = branch_.lets[symbol.ordinal];
    return let != kNoExpr && is_int(let);
  }
  const ParamType* type = given_param(symbol_of(leaf));
  return type != nullptr && type->members.size() == 1 && type->members.front().tag == TypeTag::kInt;
}

bool BranchCode::is_ints_leaf(Expr leaf) const {
  if (is_symbol(leaf, SymbolKind::kShape)) return true;
  if (pool_.at(leaf).op != Op::kSymbol) return false;
  const ParamType* type = given_param(symbol_of(leaf));
  if (type == nullptr) return false;
  return std::all_of(type->members.begin(), type->members.end(), [](const TypeMember& m) {
    return m.tag == TypeTag::kSeq &&
           std::find(m.optional_items.begin(), m.optional_items.end(), true) ==
               m.optional_items.end();
  });
}

}  // namespace tenon::signature
