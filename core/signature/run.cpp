// Runs a branch's program. Each instruction is a function that ends in the call of the next one, so
// that what the instructions share stays in registers; a compiler that makes no jump of such a call
// still gets the same answer, for jumps lead forward only.
#include <algorithm>
#include <array>
#include <bit>

#include "signature/plan.hpp"
#include "signature/walker.hpp"
#include "tenon/core/signature/primitives.hpp"

namespace tenon::signature {

/// What instructions need beside the registers.
struct Plan::Run {
  const Plan& plan;
  const Instance& instance;
  const CallArgs& args;
  Frame& frame;
  State& state;
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
  bool end_output() {
    bool empty = false;
    int bits = 0;  // no product of these sizes needs more
    for (std::size_t i = 0; i < out_rank; ++i) {
      empty = empty || out[i] == 0;
      bits += static_cast<int>(std::bit_width(static_cast<std::uint64_t>(out[i])));
    }
    spec->shape.resize(out_rank);
    nonempty = nonempty || !empty;
    return empty || bits < 60 || addressable();
  }
  [[gnu::noinline]] bool addressable() const {
    const auto count = element_count(spec->shape);
    return count && *count <= std::int64_t{1} << 59;
  }
  /// An expression without instructions of its own.
  [[gnu::noinline]] bool evaluate_cell(std::int64_t e, Cell& value) {
    Env env;
    env.pool = &state.entry->branch.pool;
    env.symbols = state.cells;
    env.presence = state.entry->branch.facts.presence;
    env.arena = &frame.arena;
    return evaluate(env, static_cast<Expr>(e), value);
  }
  [[gnu::noinline]] bool walk(std::int64_t step) {
    return Walker(plan.data_, instance, args, frame, state, nullptr)
        .run_step(*state.entry, state.entry->branch.steps[static_cast<std::size_t>(step)]);
  }
  bool finish() {
    return plan.finish(instance, args, frame, state, placed ? &device : nullptr, nonempty);
  }
};

namespace {

using At = const Instruction*;
using Extents = const std::int64_t*;

bool same_sizes(Extents a, Extents b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

void copy_sizes(Extents from, const std::int64_t* to, std::size_t count) {
  auto* storage = const_cast<std::int64_t*>(to);  // of the state, which lends it to the cell
  for (std::size_t i = 0; i < count; ++i) storage[i] = from[i];
}

/// `relation`: bit 0 for less, 1 for equal, 2 for greater.
bool compare(unsigned relation, std::int64_t a, std::int64_t b) {
  const unsigned found = (a < b ? 1u : 0u) | (a == b ? 2u : 0u) | (a > b ? 4u : 0u);
  return (found & relation) != 0;
}

}  // namespace

struct Plan::Instructions {
  using Handler = bool (*)(At, Cell*, Extents, std::size_t, Run*);
  static const std::array<Handler, static_cast<std::size_t>(Code::kDone) + 1> kTable;

  static bool next(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return kTable[static_cast<std::size_t>(i[1].code)](i + 1, cells, sizes, rank, run);
  }
  static bool jump(bool taken, At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    if (!taken) return next(i, cells, sizes, rank, run);
    if (i->c == kFail) return false;
    const At target = run->state.entry->program.code.data() + i->c;
    return kTable[static_cast<std::size_t>(target->code)](target, cells, sizes, rank, run);
  }

  // ---- Tensors
  // ------------------------------------------------------------------------------------------

