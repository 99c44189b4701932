// Compiles a branch's steps, refinements and outputs into a program.
#include "signature/program.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "signature/branch_code.hpp"
#include "tenon/core/signature/primitives.hpp"

namespace tenon::signature {
namespace {

class ProgramMaker final : private BranchCode {
 public:
  ProgramMaker(const PlanData& data, const Prefix& prefix, const Branch& branch)
      : BranchCode(data, prefix, branch, data.symbols.size()) {}

  Program make() {
    if (!suits()) return {};
    for (std::size_t i = 0; i < branch_.steps.size(); ++i) step(i);
    for (const RefinementTerm& r : branch_.refinements) require(r.expr);
    combos();
    for (std::uint32_t i = 0; i < branch_.outputs.size(); ++i) output(i);
    emit(Code::kDone);
    program_.compiled = fits();
    return std::move(program_);
  }

 private:
  [[nodiscard]] bool suits() const {
    for (const TensorTerm& t : branch_.inputs) {
      const TensorDecl& decl = tensor_decl(data_, t.symbol);
      if (decl.list) return false;
    }
    return std::none_of(branch_.outputs.begin(), branch_.outputs.end(), [&](const TensorTerm& t) {
      return tensor_decl(data_, t.symbol).list.has_value();
    });
  }

  /// One row after the other; past the last one the call is rejected.
  void combos() {
    if (data_.combos.empty()) return;
    Patches accepted;
    for (const ComboRow& row : data_.combos) {
      Patches other;
      for (const auto& [symbol, dtype] : row.assignment) {
        emit(Code::kJumpIn, symbol, 0, 0, std::int64_t{1} << static_cast<unsigned>(dtype), 1);
        other.push_back(program_.code.size() - 1);
      }
      emit(Code::kJump);
      accepted.push_back(program_.code.size() - 1);
      land(other);
    }
    emit(Code::kJump, 0, 0, kFail);
    land(accepted);
  }

  void require(Expr e) {
    if (pool_.at(e).op == Op::kAnd) {
      for (std::size_t i = 0; i < pool_.at(e).count; ++i) require(pool_.child(e, i));
      return;
    }
    if (mask_of(e)) return;
    Patches failing;
    jump_if(e, false, failing);
    for (const std::size_t p : failing) program_.code[p].c = kFail;
  }

  /// A condition on one dtype index and otherwise on what construction knows is a set of dtypes.
  bool mask_of(Expr e) {
    std::vector<std::uint32_t> names;
    collect_symbols(pool_, e, names, false);
    std::erase_if(names, [&](std::uint32_t s) { return static_cast<bool>(prefix_.known[s]); });
    if (names.size() != 1 || data_.symbols[names.front()].kind != SymbolKind::kDType) return false;
    const std::uint16_t mask = hoist(e, Hoist::Want::kDTypes);
    program_.hoists.back().dtype_symbol = names.front();
    emit(Code::kJumpInCell, names.front(), mask, kFail, 0, 1);
    return true;
  }

  // ---- Steps
  // --------------------------------------------------------------------------------------------

  const TensorTerm& term_of(std::uint32_t symbol) const {
    const Symbol& s = data_.symbols[symbol];
    return s.kind == SymbolKind::kInput ? branch_.inputs[s.ordinal]
                                        : branch_.construction_tensors[s.ordinal];
  }
  void walk(std::size_t index) {
    emit(Code::kStep, 0, 0, 0, static_cast<std::int64_t>(index));
    current_ = kNoExpr;
  }

  void step(std::size_t index) {
    const Step& s = branch_.steps[index];
    if (s.kind == StepKind::kLet) {
      let(s);
      return;
    }
    const TensorTerm& term = term_of(s.tensor);
    std::size_t splices = 0;
    std::size_t splice_at = 0;
    for (std::size_t i = 0; i < term.elements.size(); ++i) {
      if (!term.elements[i].splice) continue;
      if (splices++ == 0) splice_at = i;
    }
    const bool input = data_.symbols[s.tensor].kind == SymbolKind::kInput;
    if (s.kind == StepKind::kTensor && input) {
      tensor(s, term);
    } else if (splices == 2 && input && prefix_form(term, s)) {
      // one instruction does both splices
    } else if (splices > (input ? 1u : 0u) || s.kind == StepKind::kTensor ||
               (s.kind == StepKind::kRank && !input)) {
      walk(index);
    } else {
      shape(s, term, splices, splice_at, index);
    }
  }

