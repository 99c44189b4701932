// What is told about a call: why it failed, its indices, its traffic, its cost. Allocates freely.
#include <algorithm>

#include <fmt/format.h>

#include "signature/plan.hpp"
#include "signature/walker.hpp"
#include "tenon/core/nearest.hpp"
#include "tenon/core/roofline.hpp"

namespace tenon::signature {
namespace {

constexpr char kOutIsInput[] = "'out' is an input here: pass it with the others";

}  // namespace

Error Plan::presence_failure(const CallArgs& args,
                             const BranchEntry& entry,
                             std::uint64_t mask) const {
  for (std::size_t bit = 0; bit < optional_inputs_.size(); ++bit) {
    const bool given = ((mask >> bit) & 1u) != 0;
    const bool wanted = ((entry.expected_mask >> bit) & 1u) != 0;
    if (given == wanted) continue;
    const TensorDecl& decl = decl_.inputs[optional_inputs_[bit]];
    return Error(ErrorCode::kSignatureMismatch,
                 fmt::format("{} is {}, but it is present exactly when {}",
                             decl.name,
                             given ? "given" : "absent",
                             decl.optional_text))
        .with_where(decl.where.to_string())
        .with("argument", decl.name);
  }
  (void)args;
  Error error(ErrorCode::kSignatureMismatch,
              fmt::format("{} takes no out: no output is declared buffer: out", decl_.name));
  if (decl_.input_index("out")) error.with_hint(kOutIsInput);
  return std::move(error).with_where(decl_.where.to_string()).with("argument", "out");
}

Error Plan::failure(const Construction& construction,
                    const CallArgs& args,
                    const CallFrame&) const {
  const auto& instance = static_cast<const Instance&>(construction);
  if (args.inputs.size() != decl_.inputs.size()) {
    return Error(ErrorCode::kSignatureMismatch,
                 fmt::format("{} takes {} inputs, not {}",
                             decl_.name,
                             decl_.inputs.size(),
                             args.inputs.size()))
        .with_where(decl_.where.to_string());
  }
  for (std::size_t i = 0; i < decl_.inputs.size(); ++i) {
    if (decl_.inputs[i].optional != When::kNever || args.inputs[i].present()) continue;
    Error error(ErrorCode::kSignatureMismatch,
                fmt::format("{} needs its input '{}' ({})",
                            decl_.name,
                            decl_.inputs[i].name,
                            decl_.inputs[i].shape_text));
    if (args.out != nullptr && decl_.inputs[i].name == "out") error.with_hint(kOutIsInput);
    return std::move(error)
        .with_where(decl_.inputs[i].where.to_string())
        .with("argument", decl_.inputs[i].name);
  }
  const std::uint64_t mask = mask_of(args);
  const BranchEntry& entry = branch_for(*instance.prefix, mask & deciding_bits_);
  if (entry.branch.rejected_by) {
    const TextExpr& source = data_.refinements[*entry.branch.rejected_by];
    return Error(ErrorCode::kSignatureMismatch,
                 fmt::format("'{}' does not hold for the inputs that are present", source.text))
        .with_where(source.where.to_string())
        .with("refinement", source.text);
  }
  if (entry.branch.error)
    return Error(ErrorCode::kInternal, entry.branch.error->text)
        .with_where(decl_.where.to_string());
  if (entry.expected_mask != mask) return presence_failure(args, entry, mask);
  const std::unique_ptr<CallFrame> own = make_frame();
  auto& frame = static_cast<Frame&>(*own);
  std::copy(entry.outputs.begin(), entry.outputs.end(), frame.outputs.begin());
  State state;
  state.entry = &entry;
  state.cells = instance.cells;
  state.shapes.resize(shape_count_ * kMaxRank);
  Error error(ErrorCode::kInternal, "the call passes every check");
  Walker(data_, instance, args, frame, state, &error).run(entry);
  return error;
}

/// The cells of a call, unset where neither construction nor the branch solves an index: one that
/// only generators read, of which a call knows nothing.
std::vector<Cell> Plan::solved_cells(const Instance& instance, const Frame& frame) const {
  std::vector<bool> solved = instance.prefix->prefix.known;
  solved.resize(data_.symbols.size(), false);
  for (const Step& step : frame.state->entry->branch.steps) {
    const bool binds = step.kind == StepKind::kBindDim || step.kind == StepKind::kBindAffine ||
                       step.kind == StepKind::kBindSplice || step.binds_dtype;
    if (binds) solved[step.target] = true;
    for (const std::uint32_t target : step.targets) solved[target] = true;
  }
  std::vector<Cell> cells = frame.state->cells;
  for (std::uint32_t i = 0; i < data_.first_param; ++i) {
    if (!solved[i]) cells[i] = Cell();
  }
  return cells;
}

std::vector<NamedValue> Plan::indices(const Construction& construction,
                                      const CallFrame& call_frame) const {
  const auto& frame = static_cast<const Frame&>(call_frame);
  const BranchEntry& entry = *frame.state->entry;
  const std::vector<Cell> cells = solved_cells(static_cast<const Instance&>(construction), frame);
  std::vector<NamedValue> all;
  // A let is told where it was evaluated, or where the call's fields reach it and it has a value.
  for (std::uint32_t i = 0; i < data_.first_param; ++i) {
    const Symbol& s = data_.symbols[i];
    if (cells[i].tag != Tag::kUnset && s.kind != SymbolKind::kSeqInt)
      all.emplace_back(s.name, value_of(cells[i]));
  }
  Pool pool;
  Arena arena;
  Folder folder(data_, entry.branch.facts, pool);
  folder.inline_lets(unsolved_lets(entry));
  for (std::uint32_t i = 0; i < data_.lets.size(); ++i) {
    const Expr e = folder.fold(data_.lets[i].root);
    folder.forget_error();
    if (e == kNoExpr) continue;
    Env env;
    env.pool = &pool;
    env.symbols = cells;
    env.presence = entry.branch.facts.presence;
    env.arena = &arena;
    Cell cell;
    if (evaluate(env, e, cell))
      all.emplace_back(data_.symbols[data_.first_let + i].name, value_of(cell));
  }
  return all;
}

namespace {

std::uint64_t bytes_of(std::span<const std::int64_t> shape, DType dtype) {
  const auto elements = static_cast<std::uint64_t>(element_count(shape).value_or(0));
  return (elements * info_of(dtype).bits + 7) / 8;
}

std::uint64_t bytes_of(const TensorArg& arg) {
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < arg.count; ++i)
    total += bytes_of(arg.items[i]->shape, arg.items[i]->dtype);
  return total;
}

}  // namespace

