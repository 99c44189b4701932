// Interfaces at a call: which is active, its call spec, the shapes of its arguments. The programs
// do it; the trees are walked only where a program does not suit an instance.
#include <algorithm>

#include "signature/run.hpp"

namespace tenon::signature {
namespace {

Cell cell_of(const tenon_value& value) {
  switch (value.kind) {
    case TENON_VALUE_BOOL:
      return Cell::boolean(value.i != 0);
    case TENON_VALUE_INT:
      return Cell::integer(value.i);
    case TENON_VALUE_FLOAT:
      return Cell::real(value.f);
    case TENON_VALUE_STR:
      return Cell::string({static_cast<const char*>(value.data), value.count});
    case TENON_VALUE_INTS:
      return Cell::int_list(static_cast<const std::int64_t*>(value.data), value.count);
    case TENON_VALUE_DTYPE: {
      tenon_dtype abi{};
      abi.code = static_cast<std::uint8_t>(value.i & 0xff);
      abi.bits = static_cast<std::uint8_t>((value.i >> 8) & 0xff);
      abi.lanes = static_cast<std::uint16_t>((value.i >> 16) & 0xffff);
      const auto dtype = dtype_from_abi(abi);
      return dtype ? Cell::dtype_of(*dtype) : Cell();
    }
    default:
      return Cell::none();
  }
}

constexpr std::size_t kDTypeCount = 64;  // bits of a set of dtypes

/// Dtypes as they cross.
std::int64_t abi_number_of(DType dtype) {
  static const std::array<std::int64_t, kDTypeCount> kNumbers = [] {
    std::array<std::int64_t, kDTypeCount> numbers{};
    Arena arena;
    for (const DType d : all_dtypes())
      numbers[static_cast<std::size_t>(d)] = abi_value_of(Cell::dtype_of(d), arena).i;
    return numbers;
  }();
  return kNumbers[static_cast<std::size_t>(dtype)];
}

Env environment(const BranchEntry& entry, const State& state, Arena& arena) {
  Env env;
  env.pool = &entry.branch.pool;
  env.symbols = state.cells;
  env.presence = entry.branch.facts.presence;
  env.arena = &arena;
  return env;
}

}  // namespace

tenon_value Plan::field_value(const CallFieldDecl& field, const Cell& cell, Arena& arena) {
  if (field.kind == TENON_VALUE_FLOAT && cell.tag == Tag::kInt) {
    return abi_value_of(Cell::real(static_cast<double>(cell.i)), arena);
  }
  if (field.kind == TENON_FIELD_NUMBER && cell.tag == Tag::kBool) {
    // A Number takes a bool; what crosses is an int or a float.
    return abi_value_of(Cell::integer(cell.i), arena);
  }
  if (field.kind == TENON_VALUE_DTYPE && cell.tag == Tag::kStr) {
    if (const auto dtype = dtype_from_name(cell.str()))
      return abi_value_of(Cell::dtype_of(*dtype), arena);
  }
  if (field.kind == TENON_VALUE_LIST && cell.tag == Tag::kInts) {
    Cell* items = arena.cells(cell.count);
    for (std::uint32_t i = 0; i < cell.count; ++i) items[i] = cell.item(i);
    return abi_value_of(Cell::list(items, cell.count), arena);
  }
  return abi_value_of(cell, arena);
}

// ---- What no call changes
// ---------------------------------------------------------------------------

/// The constants of an interface's call spec.
void Plan::fill_call(std::uint32_t interface, Env& env, State& state) const {
  const CallProgram& program = state.entry->calls[interface];
  const std::vector<CallFieldDecl>& decls = decl_.interfaces[interface].fields;
  State::CallState& call = state.calls[interface];
  call.fields.resize(decls.size());
  call.walk = !program.program.compiled || !fill_hoists(program.program, env, state);
  for (const FieldSlot& slot : program.constants) {
    Cell cell;
    if (!evaluate(env, slot.expr, cell)) {
      call.walk = true;
      continue;
    }
    call.fields[slot.field] = field_value(decls[slot.field], cell, state.hoisted);
  }
  for (const FieldSlot& slot : program.slots) {
    tenon_value& value = call.fields[slot.field];
    if (slot.from == FieldSlot::From::kInt) value.kind = TENON_VALUE_INT;
    if (slot.from == FieldSlot::From::kDType) value.kind = TENON_VALUE_DTYPE;
  }
}

/// The interface of each step: presences have decided most of them, payloads of parameters the
/// rest.
void Plan::fill_active(Env& env, State& state) const {
  const BranchEntry& entry = *state.entry;
  state.active = entry.active;
  for (std::uint32_t step = 0; step < entry.active.size(); ++step) {
    if (entry.active[step] != -2) continue;
    state.active[step] = -1;
    for (std::uint32_t i = 0; i < entry.conditions.size() && state.active[step] < 0; ++i) {
      if (decl_.interfaces[i].step != step) continue;
      bool holds = entry.conditions[i] == kNoExpr;
      if (holds || (evaluate_bool(env, entry.conditions[i], holds) && holds))
        state.active[step] = static_cast<std::int32_t>(i);
    }
  }
}

std::size_t Plan::walked_parts(const CallFrame& call_frame) const {
  const State& state = *static_cast<const Frame&>(call_frame).state;
  const auto& code = state.entry->program.code;
  std::size_t count = state.walk ? 1 : 0;
  count += static_cast<std::size_t>(std::count_if(
      code.begin(), code.end(), [](const Instruction& i) { return i.code == Code::kStep; }));
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    count += state.calls[i].walk ? 1 : 0;
    for (const ShapeProgram& shape : shapes_[i]) count += shape.program.compiled ? 0 : 1;
  }
  return count;
}