  /// A step on the shape, which holds one splice at most.
  void shape(const Step& s,
             const TensorTerm& term,
             std::size_t splices,
             std::size_t splice_at,
             std::size_t index) {
    const std::size_t others = term.elements.size() - splices;
    if (s.kind == StepKind::kRank) {
      // Of a lone splice the comparison of the whole shape sees to it.
      if (splices == 0 || term.elements.size() == 1) return;
      const std::uint16_t cell = splice_cell(s.tensor, term.elements[splice_at].expr);
      enter(s.tensor, term);
      emit(Code::kRank, cell, 0, others);
      return;
    }
    if (s.kind == StepKind::kBindSplice) {
      enter(s.tensor, term);
      emit(Code::kBindSplice, s.target, others, 0, 0, splice_at);
      return;
    }
    if (s.kind == StepKind::kCheckSplice) {
      const std::uint16_t cell = splice_cell(s.tensor, term.elements[splice_at].expr);
      enter(s.tensor, term);
      emit(term.elements.size() == 1 ? Code::kCheckWhole : Code::kCheckSplice,
           cell,
           0,
           0,
           0,
           splice_at);
      return;
    }
    const bool back = splices == 1 && s.element > splice_at;
    axis(s, term, back, back ? term.elements.size() - s.element : s.element, index);
  }

  /// The cell of a tensor's splice, computed at the first step that needs it.
  std::uint16_t splice_cell(std::uint32_t tensor, Expr e) {
    const auto [at, missing] = splices_.try_emplace(std::pair(tensor, e), std::uint16_t{0});
    if (missing) at->second = ints_cell(e);
    return at->second;
  }

  /// Adds an axis to the instruction before, where that ends on the axis before it.
  bool fuse(std::uint16_t cell, bool check, std::size_t place) {
    if (program_.code.empty()) return false;
    Instruction& last = program_.code.back();
    const bool single = last.code == Code::kBindFront || last.code == Code::kCheckFront;
    if (single && last.axis + 1u == place && last.a != cell) {
      const std::uint16_t first = last.a;
      last.c = last.code == Code::kCheckFront ? 1 : 0;
      last.code = Code::kAxes;
      last.b = 1;
      last.imm = first;
    } else if (last.code != Code::kAxes || last.axis + std::size_t{last.b} != place ||
               last.b == 4) {
      return false;
    }
    for (unsigned i = 0; i < last.b;
         ++i) {  // a cell that this instruction binds is not there to compare with
      if (((static_cast<std::uint64_t>(last.imm) >> (16 * i)) & 0xffffu) == cell) return false;
    }
    last.imm |= static_cast<std::int64_t>(static_cast<std::uint64_t>(cell) << (16u * last.b));
    if (check) last.c = static_cast<std::uint16_t>(last.c | (1u << last.b));
    ++last.b;
    return true;
  }

  void axis(
      const Step& s, const TensorTerm& term, bool back, std::size_t place, std::size_t index) {
    const Expr e = term.elements[s.element].expr;
    if (s.kind == StepKind::kBindDim) {
      enter(s.tensor, term);
      if (!back && fuse(static_cast<std::uint16_t>(s.target), false, place)) return;
      emit(back ? Code::kBindBack : Code::kBindFront, s.target, 0, 0, 0, place);
      return;
    }
    if (s.kind == StepKind::kBindAffine) {
      std::int64_t slope = 0;
      std::int64_t rest = 0;
      if (!literal_affine(e, s.target, slope, rest) || slope > 0xffff) {
        walk(index);
        return;
      }
      enter(s.tensor, term);
      emit(back ? Code::kBindScaledBack : Code::kBindScaledFront,
           s.target,
           static_cast<std::size_t>(slope),
           0,
           rest,
           place);
      return;
    }
    if (is_literal(e)) {
      enter(s.tensor, term);
      emit(back ? Code::kCheckBackImm : Code::kCheckFrontImm, 0, 0, 0, pool_.at(e).value, place);
      return;
    }
    const std::uint16_t cell = int_cell(e);
    enter(s.tensor, term);
    if (!back && fuse(cell, true, place)) return;
    emit(back ? Code::kCheckBack : Code::kCheckFront, cell, 0, 0, 0, place);
  }

