// Compiles a branch's steps, refinements and outputs into a program.
#include "signature/program.hpp"

#include <algorithm>

#include "tenon/core/signature/primitives.hpp"

namespace tenon::signature {
namespace {

constexpr std::size_t kMaxCells = 60000;

class ProgramMaker {
 public:
  ProgramMaker(const PlanData& data, const Prefix& prefix, Branch& branch)
      : data_(data), prefix_(prefix), branch_(branch), pool_(branch.pool) {
    program_.cell_count = static_cast<std::uint32_t>(data.symbols.size());
  }

  Program make() {
    if (!suits()) return {};
    for (std::size_t i = 0; i < branch_.steps.size(); ++i) step(i);
    for (const RefinementTerm& r : branch_.refinements) require(r.expr);
    combos();
    for (std::uint32_t i = 0; i < branch_.outputs.size(); ++i) output(i);
    emit(Code::kDone);
    program_.compiled = program_.code.size() < kFail && program_.cell_count < kMaxCells;
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

  Instruction& emit(Code code,
                    std::size_t a = 0,
                    std::size_t b = 0,
                    std::size_t c = 0,
                    std::int64_t imm = 0,
                    std::size_t axis = 0) {
    Instruction i;
    i.code = code;
    i.axis = static_cast<std::uint8_t>(axis);
    i.a = static_cast<std::uint16_t>(a);
    i.b = static_cast<std::uint16_t>(b);
    i.c = static_cast<std::uint16_t>(c);
    i.imm = imm;
    program_.code.push_back(i);
    return program_.code.back();
  }
  std::uint16_t new_cell() { return static_cast<std::uint16_t>(program_.cell_count++); }

  // ---- What is known of an expression
  // -----------------------------------------------------------------

  [[nodiscard]] bool settled(Expr e) const {
    std::vector<std::uint32_t> names;
    collect_symbols(pool_, e, names, false);
    return std::all_of(names.begin(), names.end(), [&](std::uint32_t s) {
      return static_cast<bool>(prefix_.known[s]);
    });
  }
  [[nodiscard]] std::uint32_t symbol_of(Expr e) const {
    return static_cast<std::uint32_t>(pool_.at(e).value);
  }
  [[nodiscard]] bool is_symbol(Expr e, SymbolKind kind) const {
    return pool_.at(e).op == Op::kSymbol && data_.symbols[symbol_of(e)].kind == kind;
  }

  [[nodiscard]] bool is_int_symbol(std::uint32_t s) const {
    const Symbol& symbol = data_.symbols[s];
    if (symbol.kind == SymbolKind::kDim) return true;
    if (symbol.kind == SymbolKind::kLet)
      return branch_.lets[symbol.ordinal] != kNoExpr && is_int(branch_.lets[symbol.ordinal]);
    if (symbol.kind != SymbolKind::kParam) return false;
    const ParamType& type = data_.param_types[symbol.ordinal];
    return type.members.size() == 1 && type.members.front().tag == TypeTag::kInt &&
           (!type.maybe || branch_.facts.presence[s] == 1);
  }
  [[nodiscard]] bool is_int(Expr e) const {
    const Node& n = pool_.at(e);
    switch (n.op) {
      case Op::kInt:
        return true;
      case Op::kSymbol:
        return is_int_symbol(symbol_of(e));
      case Op::kPayload:
        return is_int(pool_.child(e, 0));
      case Op::kNeg:
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kFloorDiv:
      case Op::kMod:
        return std::all_of(
            pool_.children(e).begin(), pool_.children(e).end(), [&](Expr k) { return is_int(k); });
      case Op::kCond:
        return is_int(pool_.child(e, 1)) && is_int(pool_.child(e, 2));
      case Op::kPrimitive: {
        const ResultKind r = primitives()[static_cast<std::size_t>(n.value)].result;
        return r == ResultKind::kInt || r == ResultKind::kDim || r == ResultKind::kDimOfDims;
      }
      case Op::kSubscript:
        return is_symbol(pool_.child(e, 0), SymbolKind::kShape);
      default:
        return false;
    }
  }
  [[nodiscard]] bool is_sequence_symbol(Expr e) const {
    if (is_symbol(e, SymbolKind::kShape)) return true;
    if (!is_symbol(e, SymbolKind::kParam)) return false;
    const ParamType& type = data_.param_types[data_.symbols[symbol_of(e)].ordinal];
    if (type.maybe && branch_.facts.presence[symbol_of(e)] != 1) return false;
    return std::all_of(type.members.begin(), type.members.end(), [](const TypeMember& m) {
      return m.tag == TypeTag::kSeq &&
             std::find(m.optional_items.begin(), m.optional_items.end(), true) ==
                 m.optional_items.end();
    });
  }

  // ---- Expressions
  // --------------------------------------------------------------------------------------

  [[nodiscard]] bool is_literal(Expr e) const { return pool_.at(e).op == Op::kInt; }
  [[nodiscard]] std::int64_t literal_value(Expr e) const { return pool_.at(e).value; }

  /// Emits what puts `left op right` into a cell, by the instruction for a literal where one fits.
  void arithmetic(Op op, Expr left, Expr right, std::uint16_t cell) {
    const bool literal = is_literal(right);
    const std::int64_t value = literal ? literal_value(right) : 0;
    if (op == Op::kAdd && literal) {
      emit(Code::kAddImm, cell, int_cell(left), 0, value);
    } else if (op == Op::kAdd && is_literal(left)) {
      emit(Code::kAddImm, cell, int_cell(right), 0, literal_value(left));
    } else if (op == Op::kSub && literal && value > -(std::int64_t{1} << 62)) {
      emit(Code::kAddImm, cell, int_cell(left), 0, -value);
    } else if (op == Op::kMul && is_literal(left)) {
      emit(Code::kMulImm, cell, int_cell(right), 0, literal_value(left));
    } else if (op == Op::kMul && literal) {
      emit(Code::kMulImm, cell, int_cell(left), 0, value);
    } else if (op == Op::kFloorDiv && literal && value > 0) {
      emit(Code::kFloorDivImm, cell, int_cell(left), 0, value);
    } else if (op == Op::kMod && literal && value > 0) {
      emit(Code::kModImm, cell, int_cell(left), 0, value);
    } else {
      static constexpr Code kCodes[] = {
          Code::kAdd, Code::kSub, Code::kMul, Code::kFloorDiv, Code::kMod};
      const std::uint16_t a = int_cell(left);
      const std::uint16_t b = int_cell(right);
      emit(kCodes[static_cast<std::size_t>(op) - static_cast<std::size_t>(Op::kAdd)], cell, a, b);
    }
  }

  /// The cell that holds an int; instructions that compute it are emitted.
  std::uint16_t int_cell(Expr e) {
    const Node& n = pool_.at(e);
    if (n.op == Op::kSymbol && is_int_symbol(symbol_of(e)))
      return static_cast<std::uint16_t>(symbol_of(e));
    if (n.op == Op::kPayload) return int_cell(pool_.child(e, 0));
    const std::uint16_t cell = new_cell();
    if (settled(e)) {
      program_.hoists.push_back({cell, e, true, 0, false});
      return cell;
    }
    if (!is_int(e)) {
      emit(Code::kEvaluate, cell, 0, 0, e);
      return cell;
    }
    switch (n.op) {
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kFloorDiv:
      case Op::kMod:
        arithmetic(n.op, pool_.child(e, 0), pool_.child(e, 1), cell);
        return cell;
      case Op::kPrimitive:
        if (primitives()[static_cast<std::size_t>(n.value)].name == "len" &&
            is_sequence_symbol(pool_.child(e, 0))) {
          emit(Code::kLength, cell, symbol_of(pool_.child(e, 0)));
          return cell;
        }
        break;
      case Op::kSubscript:
        if (is_literal(pool_.child(e, 1)) && literal_value(pool_.child(e, 1)) >= 0 &&
            literal_value(pool_.child(e, 1)) < 1024) {
          emit(Code::kItem,
               cell,
               symbol_of(pool_.child(e, 0)),
               static_cast<std::size_t>(literal_value(pool_.child(e, 1))));
          return cell;
        }
        break;
      default:
        break;
    }
    emit(Code::kEvaluate, cell, 0, 0, e);
    return cell;
  }

  /// Jumps whose target is not known yet, by instruction.
  using Patches = std::vector<std::size_t>;
  void land(const Patches& patches) {
    for (const std::size_t p : patches)
      program_.code[p].c = static_cast<std::uint16_t>(program_.code.size());
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
    const std::uint16_t cell = new_cell();
    program_.hoists.push_back({cell, e, true, names.front(), true});
    emit(Code::kJumpInCell, names.front(), cell, kFail, 0, 1);
    return true;
  }

  /// Emits a jump for where `e` has the truth value `when`; otherwise execution goes on.
  void jump_if(Expr e, bool when, Patches& out) {
    const Node& n = pool_.at(e);
    switch (n.op) {
      case Op::kNot:
        jump_if(pool_.child(e, 0), !when, out);
        return;
      case Op::kAnd:
      case Op::kOr: {
        // `or` jumps on the first true one; where false is wanted, only past the last.
        const bool decides = n.op == Op::kOr;
        if (decides == when) {
          for (std::size_t i = 0; i < n.count; ++i) jump_if(pool_.child(e, i), when, out);
          return;
        }
        Patches past;
        for (std::size_t i = 0; i + 1 < n.count; ++i) jump_if(pool_.child(e, i), decides, past);
        jump_if(pool_.child(e, n.count - 1), when, out);
        land(past);
        return;
      }
      case Op::kCompare:
        if (compare(e, when, out)) return;
        break;
      default:
        break;
    }
    emit(Code::kJumpEvaluate, 0, 0, 0, e, when ? 1 : 0);
    out.push_back(program_.code.size() - 1);
  }

  bool compare(Expr e, bool when, Patches& out) {
    const Node n = pool_.at(e);
    for (std::size_t i = 0; i < n.count; ++i) {
      if (!is_int(pool_.child(e, i))) return dtype_compare(e, when, out);
    }
    for (std::size_t i = 1; i < n.count; ++i) {
      if (pool_.compare_op(e, i - 1) >= CompareOp::kIn) return false;
    }
    if (n.count > 2 && when) {  // a chain holds where no link fails
      Patches failing;
      for (std::size_t i = 1; i < n.count; ++i) link(e, i, false, failing);
      emit(Code::kJump);
      out.push_back(program_.code.size() - 1);
      land(failing);
      return true;
    }
    for (std::size_t i = 1; i < n.count; ++i) link(e, i, when, out);
    return true;
  }

  static CompareOp negated(CompareOp op) {
    static constexpr CompareOp kNegated[] = {CompareOp::kNe,
                                             CompareOp::kEq,
                                             CompareOp::kGe,
                                             CompareOp::kGt,
                                             CompareOp::kLe,
                                             CompareOp::kLt};
    return kNegated[static_cast<std::size_t>(op)];
  }

  /// Bit 0: less, bit 1: equal, bit 2: greater.
  static std::size_t relation(CompareOp op) {
    static constexpr std::size_t kRelations[] = {2, 5, 1, 3, 4, 6};
    return kRelations[static_cast<std::size_t>(op)];
  }

  void link(Expr e, std::size_t i, bool when, Patches& out) {
    const Expr left = pool_.child(e, i - 1);
    const Expr right = pool_.child(e, i);
    const CompareOp op = when ? pool_.compare_op(e, i - 1) : negated(pool_.compare_op(e, i - 1));
    const bool zero = pool_.at(right).op == Op::kInt && pool_.at(right).value == 0;
    const bool equality = op == CompareOp::kEq || op == CompareOp::kNe;
    if (zero && equality && pool_.at(left).op == Op::kMod && !settled(left)) {
      const std::uint16_t a = int_cell(pool_.child(left, 0));
      const Expr divisor = pool_.child(left, 1);
      const std::int64_t literal = pool_.at(divisor).op == Op::kInt ? pool_.at(divisor).value : 0;
      if (literal > 0 && (literal & (literal - 1)) == 0) {
        emit(Code::kJumpBits, a, 0, 0, literal - 1, op == CompareOp::kNe ? 1 : 0);
      } else if (pool_.at(divisor).op == Op::kInt && pool_.at(divisor).value > 0) {
        emit(Code::kJumpDividesImm, a, 0, 0, pool_.at(divisor).value, op == CompareOp::kNe ? 1 : 0);
      } else {
        const std::uint16_t b = int_cell(divisor);
        emit(Code::kJumpDivides, a, b, 0, 0, op == CompareOp::kNe ? 1 : 0);
      }
    } else if (pool_.at(right).op == Op::kInt) {
      const std::uint16_t a = int_cell(left);
      emit(Code::kJumpCompareImm, a, 0, 0, pool_.at(right).value, relation(op));
    } else {
      const std::uint16_t a = int_cell(left);
      const std::uint16_t b = int_cell(right);
      emit(Code::kJumpCompare, a, b, 0, 0, relation(op));
    }
    out.push_back(program_.code.size() - 1);
  }

  /// T == 'float16', T in ('a', 'b').
  bool dtype_compare(Expr e, bool when, Patches& out) {
    if (pool_.at(e).count != 2) return false;
    const CompareOp op = pool_.compare_op(e, 0);
    const Expr left = pool_.child(e, 0);
    const Expr right = pool_.child(e, 1);
    if (!is_symbol(left, SymbolKind::kDType) || op == CompareOp::kLt || op == CompareOp::kLe ||
        op == CompareOp::kGt || op == CompareOp::kGe)
      return false;
    DTypeSet set;
    const bool tuple = pool_.at(right).op == Op::kTuple;
    const bool membership = op == CompareOp::kIn || op == CompareOp::kNotIn;
    if (tuple != membership) return false;
    for (std::size_t i = 0; i < (tuple ? pool_.at(right).count : 1); ++i) {
      const Expr item = tuple ? pool_.child(right, i) : right;
      if (pool_.at(item).op != Op::kString) return false;
      if (const auto d = dtype_from_name(pool_.text(item))) set.insert(*d);
    }
    const bool positive = op == CompareOp::kEq || op == CompareOp::kIn;
    emit(Code::kJumpIn, symbol_of(left), 0, 0, set.bits(), positive == when ? 0 : 1);
    out.push_back(program_.code.size() - 1);
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
      let(s, index);
      return;
    }
    if (data_.symbols[s.tensor].kind != SymbolKind::kInput) {
      walk(index);
      return;
    }
    const TensorTerm& term = term_of(s.tensor);
    if (s.kind == StepKind::kTensor) {
      tensor(s, term, index);
      return;
    }
    std::size_t splices = 0;
    std::size_t splice_at = 0;
    for (std::size_t i = 0; i < term.elements.size(); ++i) {
      if (!term.elements[i].splice) continue;
      if (splices++ == 0) splice_at = i;
    }
    if (splices == 2 && prefix_form(term, s, index)) return;
    const bool plain_splices =
        splices == 0 || (splices == 1 && is_sequence_symbol(term.elements[splice_at].expr));
    if (!plain_splices) {
      walk(index);
      return;
    }
    enter(s.tensor, term);
    const std::size_t others = term.elements.size() - splices;
    if (s.kind == StepKind::kRank) {
      if (splices == 1 && term.elements.size() == 1)
        return;  // the comparison of the whole shape sees to it
      if (splices == 1) emit(Code::kRank, symbol_of(term.elements[splice_at].expr), 0, others);
      return;
    }
    if (s.kind == StepKind::kBindSplice) {
      emit(Code::kBindSplice, s.target, others, 0, 0, splice_at);
      return;
    }
    if (s.kind == StepKind::kCheckSplice) {
      const std::uint32_t cell = symbol_of(term.elements[splice_at].expr);
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
      emit(back ? Code::kBindScaledBack : Code::kBindScaledFront,
           s.target,
           static_cast<std::size_t>(slope),
           0,
           rest,
           place);
      return;
    }
    if (pool_.at(e).op == Op::kInt) {
      emit(back ? Code::kCheckBackImm : Code::kCheckFrontImm, 0, 0, 0, pool_.at(e).value, place);
      return;
    }
    const std::uint16_t cell = int_cell(e);
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
  bool prefix_form(const TensorTerm& term, const Step& s, std::size_t) {
    if (term.elements.size() != 2 || !is_sequence_symbol(term.elements[0].expr) ||
        !is_sequence_symbol(term.elements[1].expr))
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

  void let(const Step& s, std::size_t index) {
    if (!is_int(s.expr)) {
      walk(index);
      return;
    }
    const std::uint16_t cell = int_cell(s.expr);
    emit(Code::kMove, s.target, cell);
  }

  /// Makes a tensor current.
  void enter(std::uint32_t symbol, const TensorTerm&) {
    if (current_ == symbol) return;
    // A tensor that was begun before: load it again without its checks.
    emit(Code::kReload, data_.symbols[symbol].ordinal);
    current_ = symbol;
  }

  void tensor(const Step& s, const TensorTerm& term, std::size_t index) {
    const Node& dtype = pool_.at(term.dtype);
    const TensorDecl& decl = tensor_decl(data_, s.tensor);
    const bool exact = std::none_of(
        term.elements.begin(), term.elements.end(), [](const Element& e) { return e.splice; });
    const std::size_t least = static_cast<std::size_t>(std::count_if(
        term.elements.begin(), term.elements.end(), [](const Element& e) { return !e.splice; }));
    const std::uint32_t input = data_.symbols[s.tensor].ordinal;
    if (decl.on_cpu) {
      emit(Code::kTensorCpu, input, 0, least, 0, exact ? 1 : 0);
      emit(Code::kStep, 0, 0, 0, static_cast<std::int64_t>(index));
      current_ = s.tensor;
      return;
    }
    if (s.binds_dtype) {
      emit(Code::kTensorBind,
           input,
           s.target,
           least,
           data_.symbols[s.target].dtypes.bits(),
           exact ? 1 : 0);
    } else if (is_symbol(term.dtype, SymbolKind::kDType)) {
      emit(Code::kTensorSame, input, symbol_of(term.dtype), least, 0, exact ? 1 : 0);
    } else if (dtype.op == Op::kString && dtype_from_name(pool_.text(term.dtype))) {
      emit(Code::kTensorConst,
           input,
           0,
           least,
           static_cast<std::int64_t>(*dtype_from_name(pool_.text(term.dtype))),
           exact ? 1 : 0);
    } else {
      // The dtype is walked; rank and device are checked here.
      emit(Code::kTensorConst, input, 0, least, -1, exact ? 1 : 0);
      emit(Code::kStep, 0, 0, 0, static_cast<std::int64_t>(index));
    }
    current_ = s.tensor;
    if (decl.contiguous) emit(Code::kContiguous, input);
  }

  // ---- Outputs
  // ------------------------------------------------------------------------------------------

  void output(std::uint32_t index) {
    const TensorTerm& term = branch_.outputs[index];
    if (!term.passed) return;
    const Node& dtype = pool_.at(term.dtype);
    if (is_symbol(term.dtype, SymbolKind::kDType)) {
      emit(Code::kOutBegin, index, symbol_of(term.dtype));
    } else if (dtype.op == Op::kString && dtype_from_name(pool_.text(term.dtype))) {
      emit(Code::kOutBeginImm,
           index,
           0,
           0,
           static_cast<std::int64_t>(*dtype_from_name(pool_.text(term.dtype))));
    } else {
      const std::uint16_t cell = new_cell();
      emit(Code::kEvaluate, cell, 0, 0, term.dtype, 1);
      emit(Code::kOutBegin, index, cell);
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
      if (is_sequence_symbol(e.expr)) {
        emit(Code::kOutSplice, 0, symbol_of(e.expr));
      } else if (is_broadcast_of_two(e.expr)) {
        emit(Code::kOutBroadcast,
             0,
             symbol_of(pool_.child(e.expr, 0)),
             symbol_of(pool_.child(e.expr, 1)));
      } else {
        emit(Code::kOutEvaluate, 0, 0, 0, e.expr);
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

  const PlanData& data_;
  const Prefix& prefix_;
  Branch& branch_;
  Pool& pool_;
  Program program_;
  std::uint32_t current_ = kNoExpr;
};

}  // namespace

Program make_program(const PlanData& data, const Prefix& prefix, Branch& branch) {
  return ProgramMaker(data, prefix, branch).make();
}

}  // namespace tenon::signature