// ---- Calls
// ------------------------------------------------------------------------------------------

std::optional<std::uint32_t> Plan::active_interface(std::uint32_t step,
                                                    const Construction&,
                                                    const CallFrame& call_frame) const {
  const State& state = *static_cast<const Frame&>(call_frame).state;
  if (step >= state.active.size() || state.active[step] < 0) return std::nullopt;
  return static_cast<std::uint32_t>(state.active[step]);
}

bool Plan::eval_call(std::uint32_t interface,
                     const Construction&,
                     const CallArgs&,
                     CallFrame& call_frame,
                     std::span<const tenon_value> flow_values,
                     std::span<tenon_value> fields) const {
  auto& frame = static_cast<Frame&>(call_frame);
  State& state = *frame.state;
  const CallProgram& program = state.entry->calls[interface];
  const State::CallState& call = state.calls[interface];
  if (call.walk || fields.size() != call.fields.size())
    return walk_call(interface, frame, flow_values, fields);
  std::copy(call.fields.begin(), call.fields.end(), fields.begin());
  if (!program.program.code.empty()) {
    Run run;
    run.code = program.program.code.data();
    run.pool = &state.entry->branch.pool;
    run.env = &frame.env;
    if (!Machine::start(run.code, state.cells.data(), nullptr, 0, &run)) return false;
  }
  std::size_t flow = 0;
  for (const FieldSlot& slot : program.slots) {
    tenon_value& value = fields[slot.field];
    switch (slot.from) {
      case FieldSlot::From::kInt:
        value.i = state.cells[slot.cell].i;
        break;
      case FieldSlot::From::kDType:
        value.i = abi_number_of(state.cells[slot.cell].dtype());
        break;
      case FieldSlot::From::kFlow:
        if (flow >= flow_values.size()) return false;
        value = flow_values[flow++];
        break;
      default:
        value = field_value(
            decl_.interfaces[interface].fields[slot.field], state.cells[slot.cell], frame.arena);
    }
  }
  return true;
}

bool Plan::walk_call(std::uint32_t interface,
                     CallFrame& call_frame,
                     std::span<const tenon_value> flow_values,
                     std::span<tenon_value> fields) const {
  auto& frame = static_cast<Frame&>(call_frame);
  const BranchEntry& entry = *frame.state->entry;
  Env env = environment(entry, *frame.state, frame.arena);
  std::size_t flow = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Expr e = entry.fields[interface][i];
    if (e == kNoExpr) {
      if (!decl_.interfaces[interface].fields[i].from_flow || flow >= flow_values.size())
        return false;
      fields[i] = flow_values[flow++];
      continue;
    }
    Cell cell;
    if (!evaluate(env, e, cell)) return false;
    fields[i] = field_value(decl_.interfaces[interface].fields[i], cell, frame.arena);
  }
  return true;
}