  /// Makes the input current: present, of the rank, on the device of the call. Null where it is
  /// not.
  static const TensorView* begin(At i, Run* run) {
    const TensorArg& arg = run->args.inputs[i->a];
    if (arg.items == nullptr) return nullptr;
    const TensorView* view = *arg.items;
    const std::size_t rank = view->shape.size();
    if (i->axis != 0 ? rank != i->c : rank < i->c) return nullptr;
    if (run->placed) return run->device == view->device ? view : nullptr;
    run->device = view->device;
    run->placed = true;
    return view;
  }
  static bool tensor_bind(At i, Cell* cells, Extents, std::size_t, Run* run) {
    const TensorView* view = begin(i, run);
    if (view == nullptr ||
        ((static_cast<std::uint64_t>(i->imm) >> static_cast<unsigned>(view->dtype)) & 1u) == 0)
      return false;
    cells[i->b].i = static_cast<std::int64_t>(view->dtype);
    return next(i, cells, view->shape.data(), view->shape.size(), run);
  }
  static bool tensor_same(At i, Cell* cells, Extents, std::size_t, Run* run) {
    const TensorView* view = begin(i, run);
    if (view == nullptr || cells[i->b].i != static_cast<std::int64_t>(view->dtype)) return false;
    return next(i, cells, view->shape.data(), view->shape.size(), run);
  }
  static bool tensor_const(At i, Cell* cells, Extents, std::size_t, Run* run) {
    const TensorView* view = begin(i, run);
    if (view == nullptr || (i->imm >= 0 && i->imm != static_cast<std::int64_t>(view->dtype)))
      return false;
    return next(i, cells, view->shape.data(), view->shape.size(), run);
  }
  /// Takes no part in the device of the call.
  static bool tensor_cpu(At i, Cell* cells, Extents, std::size_t, Run* run) {
    const TensorArg& arg = run->args.inputs[i->a];
    if (arg.items == nullptr) return false;
    const TensorView& view = **arg.items;
    const std::size_t rank = view.shape.size();
    if ((i->axis != 0 ? rank != i->c : rank < i->c) || !(view.device.kind == DeviceKind()))
      return false;
    return next(i, cells, view.shape.data(), rank, run);
  }
  static bool reload(At i, Cell* cells, Extents, std::size_t, Run* run) {
    const TensorView& view = **run->args.inputs[i->a].items;
    return next(i, cells, view.shape.data(), view.shape.size(), run);
  }
  static bool contiguous(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    if (!(*run->args.inputs[i->a].items)->is_dense()) return false;
    return next(i, cells, sizes, rank, run);
  }

  // ---- Axes
  // ---------------------------------------------------------------------------------------------

  static bool bind_front(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    cells[i->a].i = sizes[i->axis];
    return next(i, cells, sizes, rank, run);
  }
  static bool bind_back(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    cells[i->a].i = sizes[rank - i->axis];
    return next(i, cells, sizes, rank, run);
  }
  static bool check_front(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return cells[i->a].i == sizes[i->axis] && next(i, cells, sizes, rank, run);
  }
  static bool check_back(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return cells[i->a].i == sizes[rank - i->axis] && next(i, cells, sizes, rank, run);
  }
  static bool check_front_imm(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return i->imm == sizes[i->axis] && next(i, cells, sizes, rank, run);
  }
  static bool check_back_imm(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return i->imm == sizes[rank - i->axis] && next(i, cells, sizes, rank, run);
  }
  static bool axes(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    auto ids = static_cast<std::uint64_t>(i->imm);
    const Extents from = sizes + i->axis;
    if (i->c == 0) {
      for (unsigned k = 0; k < i->b; ++k, ids >>= 16) cells[ids & 0xffffu].i = from[k];
      return next(i, cells, sizes, rank, run);
    }
    std::int64_t difference = 0;
    unsigned checked = i->c;
    for (unsigned k = 0; k < i->b; ++k, ids >>= 16, checked >>= 1) {
      std::int64_t& value = cells[ids & 0xffffu].i;
      const std::int64_t mask = -static_cast<std::int64_t>(checked & 1u);
      const std::int64_t delta = value ^ from[k];
      difference |= delta & mask;
      value ^= delta & ~mask;
    }
    return difference == 0 && next(i, cells, sizes, rank, run);
  }
  static bool scaled(At i, Cell* cells, std::int64_t size) {
    const std::int64_t rest = size - i->imm;
    if (rest < 0 || rest % i->b != 0) return false;
    cells[i->a].i = rest / i->b;
    return true;
  }
  static bool bind_scaled_front(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return scaled(i, cells, sizes[i->axis]) && next(i, cells, sizes, rank, run);
  }
  static bool bind_scaled_back(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return scaled(i, cells, sizes[rank - i->axis]) && next(i, cells, sizes, rank, run);
  }
  static bool rank_is(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return rank == i->c + std::size_t{cells[i->a].count} && next(i, cells, sizes, rank, run);
  }
  static bool bind_splice(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    Cell& cell = cells[i->a];
    cell.count = static_cast<std::uint32_t>(rank - i->b);
    copy_sizes(sizes + i->axis, cell.ints, cell.count);
    return next(i, cells, sizes, rank, run);
  }
  static bool bind_prefix(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    const Cell& suffix = cells[i->b];
    if (rank < suffix.count) return false;
    Cell& cell = cells[i->a];
    cell.count = static_cast<std::uint32_t>(rank - suffix.count);
    if (!same_sizes(sizes + cell.count, suffix.ints, suffix.count)) return false;
    copy_sizes(sizes, cell.ints, cell.count);
    return next(i, cells, sizes, rank, run);
  }
  static bool check_whole(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    if (rank != cells[i->a].count || !same_sizes(sizes, cells[i->a].ints, rank)) return false;
    return next(i, cells, sizes, rank, run);
  }
  static bool check_splice(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    if (!same_sizes(sizes + i->axis, cells[i->a].ints, cells[i->a].count)) return false;
    return next(i, cells, sizes, rank, run);
  }

