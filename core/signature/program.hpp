// Programs: a branch's checks as a flat list of small instructions over dense cells.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/core/plan.hpp"
#include "tenon/core/signature/cell.hpp"
#include "tenon/core/signature/specialise.hpp"

namespace tenon::signature {

enum class Code : std::uint8_t {
  // Tensors: a is the input. The tensor stays current for what follows. axis: rank is exact; c:
  // rank, exact or least.
  kTensorBind,    ///< b := dtype; imm: the dtypes allowed
  kTensorSame,    ///< dtype equals cell b
  kTensorConst,   ///< dtype equals imm
  kTensorCpu,     ///< on the CPU, of the rank; dtype apart
  kDTypeBind,     ///< b := dtype of input a; imm: the dtypes allowed
  kDTypeSame,     ///< dtype of input a equals cell b
  kReload,        ///< makes input a current again, unchecked
  kConstruction,  ///< makes construction-time tensor a current; rank is c
  kContiguous,    ///< the current tensor is dense
  // Axes of the current tensor; `axis` counts from the front, or with the suffix Back from the last
  // axis (1 is the last).
  kBindFront,  ///< a := size
  kBindBack,
  kCheckFront,  ///< size equals cell a
  kCheckBack,
  kCheckFrontImm,  ///< size equals imm
  kCheckBackImm,
  kAxes,  ///< b axes from `axis` on, cells in imm, 16 bits each: equal where the bit in c is set,
          ///< else bound
  kBindScaledFront,  ///< a := (size - imm) / b
  kBindScaledBack,
  kRank,         ///< rank equals c + the length of cell a
  kBindSplice,   ///< a := the axes but `axis` in front and b - axis behind
  kBindPrefix,   ///< a := the axes before those of cell b, which end the shape
  kCheckWhole,   ///< the shape is cell a
  kCheckSplice,  ///< the axes from `axis` on are cell a
  // Ints: a := ...
  kAdd,
  kSub,
  kMul,
  kFloorDiv,
  kMod,
  kAddImm,
  kMulImm,
  kFloorDivImm,  ///< imm > 0
  kModImm,       ///< imm > 0
  kLength,       ///< a := length of cell b
  kItem,         ///< a := item c of cell b
  kProduct,      ///< a := product of cell b, a sequence of ints
  // Values of any kind: a := ...
  kMove,        ///< cell b
  kArithmetic,  ///< b op c; imm: Op
  kNegate,      ///< -b
  kTruth,       ///< whether axis is 1
  kPrimitive,   ///< the primitive imm of c cells from b on
  kTuple,       ///< c cells from b on
  kSubscript,   ///< b[c]
  kSlice,       ///< cell b, by the three cells after it
  kPayload,     ///< b, which is not None
  kKind,        ///< the constructor of b
  kField,       ///< the field of b that string imm names
  kEach,        ///< the body's value for each item of b, in cell imm; the body follows, then c
  kReturn,      ///< ends a body, or the expressions of a call: the value is in a
  kToDType,     ///< b, a dtype or the name of one
  kExpectInt,   ///< a is an int
  kExpectInts,  ///< a is a sequence of ints
  // Jumps: to instruction c; kFail ends the check. A comparison's `axis` has bit 0 for less, 1 for
  // equal, 2 for greater.
  kJumpCompare,     ///< a ? b
  kJumpCompareImm,  ///< a ? imm
  kJumpDivides,     ///< a % b == 0, or != 0 where axis is 1; the check fails where b is 0
  kJumpDividesImm,  ///< a % imm
  kJumpBits,        ///< a & imm == 0, or != 0 where axis is 1
  kJumpIn,          ///< bit of dtype cell a in imm; axis 1: the bit is clear
  kJumpInCell,      ///< the same with the mask in cell b
  kJumpTruth,       ///< a, a Bool, is axis
  kJumpRelation,    ///< a ? b by the CompareOp imm has the truth value axis
  kJump,
  // Whatever has no instruction of its own.
  kStep,  ///< step imm of the branch, walked
  // Outputs: a is the output
  kOutBegin,      ///< b: dtype cell
  kOutBeginImm,   ///< imm: dtype
  kOutDim,        ///< appends cell b
  kOutDims,       ///< appends b cells, in imm, 16 bits each
  kOutImm,        ///< appends imm
  kOutSplice,     ///< appends the items of cell b
  kOutBroadcast,  ///< appends broadcast(cell b, cell c)
  kOutEnd,
  kDone,
};
inline constexpr std::uint16_t kFail = 0xffff;

struct Instruction {
  Code code = Code::kDone;
  std::uint8_t axis = 0;
  std::uint16_t a = 0;
  std::uint16_t b = 0;
  std::uint16_t c = 0;
  std::int64_t imm = 0;
};
static_assert(sizeof(Instruction) == 16);

/// Evaluated once for an instance on this branch.
struct Hoist {
  enum class Want : std::uint8_t {
    kInt,
    kAny,
    kDTypes,  ///< the dtypes, as bits, for which the condition holds
  };
  std::uint16_t cell = 0;
  Expr expr = kNoExpr;  ///< kNoExpr: an argument that is not given
  Want want = Want::kAny;
  std::uint32_t dtype_symbol = 0;  ///< of kDTypes: what the condition is on
};

struct Program {
  bool compiled = false;  ///< false: the trees are walked
  std::vector<Instruction> code;
  std::vector<Hoist> hoists;
  std::uint32_t cell_count = 0;  ///< with all cells before it
};

/// Compiles a branch. Steps on several splices of one shape, and on construction-time tensors that
/// are not settled, are walked; so is a branch with lists of tensors.
[[nodiscard]] Program make_program(const PlanData& data,
                                   const Prefix& prefix,
                                   const Branch& branch);

}  // namespace tenon::signature