namespace {

/// Appends an axis, or several.
bool append(const ShapeItem& item,
            std::span<const tenon_value> fields,
            const Cell* cells,
            Dims& shape) {
  const std::int64_t* from = &item.value;
  std::size_t count = 1;
  switch (item.from) {
    case ShapeItem::From::kField:
      if (fields[item.index].kind != TENON_VALUE_INT) return false;
      from = &fields[item.index].i;
      break;
    case ShapeItem::From::kFieldSplice:
      if (fields[item.index].kind != TENON_VALUE_INTS) return false;
      from = static_cast<const std::int64_t*>(fields[item.index].data);
      count = fields[item.index].count;
      break;
    case ShapeItem::From::kConstant:
      break;
    case ShapeItem::From::kCell:
      if (cells == nullptr || cells[item.index].tag != Tag::kInt) return false;
      from = &cells[item.index].i;
      break;
    case ShapeItem::From::kCellSplice:
      if (cells == nullptr || cells[item.index].tag != Tag::kInts) return false;
      from = cells[item.index].ints;
      count = cells[item.index].count;
      break;
  }
  if (shape.size() + count > kMaxRank) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (from[i] < 0) return false;
    shape.push_back(from[i]);
  }
  return true;
}

/// The cells that the program of a shape starts with; null where a field is not what it should be.
Cell* shape_cells(const ShapeProgram& program,
                  std::uint32_t element,
                  std::span<const tenon_value> fields,
                  Arena& arena) {
  Cell* cells = arena.cells(program.cells.size());
  std::copy(program.cells.begin(), program.cells.end(), cells);
  for (const ShapeProgram::Load& load : program.loads) {
    Cell& cell = cells[load.field];
    cell = load.field < fields.size() ? cell_of(fields[load.field]) : Cell::integer(element);
    if (load.is_int && cell.tag != Tag::kInt) return nullptr;
  }
  return cells;
}

}  // namespace

bool Plan::eval_arg_shape(std::uint32_t interface,
                          std::uint32_t arg,
                          std::uint32_t element,
                          CallFrame& call_frame,
                          std::span<const tenon_value> fields,
                          Dims& shape) const {
  auto& frame = static_cast<Frame&>(call_frame);
  const ShapeProgram& program = shapes_[interface][arg];
  if (!program.program.compiled || fields.size() != decl_.interfaces[interface].fields.size())
    return walk_shape(interface, arg, element, frame, fields, shape);
  Cell* cells = nullptr;
  if (!program.program.code.empty() || !program.loads.empty()) {
    cells = shape_cells(program, element, fields, frame.arena);
    if (cells == nullptr) return false;
  }
  if (!program.program.code.empty()) {
    Run run;
    run.code = program.program.code.data();
    run.pool = &data_.pool;
    run.env = &frame.env;
    if (!Machine::start(run.code, cells, nullptr, 0, &run)) return false;
  }
  shape.resize(0);
  return std::all_of(program.items.begin(), program.items.end(), [&](const ShapeItem& item) {
    return append(item, fields, cells, shape);
  });
}

bool Plan::walk_shape(std::uint32_t interface,
                      std::uint32_t arg,
                      std::uint32_t element,
                      Frame& frame,
                      std::span<const tenon_value> fields,
                      Dims& shape) const {
  const TextExpr& term = data_.interfaces[interface].args[arg].shape;
  Cell* formals = frame.arena.cells(fields.size() + 1);
  for (std::size_t i = 0; i < fields.size(); ++i) formals[i] = cell_of(fields[i]);
  formals[fields.size()] = Cell::integer(element);
  Env env;
  env.pool = &data_.pool;
  env.formals = {formals, fields.size() + 1};
  env.arena = &frame.arena;
  Cell cell;
  if (!evaluate(env, term.root, cell) || cell.count > kMaxRank) return false;
  shape.resize(0);
  for (std::uint32_t i = 0; i < cell.count; ++i) {
    if (cell.ints[i] < 0) return false;
    shape.push_back(cell.ints[i]);
  }
  return true;
}

namespace {

std::optional<DType> dtype_of(Expr term, const BranchEntry& entry, const State& state) {
  if (term == kNoExpr) return std::nullopt;
  Arena arena;
  Env env = environment(entry, state, arena);
  Cell cell;
  if (!evaluate(env, term, cell)) return std::nullopt;
  if (cell.tag == Tag::kDType) return cell.dtype();
  return cell.tag == Tag::kStr ? dtype_from_name(cell.str()) : std::nullopt;
}

}  // namespace

std::optional<DType> Plan::temporary_dtype(std::uint32_t interface,
                                           std::uint32_t arg,
                                           const Construction&,
                                           const CallFrame& call_frame) const {
  const State& state = *static_cast<const Frame&>(call_frame).state;
  return dtype_of(state.entry->temporary_dtypes[interface][arg], *state.entry, state);
}

std::optional<DType> Plan::construction_dtype(std::uint32_t tensor,
                                              const CallFrame& call_frame) const {
  const State& state = *static_cast<const Frame&>(call_frame).state;
  return dtype_of(state.entry->branch.construction_tensors[tensor].dtype, *state.entry, state);
}

}  // namespace tenon::signature
