// Instructions on tensors, axes and outputs, and the table of all of them.
#include "signature/run.hpp"

#include <algorithm>
#include <bit>

#include "signature/walker.hpp"
#include "tenon/core/signature/primitives.hpp"
#include "values/tensor_bytes.hpp"

namespace tenon::signature {

bool Plan::Run::end_output() {
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

[[gnu::noinline]] bool Plan::Run::addressable() const {
  return detail::can_be_addressed(spec->dtype, spec->shape);
}

[[gnu::noinline]] bool Plan::Run::walk(std::int64_t step) const {
  return Walker(plan->data_, *instance, *args, *frame, *state, nullptr)
      .run_step(*state->entry, state->entry->branch.steps[static_cast<std::size_t>(step)]);
}

namespace {

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

}  // namespace

struct Plan::Instructions : Plan::Machine {
  // ---- Tensors
  // ------------------------------------------------------------------------------------------

  /// Makes the input current: present, of the rank, on the device of the call. Null where it is
  /// not.
  static const TensorView* begin(At i, Run* run) {
    const TensorArg& arg = run->args->inputs[i->a];
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
    const TensorArg& arg = run->args->inputs[i->a];
    if (arg.items == nullptr) return false;
    const TensorView& view = **arg.items;
    const std::size_t rank = view.shape.size();
    if ((i->axis != 0 ? rank != i->c : rank < i->c) || !(view.device.kind == DeviceKind()))
      return false;
    return next(i, cells, view.shape.data(), rank, run);
  }
  static bool dtype_bind(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    const DType dtype = (*run->args->inputs[i->a].items)->dtype;
    if (((static_cast<std::uint64_t>(i->imm) >> static_cast<unsigned>(dtype)) & 1u) == 0)
      return false;
    cells[i->b].i = static_cast<std::int64_t>(dtype);
    return next(i, cells, sizes, rank, run);
  }
  static bool dtype_same(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return cells[i->b].dtype() == (*run->args->inputs[i->a].items)->dtype &&
           next(i, cells, sizes, rank, run);
  }
  static bool reload(At i, Cell* cells, Extents, std::size_t, Run* run) {
    const TensorView& view = **run->args->inputs[i->a].items;
    return next(i, cells, view.shape.data(), view.shape.size(), run);
  }
  static bool construction(At i, Cell* cells, Extents, std::size_t, Run* run) {
    const auto& tensor = run->instance->tensors()[i->a];
    if (!tensor || tensor->shape().size() != i->c) return false;
    return next(i, cells, tensor->shape().data(), i->c, run);
  }
  static bool contiguous(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    if (!(*run->args->inputs[i->a].items)->is_dense()) return false;
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
    if (i->c + 1u == 1u << i->b) {
      for (unsigned k = 0; k < i->b; ++k, ids >>= 16)
        difference |= cells[ids & 0xffffu].i ^ from[k];
      return difference == 0 && next(i, cells, sizes, rank, run);
    }
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

  // ---- Outputs
  // ------------------------------------------------------------------------------------------

  static void begin_output(At i, Run* run, DType dtype) {
    run->spec = &run->frame->outputs[i->a];
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
  static bool step(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return run->walk(i->imm) && next(i, cells, sizes, rank, run);
  }
  static bool out_end(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
    return run->end_output() && next(i, cells, sizes, rank, run);
  }
  static bool done(At, Cell*, Extents, std::size_t, Run* run) { return run->finish(); }
};

// In the order of Code.
const std::array<Plan::Machine::Handler, static_cast<std::size_t>(Code::kDone) + 1>
    Plan::Machine::kTable{Instructions::tensor_bind,
                          Instructions::tensor_same,
                          Instructions::tensor_const,
                          Instructions::tensor_cpu,
                          Instructions::dtype_bind,
                          Instructions::dtype_same,
                          Instructions::reload,
                          Instructions::construction,
                          Instructions::contiguous,
                          Instructions::bind_front,
                          Instructions::bind_back,
                          Instructions::check_front,
                          Instructions::check_back,
                          Instructions::check_front_imm,
                          Instructions::check_back_imm,
                          Instructions::axes,
                          Instructions::bind_scaled_front,
                          Instructions::bind_scaled_back,
                          Instructions::rank_is,
                          Instructions::bind_splice,
                          Instructions::bind_prefix,
                          Instructions::check_whole,
                          Instructions::check_splice,
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
                          product,
                          move,
                          arithmetic_cells,
                          negate_cell,
                          truth,
                          primitive,
                          tuple,
                          subscript_cell,
                          slice_cell,
                          payload,
                          kind,
                          field,
                          each,
                          end,
                          to_dtype,
                          expect_int,
                          expect_ints,
                          jump_compare,
                          jump_compare_imm,
                          jump_divides,
                          jump_divides_imm,
                          jump_bits,
                          jump_in,
                          jump_in_cell,
                          jump_truth,
                          jump_relation,
                          jump_always,
                          Instructions::step,
                          Instructions::out_begin,
                          Instructions::out_begin_imm,
                          Instructions::out_dim,
                          Instructions::out_dims,
                          Instructions::out_imm,
                          Instructions::out_splice,
                          Instructions::out_broadcast,
                          Instructions::out_end,
                          Instructions::done};

bool Plan::run(const Instance& instance, const CallArgs& args, Frame& frame, State& state) const {
  const BranchEntry& entry = *state.entry;
  Run run{entry.program.code.data(),
          &entry.branch.pool,
          &frame.env,
          this,
          &instance,
          &args,
          &frame,
          &state,
          {}};
  return Machine::start(run.code, state.cells.data(), nullptr, 0, &run);
}

}  // namespace tenon::signature
