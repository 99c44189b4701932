// Expressions of a branch as instructions: its names are symbols, whose cells come first.
#pragma once

#include <cstddef>
#include <cstdint>

#include "signature/code_maker.hpp"

namespace tenon::signature {

/// Leaves of a branch's expressions.
class BranchCode : public CodeMaker {
 protected:
  BranchCode(const PlanData& data,
             const Prefix& prefix,
             const Branch& branch,
             std::size_t first_cell)
      : CodeMaker(branch.pool, first_cell), data_(data), prefix_(prefix), branch_(branch) {}

  [[nodiscard]] bool is_known(Expr leaf) const override;
  [[nodiscard]] bool is_int_leaf(Expr leaf) const override;
  [[nodiscard]] bool is_ints_leaf(Expr leaf) const override;
  [[nodiscard]] bool is_dtype_leaf(Expr leaf) const override {
    return is_symbol(leaf, SymbolKind::kDType);
  }
  [[nodiscard]] std::uint16_t leaf_cell(Expr leaf) override {
    return static_cast<std::uint16_t>(symbol_of(leaf));
  }

  [[nodiscard]] std::uint32_t symbol_of(Expr e) const {
    return static_cast<std::uint32_t>(pool_.at(e).value);
  }
  [[nodiscard]] bool is_symbol(Expr e, SymbolKind kind) const {
    return pool_.at(e).op == Op::kSymbol && data_.symbols[symbol_of(e)].kind == kind;
  }

  const PlanData& data_;
  const Prefix& prefix_;
  const Branch& branch_;

 private:
  /// A parameter that is there on this branch.
  [[nodiscard]] const ParamType* given_param(std::uint32_t symbol) const;
};

}  // namespace tenon::signature