Plan::Sizes Plan::tensor_sizes(const Instance& instance,
                               const CallArgs& args,
                               const Frame& frame) const {
  Sizes sizes;
  sizes.bytes.assign(data_.symbols.size(), -1);
  for (std::uint32_t i = 0; i < decl_.construction_tensors.size(); ++i) {
    const auto& tensor = instance.tensors()[i];
    if (tensor)
      sizes.bytes[data_.first_construction + i] =
          static_cast<std::int64_t>(bytes_of(tensor->shape(), tensor->dtype()));
  }
  for (std::uint32_t i = 0; i < decl_.inputs.size(); ++i) {
    if (args.inputs[i].present())
      sizes.bytes[data_.first_input + i] = static_cast<std::int64_t>(bytes_of(args.inputs[i]));
  }
  std::size_t from_lists = 0;
  for (std::uint32_t i = 0; i < frame.outputs.size(); ++i) {
    const OutputSpec& spec = frame.outputs[i];
    if (!spec.present) continue;
    std::uint64_t bytes = decl_.outputs[i].list ? 0 : bytes_of(spec.shape, spec.dtype);
    for (std::uint32_t k = 0; decl_.outputs[i].list && k < spec.list_count; ++k) {
      const OutputSpec& one = frame.list_outputs[from_lists++];
      bytes += bytes_of(one.shape, one.dtype);
    }
    sizes.bytes[data_.first_output + i] = static_cast<std::int64_t>(bytes);
  }
  return sizes;
}

