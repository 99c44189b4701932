// The machine that runs programs. Each instruction is a function that ends in the call of the next
// one, so that what the instructions share stays in registers; a compiler that makes no jump of
// such a call still gets the same answer, for jumps lead forward only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "signature/plan.hpp"

namespace tenon::signature {

/// What instructions need beside the registers. Expressions need the first three alone.
struct Plan::Run {
  const Instruction* code = nullptr;
  const Pool* pool = nullptr;
  Env* env = nullptr;
  const Plan* plan = nullptr;
  const Instance* instance = nullptr;
  const CallArgs* args = nullptr;
  Frame* frame = nullptr;
  State* state = nullptr;
  Device device;
  bool placed = false;
  bool nonempty = false;
  OutputSpec* spec = nullptr;
  std::int64_t* out = nullptr;
  std::size_t out_rank = 0;

  bool append(const std::int64_t* from, std::size_t count) {
    if (out_rank + count > kMaxRank) return false;
    std::int64_t signs = 0;
    for (std::size_t i = 0; i < count; ++i) {
      out[out_rank + i] = from[i];
      signs |= from[i];
    }
    out_rank += count;
    return signs >= 0;
  }
  /// False where the size exceeds what can be addressed.
  bool end_output();
  [[nodiscard]] bool addressable() const;
  [[nodiscard]] bool walk(std::int64_t step) const;
  [[nodiscard]] bool finish() const {
    return plan->finish(*instance, *args, *frame, *state, placed ? &device : nullptr, nonempty);
  }
};

/// How one instruction follows another. `sizes` and `rank` are of the current tensor.
struct Plan::Machine {
  using At = const Instruction*;
  using Extents = const std::int64_t*;
  using Function = bool(At, Cell*, Extents, std::size_t, Run*);
  using Handler = Function*;
  static const std::array<Handler, static_cast<std::size_t>(Code::kDone) + 1> kTable;

  static bool start(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return kTable[static_cast<std::size_t>(i->code)](i, cells, sizes, rank, run);
  }
  static bool next(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return start(i + 1, cells, sizes, rank, run);
  }
  static bool jump(bool taken, At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    if (!taken) return next(i, cells, sizes, rank, run);
    if (i->c == kFail) return false;
    return start(run->code + i->c, cells, sizes, rank, run);
  }

  /// Instructions on ints, on values of any kind, and jumps.
  static Function add, sub, mul, floor_div_cells, mod_cells, add_imm, mul_imm, floor_div_imm,
      mod_imm;
  static Function length, item, product;
  static Function move, arithmetic_cells, negate_cell, truth, primitive, tuple, subscript_cell,
      slice_cell, payload, kind, field, each, end, to_dtype, expect_int, expect_ints;
  static Function jump_compare, jump_compare_imm, jump_divides, jump_divides_imm, jump_bits,
      jump_in, jump_in_cell, jump_truth, jump_relation, jump_always;
};

}  // namespace tenon::signature
