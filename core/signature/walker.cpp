// Walks the steps of a signature check.
#include "signature/walker.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "values/tensor_bytes.hpp"

namespace tenon::signature {

Walker::Walker(const PlanData& data,
               const Instance& instance,
               const CallArgs& args,
               Frame& frame,
               State& state,
               Error* error)
    : data_(data), instance_(instance), args_(args), frame_(frame), state_(state), error_(error) {
  env_.symbols = state.cells;
  env_.arena = &frame.arena;
  env_.symbol_names = data.symbol_names;
  if (error != nullptr) env_.error = &text_;
}

const TensorView* Walker::view_of(std::uint32_t symbol) const {
  const Symbol& s = data_.symbols[symbol];
  if (s.kind == SymbolKind::kInput) return args_.inputs[s.ordinal].single();
  const auto& tensor = instance_.tensors()[s.ordinal];
  return tensor ? &tensor->view() : nullptr;
}

bool Walker::value(Expr e, Cell& out) {
  text_.clear();
  return evaluate(env_, e, out);
}

bool Walker::width(const Element& element, std::int64_t& out) {
  if (!element.splice) {
    out = 1;
    return true;
  }
  Cell cell;
  if (!value(element.expr, cell)) return false;
  out = cell.count;
  return cell.is_sequence();
}

bool Walker::place(const Step& step, const TensorTerm& term, std::int64_t& position) {
  const std::size_t first = step.from_back ? step.element : 0;
  const std::size_t last = step.from_back ? term.elements.size() : step.element;
  std::int64_t total = 0;
  for (std::size_t i = first; i < last; ++i) {
    std::int64_t w = 0;
    if (!width(term.elements[i], w)) return no_value("shape", term.symbol);
    total += w;
  }
  position = step.from_back ? static_cast<std::int64_t>(view_of(term.symbol)->shape.size()) - total
                            : total;
  return true;
}

bool Walker::size_at(const Step& step,
                     const TensorTerm& term,
                     std::int64_t& size,
                     std::int64_t& position) {
  if (!place(step, term, position)) return false;
  const Dims& shape = view_of(term.symbol)->shape;
  if (position < 0 || position >= static_cast<std::int64_t>(shape.size())) return wrong_rank(term);
  size = shape[static_cast<std::size_t>(position)];
  return true;
}

bool Walker::rank_step(const TensorTerm& term) {
  std::int64_t total = 0;
  for (const Element& e : term.elements) {
    std::int64_t w = 0;
    if (!width(e, w)) return no_value("shape", term.symbol);
    total += w;
  }
  return total == static_cast<std::int64_t>(view_of(term.symbol)->shape.size()) || wrong_rank(term);
}

bool Walker::let_step(const Step& step) {
  Cell cell;
  if (!value(step.expr, cell)) return no_value("let", step.target);
  state_.cells[step.target] = cell;
  return true;
}

bool Walker::bind_dim(const Step& step, const TensorTerm& term) {
  std::int64_t size = 0;
  std::int64_t position = 0;
  if (!size_at(step, term, size, position)) return false;
  state_.cells[step.target] = Cell::integer(size);
  return true;
}

bool Walker::bind_affine(const Step& step, const TensorTerm& term) {
  std::int64_t size = 0;
  std::int64_t position = 0;
  if (!size_at(step, term, size, position)) return false;
  const Expr e = term.elements[step.element].expr;
  Cell at_zero;
  Cell at_one;
  state_.cells[step.target] = Cell::integer(0);
  if (!value(e, at_zero)) return no_value("axis", term.symbol);
  state_.cells[step.target] = Cell::integer(1);
  if (!value(e, at_one)) return no_value("axis", term.symbol);
  std::int64_t slope = 0;
  std::int64_t rest = 0;
  if (__builtin_sub_overflow(at_one.i, at_zero.i, &slope) ||
      __builtin_sub_overflow(size, at_zero.i, &rest) || slope <= 0) {
    return no_value("axis", term.symbol);
  }
  if (rest < 0 || rest % slope != 0) {
    state_.cells[step.target] = Cell();
    if (error_ == nullptr) return false;
    const std::string text =
        print(branch_ != nullptr ? branch_->pool : prefix_->pool, e, data_.symbol_names);
    const std::string why = rest < 0 ? fmt::format("{} would be negative", name(step.target))
                                     : fmt::format("no integer {} gives it", name(step.target));
    return mismatch(fmt::format("{} has size {} on axis {}, but {} is declared there: {}",
                                name(term.symbol),
                                size,
                                position,
                                text,
                                why),
                    term.symbol);
  }
  state_.cells[step.target] = Cell::integer(rest / slope);
  return true;
}

bool Walker::bind_splice(const Step& step, const TensorTerm& term) {
  const Dims& shape = view_of(term.symbol)->shape;
  std::int64_t before = 0;
  std::int64_t others = 0;
  for (std::size_t i = 0; i < term.elements.size(); ++i) {
    std::int64_t w = 0;
    if (i == step.element) {
      before = others;
      continue;
    }
    if (!width(term.elements[i], w)) return no_value("shape", term.symbol);
    others += w;
  }
  const std::int64_t length = static_cast<std::int64_t>(shape.size()) - others;
  if (length < 0) return wrong_rank(term);
  std::int64_t* storage = state_.shapes.data() + data_.symbols[step.target].ordinal * kMaxRank;
  std::copy_n(shape.data() + before, length, storage);
  Cell cell = Cell::int_list(storage, static_cast<std::size_t>(length));
  cell.is_tuple = true;
  state_.cells[step.target] = cell;
  return true;
}

bool Walker::check_dim(const Step& step, const TensorTerm& term) {
  std::int64_t size = 0;
  std::int64_t position = 0;
  if (!size_at(step, term, size, position)) return false;
  const Element& element = term.elements[step.element];
  Cell expected;
  if (!value(element.expr, expected) || expected.tag != Tag::kInt)
    return no_value("axis", term.symbol);
  if (expected.i == size) return true;
  if (error_ == nullptr) return false;
  return mismatch(fmt::format("{} has {}{} on axis {}, but {}",
                              name(term.symbol),
                              label_of(element.expr),
                              size,
                              position,
                              expected_size(term, element, -1, expected.i)),
                  term.symbol);
}

bool Walker::check_splice(const Step& step, const TensorTerm& term) {
  std::int64_t position = 0;
  if (!place(step, term, position)) return false;
  const Element& element = term.elements[step.element];
  Cell expected;
  if (!value(element.expr, expected)) return no_value("shape", term.symbol);
  const Dims& shape = view_of(term.symbol)->shape;
  if (position < 0 || position + expected.count > static_cast<std::int64_t>(shape.size()))
    return wrong_rank(term);
  for (std::uint32_t i = 0; i < expected.count; ++i) {
    const std::int64_t size = shape[static_cast<std::size_t>(position + i)];
    const Cell item = expected.item(i);
    if (item.tag == Tag::kInt && item.i == size) continue;
    if (error_ == nullptr) return false;
    return mismatch(fmt::format("{} has size {} on axis {}, but {}",
                                name(term.symbol),
                                size,
                                position + i,
                                expected_size(term, element, i, item.i)),
                    term.symbol);
  }
  return true;
}

bool Walker::apply(const Step& s, const TensorTerm& term) {
  switch (s.kind) {
    case StepKind::kTensor:
      return tensor_step(s, term);
    case StepKind::kRank:
      return rank_step(term);
    case StepKind::kBindDim:
      return bind_dim(s, term);
    case StepKind::kBindAffine:
      return bind_affine(s, term);
    case StepKind::kBindSplice:
      return bind_splice(s, term);
    case StepKind::kCheckDim:
      return check_dim(s, term);
    case StepKind::kList:
      return list_step(s, term);
    default:
      return check_splice(s, term);
  }
}

bool Walker::step(const Step& s, const Branch& branch) {
  if (s.kind == StepKind::kLet) return let_step(s);
  const Symbol& named = data_.symbols[s.tensor];
  return apply(s,
               named.kind == SymbolKind::kInput ? branch.inputs[named.ordinal]
                                                : branch.construction_tensors[named.ordinal]);
}

bool Walker::refinement(const RefinementTerm& term) {
  bool holds = false;
  text_.clear();
  const TextExpr& source = data_.refinements[term.index];
  if (evaluate_bool(env_, term.expr, holds)) {
    if (holds) return true;
    if (error_ == nullptr) return false;
    std::string facts = values_of(term.expr);
    if (!facts.empty()) facts = " where " + facts;
    *error_ =
        Error(ErrorCode::kSignatureMismatch,
              fmt::format("{}'{}' does not hold{}", axes_fault(term.expr), source.text, facts));
  } else {
    if (error_ == nullptr) return false;
    *error_ = Error(ErrorCode::kSignatureMismatch,
                    fmt::format("'{}' has no value: {}", source.text, text_));
  }
  *error_ = Error(*error_).with_where(source.where.to_string()).with("refinement", source.text);
  return false;
}

bool Walker::combos() {
  if (data_.combos.empty()) return true;
  for (const ComboRow& row : data_.combos) {
    if (std::all_of(row.assignment.begin(), row.assignment.end(), [&](const auto& one) {
          return state_.cells[one.first].tag == Tag::kDType &&
                 state_.cells[one.first].dtype() == one.second;
        })) {
      return true;
    }
  }
  if (error_ == nullptr) return false;
  std::string found;
  for (const auto& [symbol, dtype] : data_.combos.front().assignment) {
    found += fmt::format("{}{} = {}",
                         found.empty() ? "" : ", ",
                         name(symbol),
                         value_of(state_.cells[symbol]).to_string());
  }
  *error_ = Error(ErrorCode::kSignatureMismatch,
                  fmt::format("{} is no supported combination of dtypes", found))
                .with_where(data_.combos_where.to_string());
  return false;
}

bool Walker::append_axis(const TensorTerm& term, Expr e, const Cell& item, OutputSpec& spec) {
  if (spec.shape.size() == kMaxRank) {
    if (error_ == nullptr) return false;
    return mismatch(fmt::format("{} would have more than {} axes", name(term.symbol), kMaxRank),
                    term.symbol);
  }
  if (item.tag != Tag::kInt || item.i < 0) {
    if (error_ == nullptr) return false;
    return mismatch(fmt::format("{} would have size {} on axis {}, declared as {}",
                                name(term.symbol),
                                print(item),
                                spec.shape.size(),
                                print(branch_->pool, e, data_.symbol_names)),
                    term.symbol);
  }
  spec.shape.push_back(item.i);
  return true;
}

bool Walker::infer_shape(const TensorTerm& term, OutputSpec& spec) {
  spec.shape.resize(0);
  for (const Element& e : term.elements) {
    Cell cell;
    if (!value(e.expr, cell)) return no_shape(e.expr, term.symbol);
    const std::size_t count = e.splice ? cell.count : 1;
    for (std::size_t i = 0; i < count; ++i) {
      const Cell item = e.splice ? cell.item(i) : cell;
      if (!append_axis(term, e.expr, item, spec)) return false;
    }
  }
  if (detail::can_be_addressed(spec.dtype, spec.shape)) return true;
  if (error_ == nullptr) return false;
  return mismatch(fmt::format("{} would be {}{}, which has more than 2^63 - 1 bytes",
                              name(term.symbol),
                              name_of(spec.dtype),
                              spec.shape.to_string()),
                  term.symbol);
}

bool Walker::output(std::uint32_t index, const TensorTerm& term) {
  OutputSpec& spec = frame_.outputs[index];
  spec.present = term.passed;
  spec.list_count = 0;
  spec.shape.resize(0);
  if (!term.passed) return true;
  Cell dtype;
  if (!value(term.dtype, dtype)) return no_value("dtype", term.symbol);
  if (dtype.tag == Tag::kDType) {
    spec.dtype = dtype.dtype();
  } else if (const auto named =
                 dtype.tag == Tag::kStr ? dtype_from_name(dtype.str()) : std::nullopt) {
    spec.dtype = *named;
  } else {
    text_ = fmt::format("{} is no dtype", print(dtype));
    return no_value("dtype", term.symbol);
  }
  return term.list_count == kNoExpr ? infer_shape(term, spec) : output_list(term, spec);
}

bool Walker::device_of(const TensorTerm& term,
                       const TensorView& view,
                       const Device*& first,
                       std::uint32_t& first_symbol) {
  if (tensor_decl(data_, term.symbol).on_cpu) {
    if (view.device.kind == DeviceKind()) return true;
    if (error_ == nullptr) return false;
    return mismatch(
        fmt::format(
            "{} is on {}, but is declared device: cpu", name(term.symbol), view.device.to_string()),
        term.symbol);
  }
  if (first == nullptr) {
    first = &view.device;
    first_symbol = term.symbol;
  } else if (!(*first == view.device)) {
    if (error_ == nullptr) return false;
    return mismatch(fmt::format("{} is on {}, but {} is on {}: one call runs on one device",
                                name(first_symbol),
                                first->to_string(),
                                name(term.symbol),
                                view.device.to_string()),
                    term.symbol);
  }
  return true;
}

bool Walker::devices(const Branch& branch) {
  const Device* first = nullptr;
  std::uint32_t first_symbol = 0;
  for (const TensorTerm& term : branch.inputs) {
    const TensorArg& arg = args_.inputs[data_.symbols[term.symbol].ordinal];
    for (std::uint32_t i = 0; term.passed && i < arg.count; ++i) {
      if (!device_of(term, *arg.items[i], first, first_symbol)) return false;
    }
  }
  if (first != nullptr) {
    frame_.device = *first;
  } else if (args_.out != nullptr) {
    frame_.device = args_.out->device;
  } else if (args_.device) {
    frame_.device = *args_.device;
  } else if (instance_.device) {
    frame_.device = *instance_.device;
  } else {
    frame_.device = args_.default_device;
    for (const auto& tensor : instance_.tensors()) {
      if (tensor) frame_.device = tensor->device();
    }
  }
  return true;
}

void Walker::enter(const BranchEntry& entry) {
  branch_ = &entry.branch;
  prefix_ = &instance_.prefix->prefix;
  steps_ = &branch_->steps;
  prefix_steps_ = &prefix_->steps;
  env_.pool = &branch_->pool;
  env_.presence = branch_->facts.presence;
}

bool Walker::run_step(const BranchEntry& entry, const Step& s) {
  enter(entry);
  return step(s, entry.branch);
}

bool Walker::run_effects(const BranchEntry& entry) {
  enter(entry);
  return effects(entry.branch);
}

bool Walker::run_written(const BranchEntry& entry, const TensorView& view, std::uint32_t symbol) {
  enter(entry);
  return written_tensor(view, symbol, entry.branch);
}

bool Walker::run_devices(const BranchEntry& entry) {
  enter(entry);
  return devices(entry.branch);
}

bool Walker::run(const BranchEntry& entry) {
  enter(entry);
  const Branch& branch = entry.branch;
  if (!devices(branch)) return false;
  for (const Step& s : branch.steps) {
    if (!step(s, branch)) return false;
  }
  for (const RefinementTerm& r : branch.refinements) {
    if (!refinement(r)) return false;
  }
  if (!combos()) return false;
  frame_.list_outputs.clear();
  for (std::uint32_t i = 0; i < branch.outputs.size(); ++i) {
    if (!output(i, branch.outputs[i])) return false;
  }
  return effects(branch);
}

}  // namespace tenon::signature
