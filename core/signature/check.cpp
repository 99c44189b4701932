// The check of a call: presences select the branch, its program runs. Nothing here allocates on a
// hit, or locks.
#include <algorithm>

#include "signature/plan.hpp"
#include "signature/walker.hpp"

namespace tenon::signature {

bool Plan::check(const Construction& construction,
                 const CallArgs& args,
                 CallFrame& call_frame) const {
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
    if (entry.expected_mask != mask || entry.branch.rejected_by || entry.branch.error)
      return nullptr;
    frame.states.push_back(std::make_unique<State>());
    found = frame.states.back().get();
    found->entry = &entry;
    found->mask = mask;
    fill(instance, *found);
  }
  std::copy(found->entry->outputs.begin(), found->entry->outputs.end(), frame.outputs.begin());
  std::copy(
      found->entry->written.begin(), found->entry->written.end(), frame.written_inputs.begin());
  frame.branch = found->entry->effect;
  frame.state = found;
  return found;
}

namespace {

/// The dtypes for which a condition on one of them holds, as bits.
std::int64_t dtype_mask(const DTypeSet& dtypes, const Hoist& hoist, Env& env, State& state) {
  std::int64_t mask = 0;
  const Cell kept = state.cells[hoist.dtype_symbol];
  for (const DType d : all_dtypes()) {
    if (!dtypes.contains(d)) continue;
    bool holds = false;
    state.cells[hoist.dtype_symbol] = Cell::dtype_of(d);
    if (evaluate_bool(env, hoist.expr, holds) && holds)
      mask |= std::int64_t{1} << static_cast<unsigned>(d);
  }
  state.cells[hoist.dtype_symbol] = kept;
  return mask;
}

}  // namespace

/// Everything about a state that no call changes.
void Plan::fill(const Instance& instance, State& state) const {
  const Program& program = state.entry->program;
  state.cells = instance.cells;
  state.cells.resize(std::max<std::size_t>(state.entry->cell_count, state.cells.size()));
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
  for (std::size_t i = data_.symbols.size(); i < state.cells.size(); ++i)
    state.cells[i] = Cell::integer(0);
  Env env;
  env.pool = &state.entry->branch.pool;
  env.arena = &state.hoisted;
  env.presence = state.entry->branch.facts.presence;
  env.symbols = state.cells;
  // A value that is missing may be one that nothing reads: walking tells.
  if (!state.walk) state.walk = !fill_hoists(program, env, state);
  state.calls.resize(state.entry->calls.size());
  for (std::uint32_t i = 0; i < state.calls.size(); ++i) fill_call(i, env, state);
  fill_active(env, state);
}

/// False where one of them has no value.
bool Plan::fill_hoists(const Program& program, Env& env, State& state) const {
  bool all = true;
  for (const Hoist& hoist : program.hoists) {
    Cell value;
    if (hoist.want == Hoist::Want::kDTypes) {
      const DTypeSet& dtypes = data_.symbols[hoist.dtype_symbol].dtypes;
      value = Cell::integer(dtype_mask(dtypes, hoist, env, state));
    } else if (hoist.expr != kNoExpr) {
      all = evaluate(env, hoist.expr, value) &&
            (hoist.want != Hoist::Want::kInt || value.tag == Tag::kInt) && all;
    }
    state.cells[hoist.cell] = value;
  }
  return all;
}

namespace {

/// Elements of a view that lie densely one behind the other; -1 where they do not.
std::int64_t dense_count(const TensorView& view) {
  std::int64_t expected = 1;
  bool dense = true;
  for (std::size_t i = view.shape.size(); i-- > 0;) {
    const std::int64_t size = view.shape[i];
    dense = dense && (size == 1 || view.strides[i] == expected);
    expected *= size;
  }
  return dense || expected == 0 ? expected : -1;
}

/// False where the view may share a byte with [low, high): cheap, and on the
/// safe side.
bool clear_of(const TensorView& view, std::uintptr_t low, std::uintptr_t high) {
  std::uint64_t last =
      0;  // strides of an empty view mean nothing: unsigned, so that nothing overflows
  std::int64_t signs = 0;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    last +=
        static_cast<std::uint64_t>(view.shape[i] - 1) * static_cast<std::uint64_t>(view.strides[i]);
    signs |= view.strides[i];
  }
  if (signs < 0) return false;
  const auto first = reinterpret_cast<std::uintptr_t>(view.first());
  return first >= high || first + (last + 1) * size_bytes_of(view.dtype) <= low;
}

bool same_shape(const Dims& a, const Dims& b) {
  if (a.size() != b.size()) return false;
  std::int64_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == 0;
}

}  // namespace

/// After inference: the device, the effects.
bool Plan::finish(const Instance& instance,
                  const CallArgs& args,
                  Frame& frame,
                  State& state,
                  const Device* device,
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

bool Plan::check_out(const Instance& instance,
                     const CallArgs& args,
                     Frame& frame,
                     State& state) const {
  const TensorView& out = *args.out;
  const OutputSpec& spec = frame.outputs[static_cast<std::size_t>(buffered_output_)];
  if (!spec.present) return true;
  if (!same_shape(out.shape, spec.shape) || out.dtype != spec.dtype ||
      !(out.device == frame.device))
    return false;
  if (args.meta) return true;
  const std::int64_t count = dense_count(out);
  if (count == 0) return true;
  bool clear = count > 0;
  const auto low = reinterpret_cast<std::uintptr_t>(out.first());
  const std::uintptr_t high =
      clear ? low + static_cast<std::uintptr_t>(count) * size_bytes_of(out.dtype) : 0;
  for (const TensorArg& arg : args.inputs) {
    for (std::uint32_t k = 0; clear && k < arg.count; ++k)
      clear = clear_of(*arg.items[k], low, high);
  }
  for (const auto& tensor : instance.tensors()) {
    if (tensor) clear = clear && clear_of(tensor->view(), low, high);
  }
  if (clear) return true;
  return Walker(data_, instance, args, frame, state, nullptr)
      .run_written(
          *state.entry, out, data_.first_output + static_cast<std::uint32_t>(buffered_output_));
}

}  // namespace tenon::signature