std::vector<Traffic> Plan::traffic(const Construction& construction,
                                   const CallArgs& args,
                                   const CallFrame& call_frame) const {
  const auto& frame = static_cast<const Frame&>(call_frame);
  const Sizes sizes = tensor_sizes(static_cast<const Instance&>(construction), args, frame);
  std::vector<Traffic> all;
  for (std::uint32_t s = data_.first_construction; s < data_.out_symbol; ++s) {
    if (sizes.bytes[s] < 0) continue;
    const auto bytes = static_cast<std::uint64_t>(sizes.bytes[s]);
    const Symbol& symbol = data_.symbols[s];
    const TensorDecl& decl = tensor_decl(data_, s);
    Traffic one{symbol.name, 0, 0};
    if (symbol.kind == SymbolKind::kOutput) {
      if (frame.outputs[symbol.ordinal].alias_input >= 0)
        continue;  // the input's storage, already counted
      one.written_bytes = bytes;
    } else {
      const bool written =
          symbol.kind == SymbolKind::kInput && frame.written_inputs[symbol.ordinal];
      one.read_bytes = decl.write_only && written ? 0 : bytes;
      one.written_bytes = written ? bytes : 0;
    }
    all.push_back(std::move(one));
  }
  return all;
}

Result<Cost> Plan::cost(const Construction& construction,
                        const CallArgs& args,
                        const CallFrame& call_frame) const {
  const auto& frame = static_cast<const Frame&>(call_frame);
  const BranchEntry& entry = *frame.state->entry;
  if (!data_.roofline_func.empty()) {
    const RooflineFunction* function = find_roofline(data_.roofline_func);
    if (function != nullptr)
      return (*function)(roofline_call(static_cast<const Instance&>(construction), args, frame));
    return fail(
        Error(ErrorCode::kOpNotAvailable,
              fmt::format("the roofline of {} is the function '{}', which this build does not have",
                          decl_.name,
                          data_.roofline_func)));
  }
  if (!data_.flops.given())
    return fail(ErrorCode::kOpNotAvailable, fmt::format("{} declares no roofline", decl_.name));
  const Sizes sizes = tensor_sizes(static_cast<const Instance&>(construction), args, frame);
  Pool pool;
  Arena arena;
  Folder folder(data_, entry.branch.facts, pool);
  folder.inline_lets(unsolved_lets(entry));
  const auto number = [&](const TextExpr& source) -> Result<double> {
    const auto bad = [&](const std::string& why) {
      return fail(
          Error(ErrorCode::kInternal, fmt::format("'{}' has no value: {}", source.text, why))
              .with_where(source.where.to_string()));
    };
    const Expr e = folder.fold(source.root);
    if (e == kNoExpr) return bad(folder.error().text);
    std::string text;
    Env env;
    env.pool = &pool;
    env.symbols = frame.state->cells;
    env.presence = entry.branch.facts.presence;
    env.arena = &arena;
    env.error = &text;
    env.tensor_bytes = sizes.bytes;
    env.symbol_names = data_.symbol_names;
    Cell cell;
    if (!evaluate(env, e, cell)) return bad(text);
    if (cell.tag == Tag::kInt) return static_cast<double>(cell.i);
    if (cell.tag == Tag::kFloat) return cell.f;
    return bad(fmt::format("{} is no number", print(cell)));
  };
  Cost cost;
  TENON_TRY_ASSIGN(cost.flops, number(data_.flops));
  if (data_.bytes.given()) {
    TENON_TRY_ASSIGN(cost.bytes, number(data_.bytes));
    return cost;
  }
  for (const Traffic& t : traffic(construction, args, frame))
    cost.bytes += static_cast<double>(t.read_bytes + t.written_bytes);
  return cost;
}

}  // namespace tenon::signature
