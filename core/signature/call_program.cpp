// Compiles the call spec of an interface, and the shapes in which it takes its arguments.
#include "signature/call_program.hpp"

#include <algorithm>
#include <utility>

#include "signature/branch_code.hpp"

namespace tenon::signature {
namespace {

class FieldMaker final : private BranchCode {
 public:
  FieldMaker(const PlanData& data,
             const Prefix& prefix,
             const Branch& branch,
             std::size_t first_cell)
      : BranchCode(data, prefix, branch, first_cell) {}

  CallProgram make(const InterfaceDecl& decl, std::span<const Expr> exprs) {
    CallProgram made;
    for (std::size_t i = 0; i < exprs.size(); ++i) {
      FieldSlot slot = source(decl.fields[i], exprs[i]);
      slot.field = static_cast<std::uint16_t>(i);
      (slot.from == FieldSlot::From::kConstant ? made.constants : made.slots).push_back(slot);
    }
    if (!program_.code.empty()) emit(Code::kReturn);
    program_.compiled = fits() && !broken_;
    made.program = std::move(program_);
    return made;
  }

 private:
  FieldSlot source(const CallFieldDecl& decl, Expr e) {
    FieldSlot slot;
    if (e == kNoExpr) {
      slot.from = FieldSlot::From::kFlow;
      broken_ = broken_ || !decl.from_flow;
    } else if (settled(e)) {
      slot.from = FieldSlot::From::kConstant;
      slot.expr = e;
    } else if (is_int(e) && (decl.kind == TENON_VALUE_INT || decl.kind == TENON_FIELD_NUMBER)) {
      slot.from = FieldSlot::From::kInt;
      slot.cell = int_cell(e);
    } else if (decl.kind == TENON_VALUE_DTYPE && is_dtype_leaf(e)) {
      slot.from = FieldSlot::From::kDType;
      slot.cell = leaf_cell(e);
    } else {
      slot.cell = cell(e);
    }
    return slot;
  }

  bool broken_ = false;  ///< a field could not be folded
};

class ShapeMaker final : private CodeMaker {
 public:
  ShapeMaker(const PlanData& data, const InterfaceDecl& decl)
      : CodeMaker(data.pool, decl.fields.size() + 1), decl_(decl) {}

  ShapeProgram make(Expr root, Arena& arena) {
    ShapeProgram made;
    if (root == kNoExpr || pool_.at(root).op != Op::kList) return made;
    for (const Expr e : pool_.children(root)) {
      const bool splice = pool_.at(e).op == Op::kSplice;
      made.items.push_back(splice ? sizes(pool_.child(e, 0)) : size(e));
    }
    if (!program_.code.empty()) emit(Code::kReturn);
    made.cells.assign(program_.cell_count, Cell::integer(0));
    program_.compiled = fits() && constants(arena, made.cells);
    made.program = std::move(program_);
    made.loads = std::move(loads_);
    return made;
  }

 private:
  bool constants(Arena& arena, std::vector<Cell>& cells) const {
    Env env;
    env.pool = &pool_;
    env.arena = &arena;
    for (const Hoist& hoist : program_.hoists) {
      Cell& cell = cells[hoist.cell];
      cell = Cell();
      if (hoist.expr != kNoExpr && !evaluate(env, hoist.expr, cell)) return false;
    }
    return true;
  }

  [[nodiscard]] bool is_known(Expr) const override { return false; }
  [[nodiscard]] const CallFieldDecl* field_of(Expr leaf) const {
    const Node& n = pool_.at(leaf);
    const auto number = static_cast<std::size_t>(n.value);
    return n.op == Op::kFormal && number < decl_.fields.size() ? &decl_.fields[number] : nullptr;
  }
  [[nodiscard]] bool is_int_leaf(Expr leaf) const override {
    if (pool_.at(leaf).op != Op::kFormal) return false;
    const CallFieldDecl* field = field_of(leaf);
    return field == nullptr || (field->kind == TENON_VALUE_INT && !field->optional);
  }
  [[nodiscard]] bool is_ints_leaf(Expr) const override { return false; }
  [[nodiscard]] bool is_dtype_leaf(Expr) const override { return false; }
  [[nodiscard]] std::uint16_t leaf_cell(Expr leaf) override {
    const auto number = static_cast<std::uint16_t>(pool_.at(leaf).value);
    const bool loaded = std::any_of(loads_.begin(), loads_.end(), [&](const ShapeProgram::Load& l) {
      return l.field == number;
    });
    if (!loaded) loads_.push_back({number, is_int_leaf(leaf)});
    return number;
  }

  ShapeItem size(Expr e) {
    if (is_literal(e)) return {ShapeItem::From::kConstant, 0, literal_value(e)};
    if (field_of(e) != nullptr)
      return {ShapeItem::From::kField, static_cast<std::uint16_t>(pool_.at(e).value), 0};
    return {ShapeItem::From::kCell, cell(e), 0};
  }
  ShapeItem sizes(Expr e) {
    if (field_of(e) != nullptr)
      return {ShapeItem::From::kFieldSplice, static_cast<std::uint16_t>(pool_.at(e).value), 0};
    return {ShapeItem::From::kCellSplice, cell(e), 0};
  }

  const InterfaceDecl& decl_;
  std::vector<ShapeProgram::Load> loads_;
};

}  // namespace

CallProgram make_call_program(const PlanData& data,
                              const Prefix& prefix,
                              const Branch& branch,
                              const InterfaceDecl& decl,
                              std::span<const Expr> exprs,
                              std::size_t first_cell) {
  return FieldMaker(data, prefix, branch, first_cell).make(decl, exprs);
}

ShapeProgram make_shape_program(const PlanData& data,
                                std::uint32_t interface,
                                std::uint32_t arg,
                                Arena& arena) {
  return ShapeMaker(data, data.decl.interfaces[interface])
      .make(data.interfaces[interface].args[arg].shape.root, arena);
}

}  // namespace tenon::signature