  /// slope * unknown + rest, with literals only.
  bool literal_affine(Expr e,
                      std::uint32_t unknown,
                      std::int64_t& slope,
                      std::int64_t& rest) const {
    const Node& n = pool_.at(e);
    if (n.op == Op::kSymbol) {
      slope = 1;
      rest = 0;
      return static_cast<std::uint32_t>(n.value) == unknown;
    }
    if (n.op != Op::kAdd && n.op != Op::kSub && n.op != Op::kMul) return false;
    const Expr left = pool_.child(e, 0);
    const Expr right = pool_.child(e, 1);
    const bool left_literal = pool_.at(left).op == Op::kInt;
    if (!left_literal && pool_.at(right).op != Op::kInt) return false;
    if (!literal_affine(left_literal ? right : left, unknown, slope, rest)) return false;
    const std::int64_t k = pool_.at(left_literal ? left : right).value;
    if (k < -(1 << 30) || k > (1 << 30) || rest < -(1 << 30) || rest > (1 << 30) ||
        slope > (1 << 20))
      return false;
    if (n.op == Op::kAdd) rest += k;
    if (n.op == Op::kSub) {
      if (left_literal) return false;
      rest -= k;
    }
    if (n.op == Op::kMul) {
      slope *= k;
      rest *= k;
    }
    return true;
  }

  /// [*B, *known]: one instruction binds the front and compares the back.
  bool prefix_form(const TensorTerm& term, const Step& s) {
    if (term.elements.size() != 2 || !is_ints_symbol(term.elements[0].expr) ||
        !is_ints_symbol(term.elements[1].expr))
      return false;
    if (!prefix_.known[symbol_of(term.elements[1].expr)] && s.kind == StepKind::kRank) return false;
    const bool binds = std::any_of(branch_.steps.begin(), branch_.steps.end(), [&](const Step& x) {
      return x.tensor == s.tensor && x.kind == StepKind::kBindSplice && x.element == 0;
    });
    const bool later = std::any_of(branch_.steps.begin(), branch_.steps.end(), [&](const Step& x) {
      return x.tensor == s.tensor &&
             (x.kind == StepKind::kRank || (x.kind == StepKind::kBindSplice && x.element == 1));
    });
    if (!binds || later) return false;
    enter(s.tensor, term);
    if (s.kind == StepKind::kBindSplice) {
      emit(Code::kBindPrefix, s.target, symbol_of(term.elements[1].expr));
    }
    return true;  // the check of the second splice is done by the first
  }

  void let(const Step& s) {
    const std::uint16_t value = is_int(s.expr) ? int_cell(s.expr) : cell(s.expr);
    emit(Code::kMove, s.target, value);
  }

  /// Makes a tensor current that was begun before.
  void enter(std::uint32_t symbol, const TensorTerm& term) {
    if (current_ == symbol) return;
    const Symbol& s = data_.symbols[symbol];
    if (s.kind == SymbolKind::kInput) {
      emit(Code::kReload, s.ordinal);
    } else {
      emit(Code::kConstruction, s.ordinal, 0, term.elements.size());
    }
    current_ = symbol;
  }