  // ---- Ints
  // ---------------------------------------------------------------------------------------------

  static bool add(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return !__builtin_add_overflow(cells[i->b].i, cells[i->c].i, &cells[i->a].i) &&
           next(i, cells, sizes, rank, run);
  }
  static bool sub(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return !__builtin_sub_overflow(cells[i->b].i, cells[i->c].i, &cells[i->a].i) &&
           next(i, cells, sizes, rank, run);
  }
  static bool mul(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return !__builtin_mul_overflow(cells[i->b].i, cells[i->c].i, &cells[i->a].i) &&
           next(i, cells, sizes, rank, run);
  }
  static bool floor_div_cells(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return floor_div(cells[i->b].i, cells[i->c].i, cells[i->a].i) &&
           next(i, cells, sizes, rank, run);
  }
  static bool mod_cells(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return floor_mod(cells[i->b].i, cells[i->c].i, cells[i->a].i) &&
           next(i, cells, sizes, rank, run);
  }
  static bool add_imm(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return !__builtin_add_overflow(cells[i->b].i, i->imm, &cells[i->a].i) &&
           next(i, cells, sizes, rank, run);
  }
  static bool mul_imm(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return !__builtin_mul_overflow(cells[i->b].i, i->imm, &cells[i->a].i) &&
           next(i, cells, sizes, rank, run);
  }
  static bool floor_div_imm(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return floor_div(cells[i->b].i, i->imm, cells[i->a].i) && next(i, cells, sizes, rank, run);
  }
  static bool mod_imm(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return floor_mod(cells[i->b].i, i->imm, cells[i->a].i) && next(i, cells, sizes, rank, run);
  }
  static bool length(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    cells[i->a].i = cells[i->b].count;
    return next(i, cells, sizes, rank, run);
  }
  static bool item(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    if (i->c >= cells[i->b].count) return false;
    cells[i->a].i = cells[i->b].ints[i->c];
    return next(i, cells, sizes, rank, run);
  }
  [[gnu::noinline]] static bool evaluated(At i, Cell* cells, Run* run) {
    Cell value;
    if (!run->evaluate_cell(i->imm, value)) return false;
    if (i->axis != 0 && value.tag == Tag::kStr) {
      const auto dtype = dtype_from_name(value.str());
      if (!dtype) return false;
      value = Cell::dtype_of(*dtype);
    }
    cells[i->a].i = value.i;
    return value.tag == (i->axis != 0 ? Tag::kDType : Tag::kInt);
  }
  static bool evaluate_int(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return evaluated(i, cells, run) && next(i, cells, sizes, rank, run);
  }
  static bool move(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    cells[i->a] = cells[i->b];
    return next(i, cells, sizes, rank, run);
  }

  // ---- Jumps
  // --------------------------------------------------------------------------------------------

  static bool jump_compare(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return jump(compare(i->axis, cells[i->a].i, cells[i->b].i), i, cells, sizes, rank, run);
  }
  static bool jump_compare_imm(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return jump(compare(i->axis, cells[i->a].i, i->imm), i, cells, sizes, rank, run);
  }
  static bool jump_divides(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    const std::int64_t a = cells[i->a].i;
    const std::int64_t b = cells[i->b].i;
    if (b == 0) return false;
    // Extents are small and positive: the short division is several times as fast.
    const bool small = ((a | b) >> 32) == 0;
    const bool divides = small ? static_cast<std::uint32_t>(a) % static_cast<std::uint32_t>(b) == 0
                               : b == -1 || a % b == 0;
    return jump(divides == (i->axis == 0), i, cells, sizes, rank, run);
  }
  static bool jump_divides_imm(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return jump((cells[i->a].i % i->imm == 0) == (i->axis == 0), i, cells, sizes, rank, run);
  }
  static bool jump_bits(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return jump(((cells[i->a].i & i->imm) == 0) == (i->axis == 0), i, cells, sizes, rank, run);
  }
  static bool jump_in(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return jump(((i->imm >> cells[i->a].i) & 1) != i->axis, i, cells, sizes, rank, run);
  }
  static bool jump_in_cell(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return jump(((cells[i->b].i >> cells[i->a].i) & 1) != i->axis, i, cells, sizes, rank, run);
  }
  /// 0 or 1; -1 where the condition has no value.
  [[gnu::noinline]] static int condition(At i, Run* run) {
    Cell value;
    if (!run->evaluate_cell(i->imm, value) || value.tag != Tag::kBool) return -1;
    return static_cast<int>(value.i);
  }
  static bool jump_evaluate(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    const int value = condition(i, run);
    return value >= 0 && jump(value == i->axis, i, cells, sizes, rank, run);
  }
  static bool jump_always(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return jump(true, i, cells, sizes, rank, run);
  }
  static bool step(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return run->walk(i->imm) && next(i, cells, sizes, rank, run);
  }

