// Expressions to instructions. Operands whose kinds are plain get instructions of their own; all
// others run the language's operators on cells.
#include "signature/code_maker.hpp"

#include <algorithm>

#include "tenon/core/signature/primitives.hpp"

namespace tenon::signature {
namespace {

constexpr std::size_t kMaxCells = 60000;

bool is_primitive(const Node& n, std::string_view name) {
  return n.op == Op::kPrimitive && primitives()[static_cast<std::size_t>(n.value)].name == name;
}

CompareOp negated(CompareOp op) {
  static constexpr CompareOp kNegated[] = {CompareOp::kNe,
                                           CompareOp::kEq,
                                           CompareOp::kGe,
                                           CompareOp::kGt,
                                           CompareOp::kLe,
                                           CompareOp::kLt};
  return kNegated[static_cast<std::size_t>(op)];
}

/// Bit 0: less, bit 1: equal, bit 2: greater.
std::size_t relation(CompareOp op) {
  static constexpr std::size_t kRelations[] = {2, 5, 1, 3, 4, 6};
  return kRelations[static_cast<std::size_t>(op)];
}

bool is_arithmetic(Op op) {
  return op == Op::kAdd || op == Op::kSub || op == Op::kMul || op == Op::kFloorDiv ||
         op == Op::kMod;
}

bool is_truth(Op op) {
  return op == Op::kCompare || op == Op::kAnd || op == Op::kOr || op == Op::kNot;
}

}  // namespace

CodeMaker::CodeMaker(const Pool& pool, std::size_t first_cell) : pool_(pool) {
  program_.cell_count = static_cast<std::uint32_t>(first_cell);
}

Instruction& CodeMaker::emit(
    Code code, std::size_t a, std::size_t b, std::size_t c, std::int64_t imm, std::size_t axis) {
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

std::uint16_t CodeMaker::new_cells(std::size_t count) {
  const auto first = static_cast<std::uint16_t>(program_.cell_count);
  program_.cell_count += static_cast<std::uint32_t>(count);
  return first;
}

void CodeMaker::land(const Patches& patches) {
  for (const std::size_t p : patches)
    program_.code[p].c = static_cast<std::uint16_t>(program_.code.size());
}

bool CodeMaker::fits() const {
  return !incomplete_ && program_.code.size() < kFail && program_.cell_count < kMaxCells;
}

// ---- What is known of an expression
// -----------------------------------------------------------------

bool CodeMaker::is_leaf(Expr e) const {
  const Op op = pool_.at(e).op;
  return op == Op::kSymbol || op == Op::kFormal || op == Op::kPresent;
}

bool CodeMaker::settled(Expr e) const {
  if (is_leaf(e)) return is_known(e);
  const Node& n = pool_.at(e);
  if (n.op == Op::kBytes) return false;
  // A variable of a comprehension that lies around the expression has a value per item.
  if (n.op == Op::kBound) return !bound_[static_cast<std::size_t>(n.value)].is_active;
  const auto kids = pool_.children(e);
  return std::all_of(kids.begin(), kids.end(), [&](Expr kid) { return settled(kid); });
}

bool CodeMaker::is_int(Expr e) const {
  const Node& n = pool_.at(e);
  switch (n.op) {
    case Op::kInt:
      return true;
    case Op::kSymbol:
    case Op::kFormal:
      return is_int_leaf(e);
    case Op::kBound:
      return bound_[static_cast<std::size_t>(n.value)].is_int;
    case Op::kPayload:
      return is_int(pool_.child(e, 0));
    case Op::kNeg:
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kFloorDiv:
    case Op::kMod: {
      const auto kids = pool_.children(e);
      return std::all_of(kids.begin(), kids.end(), [&](Expr kid) { return is_int(kid); });
    }
    case Op::kCond:
      return is_int(pool_.child(e, 1)) && is_int(pool_.child(e, 2));
    case Op::kPrimitive: {
      const ResultKind r = primitives()[static_cast<std::size_t>(n.value)].result;
      return r == ResultKind::kInt || r == ResultKind::kDim || r == ResultKind::kDimOfDims;
    }
    case Op::kSubscript:
      return is_ints(pool_.child(e, 0));
    default:
      return false;
  }
}

bool CodeMaker::is_ints(Expr e) const {
  const Node& n = pool_.at(e);
  switch (n.op) {
    case Op::kSymbol:
    case Op::kFormal:
      return is_ints_leaf(e);
    case Op::kPayload:
    case Op::kSlice:
      return is_ints(pool_.child(e, 0));
    case Op::kTuple: {
      const auto kids = pool_.children(e);
      return std::all_of(kids.begin(), kids.end(), [&](Expr kid) { return is_int(kid); });
    }
    case Op::kPrimitive: {
      const ResultKind r = primitives()[static_cast<std::size_t>(n.value)].result;
      return r == ResultKind::kShape || r == ResultKind::kSeqInt;
    }
    default:
      return false;
  }
}

// ---- Values
// -----------------------------------------------------------------------------------------

std::uint16_t CodeMaker::hoist(Expr e, Hoist::Want want) {
  const std::uint16_t target = new_cell();
  program_.hoists.push_back({target, e, want, 0});
  return target;
}

std::uint16_t CodeMaker::cell(Expr e) {
  const Node& n = pool_.at(e);
  if (n.op == Op::kSymbol || n.op == Op::kFormal) return leaf_cell(e);
  if (n.op == Op::kBound && bound_[static_cast<std::size_t>(n.value)].is_active)
    return bound_[static_cast<std::size_t>(n.value)].cell;
  if (settled(e)) return hoist(e, Hoist::Want::kAny);
  const std::uint16_t target = new_cell();
  make(e, target);
  return target;
}

std::uint16_t CodeMaker::int_cell(Expr e) {
  const Node& n = pool_.at(e);
  if (is_int(e)) {
    if (n.op == Op::kPayload) return int_cell(pool_.child(e, 0));
    if (n.op == Op::kSymbol || n.op == Op::kFormal || n.op == Op::kBound) return cell(e);
    if (settled(e)) return hoist(e, Hoist::Want::kInt);
    return cell(e);
  }
  if (settled(e)) return hoist(e, Hoist::Want::kInt);
  const std::uint16_t value = cell(e);
  emit(Code::kExpectInt, value);
  return value;
}

std::uint16_t CodeMaker::ints_cell(Expr e) {
  const std::uint16_t value = cell(e);
  if (!is_ints(e)) emit(Code::kExpectInts, value);
  return value;
}

std::uint16_t CodeMaker::dtype_cell(Expr e) {
  if (is_dtype_leaf(e)) return leaf_cell(e);
  const std::uint16_t target = new_cell();
  emit(Code::kToDType, target, cell(e));
  return target;
}

void CodeMaker::into(Expr e, std::uint16_t target) {
  const Op op = pool_.at(e).op;
  if (op == Op::kSymbol || op == Op::kFormal || op == Op::kBound) {
    emit(Code::kMove, target, cell(e));
  } else if (settled(e)) {
    program_.hoists.push_back({target, e, Hoist::Want::kAny, 0});
  } else {
    make(e, target);
  }
}

void CodeMaker::arithmetic(Op op, Expr left, Expr right, std::uint16_t target) {
  const bool literal = is_literal(right);
  const std::int64_t value = literal ? literal_value(right) : 0;
  if (op == Op::kAdd && literal) {
    emit(Code::kAddImm, target, int_cell(left), 0, value);
  } else if (op == Op::kAdd && is_literal(left)) {
    emit(Code::kAddImm, target, int_cell(right), 0, literal_value(left));
  } else if (op == Op::kSub && literal && value > -(std::int64_t{1} << 62)) {
    emit(Code::kAddImm, target, int_cell(left), 0, -value);
  } else if (op == Op::kMul && is_literal(left)) {
    emit(Code::kMulImm, target, int_cell(right), 0, literal_value(left));
  } else if (op == Op::kMul && literal) {
    emit(Code::kMulImm, target, int_cell(left), 0, value);
  } else if (op == Op::kFloorDiv && literal && value > 0) {
    emit(Code::kFloorDivImm, target, int_cell(left), 0, value);
  } else if (op == Op::kMod && literal && value > 0) {
    emit(Code::kModImm, target, int_cell(left), 0, value);
  } else {
    static constexpr Code kCodes[] = {
        Code::kAdd, Code::kSub, Code::kMul, Code::kFloorDiv, Code::kMod};
    const std::uint16_t a = int_cell(left);
    const std::uint16_t b = int_cell(right);
    emit(kCodes[static_cast<std::size_t>(op) - static_cast<std::size_t>(Op::kAdd)], target, a, b);
  }
}

/// Ints with instructions of their own.
bool CodeMaker::make_int(Expr e, std::uint16_t target) {
  const Node& n = pool_.at(e);
  if (is_arithmetic(n.op) && is_int(e)) {
    arithmetic(n.op, pool_.child(e, 0), pool_.child(e, 1), target);
    return true;
  }
  if (n.op == Op::kNeg && is_int(e)) {
    emit(Code::kMulImm, target, int_cell(pool_.child(e, 0)), 0, -1);
    return true;
  }
  if ((is_primitive(n, "len") || is_primitive(n, "prod")) && is_ints(pool_.child(e, 0))) {
    emit(is_primitive(n, "len") ? Code::kLength : Code::kProduct, target, cell(pool_.child(e, 0)));
    return true;
  }
  if (n.op == Op::kSubscript && is_ints(pool_.child(e, 0)) && is_literal(pool_.child(e, 1)) &&
      literal_value(pool_.child(e, 1)) >= 0 && literal_value(pool_.child(e, 1)) < 1024) {
    const std::uint16_t sequence = cell(pool_.child(e, 0));
    emit(Code::kItem, target, sequence, static_cast<std::size_t>(literal_value(pool_.child(e, 1))));
    return true;
  }
  return false;
}

void CodeMaker::make(Expr e, std::uint16_t target) {
  if (make_int(e, target)) return;
  const Node n = pool_.at(e);
  if (is_arithmetic(n.op)) {
    const std::uint16_t a = cell(pool_.child(e, 0));
    const std::uint16_t b = cell(pool_.child(e, 1));
    emit(Code::kArithmetic, target, a, b, static_cast<std::int64_t>(n.op));
    return;
  }
  if (is_truth(n.op)) {
    truth(e, target);
    return;
  }
  switch (n.op) {
    case Op::kNeg:
      emit(Code::kNegate, target, cell(pool_.child(e, 0)));
      return;
    case Op::kCond:
      conditional(e, target);
      return;
    case Op::kPrimitive:
      primitive(e, target);
      return;
    case Op::kTuple:
      emit(Code::kTuple, target, row(pool_.children(e)), n.count);
      return;
    case Op::kSubscript: {
      const std::uint16_t sequence = cell(pool_.child(e, 0));
      emit(Code::kSubscript, target, sequence, cell(pool_.child(e, 1)));
      return;
    }
    case Op::kSlice:
      emit(Code::kSlice, target, row(pool_.children(e)));
      return;
    case Op::kPayload:
      emit(Code::kPayload, target, cell(pool_.child(e, 0)));
      return;
    case Op::kKind:
      emit(Code::kKind, target, cell(pool_.child(e, 0)));
      return;
    case Op::kField:
      emit(Code::kField, target, cell(pool_.child(e, 0)), 0, n.value);
      return;
    case Op::kEach:
      each(e, target);
      return;
    default:
      incomplete_ = true;
  }
}

std::uint16_t CodeMaker::row(std::span<const Expr> items) {
  if (items.size() == 1 && pool_.at(items.front()).op != Op::kAbsent) return cell(items.front());
  const std::uint16_t first = new_cells(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto target = static_cast<std::uint16_t>(first + i);
    if (pool_.at(items[i]).op == Op::kAbsent) {
      program_.hoists.push_back({target, kNoExpr, Hoist::Want::kAny, 0});
    } else {
      into(items[i], target);
    }
  }
  return first;
}

void CodeMaker::truth(Expr e, std::uint16_t target) {
  Patches yes;
  jump_if(e, true, yes);
  emit(Code::kTruth, target, 0, 0, 0, 0);
  emit(Code::kJump);
  const Patches end{program_.code.size() - 1};
  land(yes);
  emit(Code::kTruth, target, 0, 0, 0, 1);
  land(end);
}

void CodeMaker::conditional(Expr e, std::uint16_t target) {
  Patches otherwise;
  jump_if(pool_.child(e, 0), false, otherwise);
  emit(Code::kMove, target, cell(pool_.child(e, 1)));
  emit(Code::kJump);
  const Patches end{program_.code.size() - 1};
  land(otherwise);
  emit(Code::kMove, target, cell(pool_.child(e, 2)));
  land(end);
}

void CodeMaker::primitive(Expr e, std::uint16_t target) {
  const Node n = pool_.at(e);
  const std::uint16_t first = row(pool_.children(e));
  emit(Code::kPrimitive, target, first, n.count, n.value);
}

/// The body runs once for each item, up to its kReturn.
void CodeMaker::each(Expr e, std::uint16_t target) {
  const Expr source = pool_.child(e, 1);
  const bool ints = is_ints(source);
  const std::uint16_t sequence = cell(source);
  // A let that stands in a comprehension may hold one of the same depth: it hides the outer one.
  Bound& bound = bound_[static_cast<std::size_t>(pool_.at(e).value)];
  const Bound outer = bound;
  bound = {new_cell(), true, ints};
  const std::size_t at = program_.code.size();
  emit(Code::kEach, target, sequence, 0, bound.cell);
  emit(Code::kReturn, cell(pool_.child(e, 0)));
  bound = outer;
  program_.code[at].c = static_cast<std::uint16_t>(program_.code.size());
}

// ---- Truth values
// -----------------------------------------------------------------------------------

void CodeMaker::jump_if(Expr e, bool when, Patches& out) {
  const Node n = pool_.at(e);
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
      if (settled(e)) break;
      compare(e, when, out);
      return;
    default:
      break;
  }
  emit(Code::kJumpTruth, cell(e), 0, 0, 0, when ? 1 : 0);
  out.push_back(program_.code.size() - 1);
}

void CodeMaker::compare(Expr e, bool when, Patches& out) {
  if (dtype_compare(e, when, out)) return;
  const std::size_t count = pool_.at(e).count;
  if (count > 2 && when) {  // a chain holds where no link fails
    Patches failing;
    for (std::size_t i = 1; i < count; ++i) link(e, i, false, failing);
    emit(Code::kJump);
    out.push_back(program_.code.size() - 1);
    land(failing);
    return;
  }
  for (std::size_t i = 1; i < count; ++i) link(e, i, when, out);
}

void CodeMaker::link(Expr e, std::size_t i, bool when, Patches& out) {
  const Expr left = pool_.child(e, i - 1);
  const Expr right = pool_.child(e, i);
  const CompareOp op = pool_.compare_op(e, i - 1);
  if (op < CompareOp::kIn && is_int(left) && is_int(right)) {
    int_link(left, right, when ? op : negated(op), out);
    return;
  }
  const std::uint16_t a = cell(left);
  const std::uint16_t b = cell(right);
  emit(Code::kJumpRelation, a, b, 0, static_cast<std::int64_t>(op), when ? 1 : 0);
  out.push_back(program_.code.size() - 1);
}

void CodeMaker::int_link(Expr left, Expr right, CompareOp op, Patches& out) {
  const bool zero = is_literal(right) && literal_value(right) == 0;
  const bool equality = op == CompareOp::kEq || op == CompareOp::kNe;
  if (zero && equality && pool_.at(left).op == Op::kMod && !settled(left)) {
    divides(left, op, out);
    return;
  }
  const std::uint16_t a = int_cell(left);
  if (is_literal(right)) {
    emit(Code::kJumpCompareImm, a, 0, 0, literal_value(right), relation(op));
  } else {
    emit(Code::kJumpCompare, a, int_cell(right), 0, 0, relation(op));
  }
  out.push_back(program_.code.size() - 1);
}

/// a % b == 0, a % b != 0
void CodeMaker::divides(Expr left, CompareOp op, Patches& out) {
  const std::uint16_t a = int_cell(pool_.child(left, 0));
  const Expr divisor = pool_.child(left, 1);
  const std::int64_t literal = is_literal(divisor) ? literal_value(divisor) : 0;
  const std::size_t differs = op == CompareOp::kNe ? 1 : 0;
  if (literal > 0 && (literal & (literal - 1)) == 0) {
    emit(Code::kJumpBits, a, 0, 0, literal - 1, differs);
  } else if (literal > 0) {
    emit(Code::kJumpDividesImm, a, 0, 0, literal, differs);
  } else {
    emit(Code::kJumpDivides, a, int_cell(divisor), 0, 0, differs);
  }
  out.push_back(program_.code.size() - 1);
}

/// T == 'float16', T in ('a', 'b').
bool CodeMaker::dtype_compare(Expr e, bool when, Patches& out) {
  if (pool_.at(e).count != 2) return false;
  const CompareOp op = pool_.compare_op(e, 0);
  const Expr left = pool_.child(e, 0);
  const Expr right = pool_.child(e, 1);
  if (!is_dtype_leaf(left) || op == CompareOp::kLt || op == CompareOp::kLe ||
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
  emit(Code::kJumpIn, leaf_cell(left), 0, 0, set.bits(), positive == when ? 0 : 1);
  out.push_back(program_.code.size() - 1);
  return true;
}

}  // namespace tenon::signature