  /// Presence, rank, device and dtype.
  void tensor(const Step& s, const TensorTerm& term) {
    const TensorDecl& decl = tensor_decl(data_, s.tensor);
    const auto least = static_cast<std::size_t>(std::count_if(
        term.elements.begin(), term.elements.end(), [](const Element& e) { return !e.splice; }));
    const std::size_t exact = least == term.elements.size() ? 1 : 0;
    const std::uint32_t input = data_.symbols[s.tensor].ordinal;
    const auto constant = constant_dtype(term.dtype);
    if (s.binds_dtype) {
      const auto allowed = static_cast<std::int64_t>(data_.symbols[s.target].dtypes.bits());
      if (decl.on_cpu) {
        emit(Code::kTensorCpu, input, 0, least, 0, exact);
        emit(Code::kDTypeBind, input, s.target, 0, allowed);
      } else {
        emit(Code::kTensorBind, input, s.target, least, allowed, exact);
      }
    } else if (constant && !decl.on_cpu) {
      emit(Code::kTensorConst, input, 0, least, static_cast<std::int64_t>(*constant), exact);
    } else {
      const std::uint16_t dtype = dtype_cell(term.dtype);
      if (decl.on_cpu) {
        emit(Code::kTensorCpu, input, 0, least, 0, exact);
        emit(Code::kDTypeSame, input, dtype);
      } else {
        emit(Code::kTensorSame, input, dtype, least, 0, exact);
      }
    }
    current_ = s.tensor;
    if (decl.contiguous) emit(Code::kContiguous, input);
  }

  [[nodiscard]] std::optional<DType> constant_dtype(Expr e) const {
    return pool_.at(e).op == Op::kString ? dtype_from_name(pool_.text(e)) : std::nullopt;
  }

  // ---- Outputs
  // ------------------------------------------------------------------------------------------

  void output(std::uint32_t index) {
    const TensorTerm& term = branch_.outputs[index];
    if (!term.passed) return;
    if (const auto constant = constant_dtype(term.dtype)) {
      emit(Code::kOutBeginImm, index, 0, 0, static_cast<std::int64_t>(*constant));
    } else {
      const std::uint16_t dtype = dtype_cell(term.dtype);
      emit(Code::kOutBegin, index, dtype);
    }
    for (const Element& e : term.elements) {
      if (!e.splice) {
        if (pool_.at(e.expr).op == Op::kInt) {
          emit(Code::kOutImm, 0, 0, 0, pool_.at(e.expr).value);
        } else {
          append_dim(int_cell(e.expr));
        }
        continue;
      }
      if (is_ints_symbol(e.expr)) {
        emit(Code::kOutSplice, 0, symbol_of(e.expr));
      } else if (is_broadcast_of_two(e.expr)) {
        emit(Code::kOutBroadcast,
             0,
             symbol_of(pool_.child(e.expr, 0)),
             symbol_of(pool_.child(e.expr, 1)));
      } else {
        const std::uint16_t sizes = ints_cell(e.expr);
        emit(Code::kOutSplice, 0, sizes);
      }
    }
    emit(Code::kOutEnd, index);
  }
  void append_dim(std::uint16_t cell) {
    Instruction& last = program_.code.back();
    if (last.code == Code::kOutDim) {
      last.code = Code::kOutDims;
      last.imm = last.b;
      last.b = 1;
    } else if (last.code != Code::kOutDims || last.b == 4) {
      emit(Code::kOutDim, 0, cell);
      return;
    }
    last.imm |= static_cast<std::int64_t>(static_cast<std::uint64_t>(cell) << (16u * last.b));
    ++last.b;
  }
  [[nodiscard]] bool is_broadcast_of_two(Expr e) const {
    const Node& n = pool_.at(e);
    return n.op == Op::kPrimitive &&
           primitives()[static_cast<std::size_t>(n.value)].name == "broadcast" && n.count == 2 &&
           is_symbol(pool_.child(e, 0), SymbolKind::kShape) &&
           is_symbol(pool_.child(e, 1), SymbolKind::kShape);
  }

  [[nodiscard]] bool is_ints_symbol(Expr e) const {
    return pool_.at(e).op == Op::kSymbol && is_ints_leaf(e);
  }

  std::uint32_t current_ = kNoExpr;  ///< symbol of the tensor that the axes are of
  std::map<std::pair<std::uint32_t, Expr>, std::uint16_t> splices_;
};

}  // namespace

Program make_program(const PlanData& data, const Prefix& prefix, const Branch& branch) {
  return ProgramMaker(data, prefix, branch).make();
}

}  // namespace tenon::signature
