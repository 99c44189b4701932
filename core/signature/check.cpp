// The check of a call: presences select the branch, its program runs. Nothing here allocates on a hit, or locks.
#include <algorithm>
#include <bit>

#include "signature/plan.hpp"
#include "signature/walker.hpp"
#include "tenon/core/signature/primitives.hpp"

namespace tenon::signature {

bool Plan::check(const Construction& construction, const CallArgs& args, CallFrame& call_frame) const {
  const auto& instance = static_cast<const Instance&>(construction);
  auto& frame = static_cast<Frame&>(call_frame);
  frame.arena.reset();
  if (args.inputs.size() != decl_.inputs.size()) return false;
  const std::uint64_t mask = mask_of(args);
  State* state = frame.state;
  if (state == nullptr || state->mask != mask || frame.instance_id != instance.id) {
    state = required_are_present(args) ? select(instance, frame, mask) : nullptr;
    if (state == nullptr) return false;
  }
  if (!state->walk) return run(instance, args, frame, *state);
  if (!required_are_present(args)) return false;
  return Walker(data_, instance, args, frame, *state, nullptr).run(*state->entry);
}

bool Plan::required_are_present(const CallArgs& args) const {
  for (std::size_t i = 0; i < decl_.inputs.size(); ++i) {
    if (decl_.inputs[i].optional == When::kNever && !args.inputs[i].present()) return false;
  }
  return true;
}

/// The state for these presences, made where it is missing; null where they are wrong.
State* Plan::select(const Instance& instance, Frame& frame, std::uint64_t mask) const {
  if (frame.instance_id != instance.id) {
    frame.states.clear();
    frame.state = nullptr;
    frame.instance_id = instance.id;
  }
  State* found = nullptr;
  for (const auto& state : frame.states) {
    if (state->mask == mask) found = state.get();
  }
  if (found == nullptr) {
    const BranchEntry& entry = branch_for(*instance.prefix, mask & deciding_bits_);
    if (entry.expected_mask != mask || entry.branch.rejected_by || entry.branch.error) return nullptr;
    frame.states.push_back(std::make_unique<State>());
    found = frame.states.back().get();
    found->entry = &entry;
    found->mask = mask;
    fill(instance, *found);
  }
  std::copy(found->entry->outputs.begin(), found->entry->outputs.end(), frame.outputs.begin());
  std::copy(found->entry->written.begin(), found->entry->written.end(), frame.written_inputs.begin());
  frame.branch = found->entry->effect;
  frame.state = found;
  return found;
}

/// Everything about a state that no call changes.
void Plan::fill(const Instance& instance, State& state) const {
  const Program& program = state.entry->program;
  state.cells = instance.cells;
  state.cells.resize(std::max<std::size_t>(program.cell_count, state.cells.size()));
  state.shapes.resize(shape_count_ * kMaxRank);
  state.walk = !program.compiled;
  for (std::uint32_t s = 0; s < data_.symbols.size(); ++s) {
    const Symbol& symbol = data_.symbols[s];
    Cell& cell = state.cells[s];
    if (cell.tag != Tag::kUnset) continue;
    if (symbol.kind == SymbolKind::kDim) cell = Cell::integer(0);
    if (symbol.kind == SymbolKind::kDType) cell = Cell::dtype_of(DType::kBool);
    if (symbol.kind != SymbolKind::kShape) continue;
    cell = Cell::int_list(state.shapes.data() + symbol.ordinal * kMaxRank, 0);
    cell.is_tuple = true;
  }
  for (std::size_t i = data_.symbols.size(); i < state.cells.size(); ++i) state.cells[i] = Cell::integer(0);
  Env env;
  env.pool = &state.entry->branch.pool;
  env.arena = &state.hoisted;
  env.presence = state.entry->branch.facts.presence;
  for (const Hoist& hoist : program.hoists) {
    env.symbols = state.cells;
    if (!hoist.is_mask) {
      Cell value;
      if (!evaluate(env, hoist.expr, value) || value.tag != Tag::kInt) {
        state.walk = true;  // it has no value, or only where nothing reads it: walking tells
        continue;
      }
      state.cells[hoist.cell] = value;
      continue;
    }
    std::int64_t mask = 0;
    const Cell kept = state.cells[hoist.dtype_symbol];
    for (const DType d : all_dtypes()) {
      if (!data_.symbols[hoist.dtype_symbol].dtypes.contains(d)) continue;
      bool holds = false;
      state.cells[hoist.dtype_symbol] = Cell::dtype_of(d);
      if (evaluate_bool(env, hoist.expr, holds) && holds) mask |= std::int64_t{1} << static_cast<unsigned>(d);
    }
    state.cells[hoist.dtype_symbol] = kept;
    state.cells[hoist.cell] = Cell::integer(mask);
  }
}

namespace {

using Extents = const std::int64_t*;

/// Whether every element of the view lies in [low, high), which are then the bytes that it spans.
struct Span {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
  bool dense = true;
  bool simple = true;  ///< no negative stride
};

Span span_of(const TensorView& view) {
  Span span;
  std::int64_t expected = 1;
  std::int64_t last = 0;
  const auto* sizes = view.shape.data();
  const auto* strides = view.strides.data();
  for (std::size_t i = view.shape.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (sizes[i] == 0) return span;  // no bytes
    span.dense = span.dense && strides[i] == expected;
    span.simple = span.simple && strides[i] >= 0;
    expected *= sizes[i];
    last += (sizes[i] - 1) * strides[i];
  }
  span.low = reinterpret_cast<std::uintptr_t>(view.first());
  span.high = span.low + static_cast<std::uintptr_t>(last + 1) * size_bytes_of(view.dtype);
  return span;
}

bool compare(std::uint8_t op, std::int64_t a, std::int64_t b) {
  switch (static_cast<CompareOp>(op)) {
    case CompareOp::kEq: return a == b;
    case CompareOp::kNe: return a != b;
    case CompareOp::kLt: return a < b;
    case CompareOp::kLe: return a <= b;
    case CompareOp::kGt: return a > b;
    default: return a >= b;
  }
}

bool same_sizes(Extents a, Extents b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

void copy_sizes(Extents from, std::int64_t* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = from[i];
}

/// An expression without instructions of its own.
[[gnu::noinline]] bool evaluate_cell(const State& state, Arena& arena, Expr e, Cell& out) {
  Env env;
  env.pool = &state.entry->branch.pool;
  env.symbols = state.cells;
  env.presence = state.entry->branch.facts.presence;
  env.arena = &arena;
  return evaluate(env, e, out);
}

/// The output that is being inferred.
struct Shaping {
  OutputSpec* spec = nullptr;
  std::int64_t* sizes = nullptr;
  std::size_t rank = 0;
  bool append(std::int64_t size) {
    if (rank == kMaxRank || size < 0) return false;
    sizes[rank++] = size;
    return true;
  }
  bool append(Extents from, std::size_t count) {
    if (rank + count > kMaxRank) return false;
    for (std::size_t i = 0; i < count; ++i) {
      if (from[i] < 0) return false;
      sizes[rank + i] = from[i];
    }
    rank += count;
    return true;
  }
  /// False where the size exceeds what can be addressed.
  bool finish(bool& nonempty) {
    std::int64_t product = 1;
    bool overflow = false;
    bool empty = false;
    for (std::size_t i = 0; i < rank; ++i) {
      empty = empty || sizes[i] == 0;
      overflow = __builtin_mul_overflow(product, sizes[i], &product) || overflow;
    }
    spec->shape.resize(rank);
    nonempty = nonempty || !empty;
    return empty || (!overflow && product <= std::int64_t{1} << 59);
  }
};

}  // namespace

bool Plan::run(const Instance& instance, const CallArgs& args, Frame& frame, State& state) const {
  const Program& program = state.entry->program;
  const Instruction* const code = program.code.data();
  Cell* const cells = state.cells.data();
  const TensorView* view = nullptr;
  Extents sizes = nullptr;
  std::size_t rank = 0;
  bool placed = false;
  Device device;
  Shaping out;
  bool nonempty = false;

  const auto begin = [&](const Instruction& i) {
    const TensorArg& arg = args.inputs[i.a];
    if (arg.items == nullptr) return false;
    view = *arg.items;
    sizes = view->shape.data();
    rank = view->shape.size();
    if (i.axis != 0 ? rank != i.c : rank < i.c) return false;
    if (placed) return device == view->device;
    device = view->device;
    placed = true;
    return true;
  };
  const auto bind_scaled = [&](const Instruction& i, std::int64_t size) {
    const std::int64_t rest = size - i.imm;
    if (rest < 0 || rest % i.b != 0) return false;
    cells[i.a].i = rest / i.b;
    return true;
  };

  for (const Instruction* at = code;; ++at) {
    const Instruction& i = *at;
    bool jump = false;
    switch (i.code) {
      case Code::kTensorBind:
        if (!begin(i) || ((static_cast<std::uint64_t>(i.imm) >> static_cast<unsigned>(view->dtype)) & 1u) == 0) return false;
        cells[i.b].i = static_cast<std::int64_t>(view->dtype);
        continue;
      case Code::kTensorSame:
        if (!begin(i) || cells[i.b].i != static_cast<std::int64_t>(view->dtype)) return false;
        continue;
      case Code::kTensorConst:
        if (!begin(i) || (i.imm >= 0 && i.imm != static_cast<std::int64_t>(view->dtype))) return false;
        continue;
      case Code::kReload:
        view = *args.inputs[i.a].items;
        sizes = view->shape.data();
        rank = view->shape.size();
        continue;
      case Code::kContiguous:
        if (!view->is_dense()) return false;
        continue;

      case Code::kBindFront: cells[i.a].i = sizes[i.axis]; continue;
      case Code::kBindBack: cells[i.a].i = sizes[rank - i.axis]; continue;
      case Code::kCheckFront:
        if (cells[i.a].i != sizes[i.axis]) return false;
        continue;
      case Code::kCheckBack:
        if (cells[i.a].i != sizes[rank - i.axis]) return false;
        continue;
      case Code::kCheckFrontImm:
        if (i.imm != sizes[i.axis]) return false;
        continue;
      case Code::kCheckBackImm:
        if (i.imm != sizes[rank - i.axis]) return false;
        continue;
      case Code::kBindScaledFront:
        if (!bind_scaled(i, sizes[i.axis])) return false;
        continue;
      case Code::kBindScaledBack:
        if (!bind_scaled(i, sizes[rank - i.axis])) return false;
        continue;
      case Code::kRank:
        if (rank != i.c + std::size_t{cells[i.a].count}) return false;
        continue;
      case Code::kBindSplice: {
        Cell& cell = cells[i.a];
        cell.count = static_cast<std::uint32_t>(rank - i.b);
        copy_sizes(sizes + i.axis, const_cast<std::int64_t*>(cell.ints), cell.count);
        continue;
      }
      case Code::kBindPrefix: {
        const Cell& suffix = cells[i.b];
        if (rank < suffix.count) return false;
        Cell& cell = cells[i.a];
        cell.count = static_cast<std::uint32_t>(rank - suffix.count);
        if (!same_sizes(sizes + cell.count, suffix.ints, suffix.count)) return false;
        copy_sizes(sizes, const_cast<std::int64_t*>(cell.ints), cell.count);
        continue;
      }
      case Code::kCheckWhole:
        if (rank != cells[i.a].count || !same_sizes(sizes, cells[i.a].ints, rank)) return false;
        continue;
      case Code::kCheckSplice:
        if (!same_sizes(sizes + i.axis, cells[i.a].ints, cells[i.a].count)) return false;
        continue;

      case Code::kAdd:
        if (__builtin_add_overflow(cells[i.b].i, cells[i.c].i, &cells[i.a].i)) return false;
        continue;
      case Code::kSub:
        if (__builtin_sub_overflow(cells[i.b].i, cells[i.c].i, &cells[i.a].i)) return false;
        continue;
      case Code::kMul:
        if (__builtin_mul_overflow(cells[i.b].i, cells[i.c].i, &cells[i.a].i)) return false;
        continue;
      case Code::kFloorDiv:
        if (!floor_div(cells[i.b].i, cells[i.c].i, cells[i.a].i)) return false;
        continue;
      case Code::kMod:
        if (!floor_mod(cells[i.b].i, cells[i.c].i, cells[i.a].i)) return false;
        continue;
      case Code::kAddImm:
        if (__builtin_add_overflow(cells[i.b].i, i.imm, &cells[i.a].i)) return false;
        continue;
      case Code::kMulImm:
        if (__builtin_mul_overflow(cells[i.b].i, i.imm, &cells[i.a].i)) return false;
        continue;
      case Code::kFloorDivImm:
        if (!floor_div(cells[i.b].i, i.imm, cells[i.a].i)) return false;
        continue;
      case Code::kModImm:
        if (!floor_mod(cells[i.b].i, i.imm, cells[i.a].i)) return false;
        continue;
      case Code::kLength: cells[i.a].i = cells[i.b].count; continue;
      case Code::kItem:
        if (i.c >= cells[i.b].count) return false;
        cells[i.a].i = cells[i.b].ints[i.c];
        continue;
      case Code::kEvaluate: {
        Cell value;
        if (!evaluate_cell(state, frame.arena, static_cast<Expr>(i.imm), value)) return false;
        if (i.axis != 0 && value.tag == Tag::kStr) {
          const auto dtype = dtype_from_name(value.str());
          if (!dtype) return false;
          value = Cell::dtype_of(*dtype);
        }
        if (value.tag != (i.axis != 0 ? Tag::kDType : Tag::kInt)) return false;
        cells[i.a].i = value.i;
        continue;
      }
      case Code::kMove: cells[i.a] = cells[i.b]; continue;

      case Code::kJumpCompare: jump = compare(i.axis, cells[i.a].i, cells[i.b].i); break;
      case Code::kJumpCompareImm: jump = compare(i.axis, cells[i.a].i, i.imm); break;
      case Code::kJumpDivides:
        if (cells[i.b].i == 0) return false;
        jump = (cells[i.b].i == -1 || cells[i.a].i % cells[i.b].i == 0) == (i.axis == 0);
        break;
      case Code::kJumpDividesImm: jump = (cells[i.a].i % i.imm == 0) == (i.axis == 0); break;
      case Code::kJumpIn: jump = ((i.imm >> cells[i.a].i) & 1) != i.axis; break;
      case Code::kJumpInCell: jump = ((cells[i.b].i >> cells[i.a].i) & 1) != i.axis; break;
      case Code::kJumpEvaluate: {
        Cell value;
        if (!evaluate_cell(state, frame.arena, static_cast<Expr>(i.imm), value) || value.tag != Tag::kBool) return false;
        jump = value.i == i.axis;
        break;
      }
      case Code::kJump: jump = true; break;

      case Code::kStep:
        if (!Walker(data_, instance, args, frame, state, nullptr)
                 .run_step(*state.entry, state.entry->branch.steps[static_cast<std::size_t>(i.imm)])) {
          return false;
        }
        continue;

      case Code::kOutBegin:
      case Code::kOutBeginImm:
        out.spec = &frame.outputs[i.a];
        out.sizes = out.spec->shape.data();
        out.rank = 0;
        out.spec->dtype = i.code == Code::kOutBegin ? cells[i.b].dtype() : static_cast<DType>(i.imm);
        continue;
      case Code::kOutDim:
        if (!out.append(cells[i.b].i)) return false;
        continue;
      case Code::kOutImm:
        if (!out.append(i.imm)) return false;
        continue;
      case Code::kOutSplice:
        if (!out.append(cells[i.b].ints, cells[i.b].count)) return false;
        continue;
      case Code::kOutBroadcast: {
        const Cell& a = cells[i.b];
        const Cell& b = cells[i.c];
        std::uint32_t added = 0;
        std::uint32_t axis = 0;
        if (out.rank + std::max(a.count, b.count) > kMaxRank ||
            !broadcast_pair({a.ints, a.count}, {b.ints, b.count}, out.sizes + out.rank, added, axis)) {
          return false;
        }
        out.rank += added;
        continue;
      }
      case Code::kOutEvaluate: {
        Cell value;
        if (!evaluate_cell(state, frame.arena, static_cast<Expr>(i.imm), value)) return false;
        if (value.tag == Tag::kList && value.count == 0) continue;
        if (value.tag != Tag::kInts || !out.append(value.ints, value.count)) return false;
        continue;
      }
      case Code::kOutEnd:
        if (!out.finish(nonempty)) return false;
        continue;
      case Code::kDone: return finish(instance, args, frame, state, placed ? &device : nullptr, nonempty);
    }
    if (!jump) continue;
    if (i.c == kFail) return false;
    at = code + i.c - 1;
  }
}

/// After inference: the device, the effects.
bool Plan::finish(const Instance& instance, const CallArgs& args, Frame& frame, State& state, const Device* device,
                  bool nonempty) const {
  if (device != nullptr) {
    frame.device = *device;
  } else if (!Walker(data_, instance, args, frame, state, nullptr).run_devices(*state.entry)) {
    return false;
  }
  if (!state.entry->simple_effects) {
    return Walker(data_, instance, args, frame, state, nullptr).run_effects(*state.entry);
  }
  frame.nothing_to_do = state.entry->returns_or_writes && !nonempty;
  return args.out == nullptr || check_out(instance, args, frame, state);
}

bool Plan::check_out(const Instance& instance, const CallArgs& args, Frame& frame, State& state) const {
  const TensorView& out = *args.out;
  const OutputSpec& spec = frame.outputs[static_cast<std::size_t>(buffered_output_)];
  if (!spec.present || !(out.shape == spec.shape) || out.dtype != spec.dtype || !(out.device == frame.device)) return !spec.present;
  if (args.meta) return true;
  const Span own = span_of(out);
  bool clear = own.dense && own.simple;
  if (clear && own.low != own.high) {
    for (const TensorArg& arg : args.inputs) {
      for (std::uint32_t k = 0; k < arg.count; ++k) {
        const Span other = span_of(*arg.items[k]);
        clear = clear && other.simple && (other.high <= own.low || own.high <= other.low);
      }
    }
    for (const auto& tensor : instance.tensors()) {
      if (!tensor) continue;
      const Span other = span_of(tensor->view());
      clear = clear && other.simple && (other.high <= own.low || own.high <= other.low);
    }
  }
  if (clear) return true;
  return Walker(data_, instance, args, frame, state, nullptr)
      .run_written(*state.entry, out, data_.first_output + static_cast<std::uint32_t>(buffered_output_));
}

}  // namespace tenon::signature