  // ---- Outputs
  // ------------------------------------------------------------------------------------------

  static void begin_output(At i, Run* run, DType dtype) {
    run->spec = &run->frame.outputs[i->a];
    run->spec->dtype = dtype;
    run->out = run->spec->shape.data();
    run->out_rank = 0;
  }
  static bool out_begin(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    begin_output(i, run, cells[i->b].dtype());
    return next(i, cells, sizes, rank, run);
  }
  static bool out_begin_imm(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    begin_output(i, run, static_cast<DType>(i->imm));
    return next(i, cells, sizes, rank, run);
  }
  static bool out_dim(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return run->append(&cells[i->b].i, 1) && next(i, cells, sizes, rank, run);
  }
  static bool out_dims(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    auto ids = static_cast<std::uint64_t>(i->imm);
    if (run->out_rank + i->b > kMaxRank) return false;
    std::int64_t* out = run->out + run->out_rank;
    std::int64_t signs = 0;
    for (unsigned k = 0; k < i->b; ++k, ids >>= 16) {
      out[k] = cells[ids & 0xffffu].i;
      signs |= out[k];
    }
    run->out_rank += i->b;
    return signs >= 0 && next(i, cells, sizes, rank, run);
  }
  static bool out_imm(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return run->append(&i->imm, 1) && next(i, cells, sizes, rank, run);
  }
  static bool out_splice(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return run->append(cells[i->b].ints, cells[i->b].count) && next(i, cells, sizes, rank, run);
  }
  static bool out_broadcast(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    const Cell& a = cells[i->b];
    const Cell& b = cells[i->c];
    std::uint32_t added = 0;
    std::uint32_t axis = 0;
    if (run->out_rank + std::max(a.count, b.count) > kMaxRank ||
        !broadcast_pair(
            {a.ints, a.count}, {b.ints, b.count}, run->out + run->out_rank, added, axis)) {
      return false;
    }
    run->out_rank += added;
    return next(i, cells, sizes, rank, run);
  }
  [[gnu::noinline]] static bool append_evaluated(At i, Run* run) {
    Cell value;
    if (!run->evaluate_cell(i->imm, value)) return false;
    if (value.tag == Tag::kList && value.count == 0) return true;
    return value.tag == Tag::kInts && run->append(value.ints, value.count);
  }
  static bool out_evaluate(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return append_evaluated(i, run) && next(i, cells, sizes, rank, run);
  }
  static bool out_end(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return run->end_output() && next(i, cells, sizes, rank, run);
  }
  static bool done(At, Cell*, Extents, std::size_t, Run* run) { return run->finish(); }
};

// In the order of Code.
const std::array<Plan::Instructions::Handler, static_cast<std::size_t>(Code::kDone) + 1>
    Plan::Instructions::kTable{tensor_bind,
                               tensor_same,
                               tensor_const,
                               tensor_cpu,
                               reload,
                               contiguous,
                               bind_front,
                               bind_back,
                               check_front,
                               check_back,
                               check_front_imm,
                               check_back_imm,
                               axes,
                               bind_scaled_front,
                               bind_scaled_back,
                               rank_is,
                               bind_splice,
                               bind_prefix,
                               check_whole,
                               check_splice,
                               add,
                               sub,
                               mul,
                               floor_div_cells,
                               mod_cells,
                               add_imm,
                               mul_imm,
                               floor_div_imm,
                               mod_imm,
                               length,
                               item,
                               evaluate_int,
                               move,
                               jump_compare,
                               jump_compare_imm,
                               jump_divides,
                               jump_divides_imm,
                               jump_bits,
                               jump_in,
                               jump_in_cell,
                               jump_evaluate,
                               jump_always,
                               step,
                               out_begin,
                               out_begin_imm,
                               out_dim,
                               out_dims,
                               out_imm,
                               out_splice,
                               out_broadcast,
                               out_evaluate,
                               out_end,
                               done};

bool Plan::run(const Instance& instance, const CallArgs& args, Frame& frame, State& state) const {
  Run run{*this, instance, args, frame, state, {}};
  const Instruction* first = state.entry->program.code.data();
  return Instructions::kTable[static_cast<std::size_t>(first->code)](
      first, state.cells.data(), nullptr, 0, &run);
}

}  // namespace tenon::signature
