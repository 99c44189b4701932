// The walker's checks of single tensors: dtype, contiguity, `out`, written tensors; and its
// messages.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "signature/walker.hpp"
#include "tenon/core/signature/primitives.hpp"

namespace tenon::signature {
namespace {

std::string set_text(DTypeSet set) {
  std::string text;
  for (const DType d : all_dtypes()) {
    if (set.contains(d)) text += fmt::format("{}{}", text.empty() ? "" : ", ", name_of(d));
  }
  return text;
}

}  // namespace

bool Walker::mismatch(std::string text, std::uint32_t symbol) {
  if (error_ == nullptr) return false;
  *error_ = Error(ErrorCode::kSignatureMismatch, std::move(text))
                .with_where(tensor_decl(data_, symbol).where.to_string())
                .with("argument", name(symbol));
  return false;
}

bool Walker::no_value(std::string_view what, std::uint32_t symbol) {
  if (error_ == nullptr) return false;
  const Symbol& s = data_.symbols[symbol];
  const std::string text = fmt::format("the {} of {} has no value: {}", what, s.name, text_);
  if (is_tensor(s.kind)) return mismatch(text, symbol);
  *error_ = Error(ErrorCode::kSignatureMismatch,
                  what == "let" ? fmt::format("{} has no value: {}", s.name, text_) : text)
                .with_where(s.where.to_string());
  return false;
}

bool Walker::no_shape(Expr e, std::uint32_t symbol) {
  if (error_ == nullptr) return false;
  const std::string fault = broadcast_fault(e);
  if (fault.empty()) return no_value("shape", symbol);
  return mismatch(fmt::format("the shape of {} has no value: {}", name(symbol), fault), symbol);
}

/// "self [4, 5]" where the symbol is the whole shape of a tensor, "A [4, 5] of self" where it is a
/// part of one.
std::string Walker::shape_label(std::uint32_t symbol) {
  const Cell& cell = state_.cells[symbol];
  const std::string sizes = Dims(std::span(cell.ints, cell.count)).to_string();
  const auto origin = origin_of(symbol, -1);
  if (!origin) return fmt::format("{} {}", name(symbol), sizes);
  const auto input = data_.decl.input_index(origin->tensor);
  const TensorView* view = input ? args_.inputs[*input].single() : nullptr;
  if (view != nullptr && view->shape.size() == cell.count)
    return fmt::format("{} {}", origin->tensor, sizes);
  return fmt::format("{} {} of {}", name(symbol), sizes, origin->tensor);
}

std::string Walker::broadcast_fault(Expr e) {
  const Pool& pool = *env_.pool;
  const Node& n = pool.at(e);
  std::vector<std::uint32_t> shapes;
  const bool broadcasts =
      n.op == Op::kPrimitive && primitives()[static_cast<std::size_t>(n.value)].name == "broadcast";
  for (std::uint32_t i = 0; i < n.count; ++i) {
    const Node& child = pool.at(pool.child(e, i));
    const auto symbol = static_cast<std::uint32_t>(child.value);
    if (broadcasts && child.op == Op::kSymbol && data_.symbols[symbol].kind == SymbolKind::kShape) {
      shapes.push_back(symbol);
    } else if (std::string inside = broadcast_fault(pool.child(e, i)); !inside.empty()) {
      return inside;
    }
  }
  for (std::size_t j = 1; j < shapes.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      const Cell& a = state_.cells[shapes[i]];
      const Cell& b = state_.cells[shapes[j]];
      std::array<std::int64_t, kMaxRank> both{};
      std::uint32_t rank = 0;
      std::uint32_t from_right = 0;
      if (broadcast_pair({a.ints, a.count}, {b.ints, b.count}, both.data(), rank, from_right))
        continue;
      return fmt::format("{} and {}: sizes {} and {} do not broadcast on axis {}",
                         shape_label(shapes[i]),
                         shape_label(shapes[j]),
                         a.ints[a.count - 1 - from_right],
                         b.ints[b.count - 1 - from_right],
                         -1 - static_cast<std::int64_t>(from_right));
    }
  }
  return {};
}

bool Walker::wrong_rank(const TensorTerm& term) {
  if (error_ == nullptr) return false;
  const TensorDecl& decl = tensor_decl(data_, term.symbol);
  const Dims& shape = view_of(term.symbol)->shape;
  return mismatch(fmt::format("{} has rank {} (shape {}), but is declared {}",
                              decl.name,
                              shape.size(),
                              shape.to_string(),
                              decl.shape_text),
                  term.symbol);
}

bool Walker::tensor_step(const Step& step, const TensorTerm& term) {
  const Symbol& symbol = data_.symbols[term.symbol];
  if (symbol.kind != SymbolKind::kInput) return view_step(step, term, *view_of(term.symbol), true);
  const TensorArg& arg = args_.inputs[symbol.ordinal];
  for (std::uint32_t i = 0; i < arg.count; ++i) {
    if (!view_step(step, term, *arg.items[i], i == 0)) return false;
  }
  return true;
}

bool Walker::view_step(const Step& step,
                       const TensorTerm& term,
                       const TensorView& view,
                       bool first) {
  const TensorDecl& decl = tensor_decl(data_, term.symbol);
  const bool construction = data_.symbols[term.symbol].kind == SymbolKind::kConstruction;
  if (decl.contiguous && !view.is_dense()) {
    if (error_ == nullptr) return false;
    return mismatch(
        fmt::format("{} is not contiguous (shape {}, strides {}), but is declared contiguous: true",
                    decl.name,
                    view.shape.to_string(),
                    view.strides.to_string()),
        term.symbol);
  }
  if (step.binds_dtype && first) {
    const Symbol& index = data_.symbols[step.target];
    if (!index.dtypes.contains(view.dtype)) {
      if (error_ == nullptr) return false;
      return mismatch(fmt::format("{} is {}, but {} is one of {}",
                                  decl.name,
                                  name_of(view.dtype),
                                  index.name,
                                  set_text(index.dtypes)),
                      term.symbol);
    }
    state_.cells[step.target] = Cell::dtype_of(view.dtype);
    return true;
  }
  if (construction) return true;  // cast to what the signature says
  Cell expected;
  if (!value(term.dtype, expected)) return no_value("dtype", term.symbol);
  if (equal(expected, Cell::dtype_of(view.dtype))) return true;
  if (error_ == nullptr) return false;
  const Pool& pool = branch_->pool;
  std::string text =
      fmt::format("{} is {}, expected {}",
                  decl.name,
                  name_of(view.dtype),
                  expected.tag == Tag::kDType ? name_of(expected.dtype()) : expected.str());
  if (pool.at(term.dtype).op != Op::kString)
    text += fmt::format(" ({})", print(pool, term.dtype, data_.symbol_names));
  for (const Step& other : *steps_) {
    if (other.binds_dtype && pool.at(term.dtype).op == Op::kSymbol &&
        pool.at(term.dtype).value == static_cast<std::int64_t>(other.target)) {
      text = fmt::format("{} is {}, but {} is {}: both are declared {}",
                         decl.name,
                         name_of(view.dtype),
                         name(other.tensor),
                         name_of(expected.dtype()),
                         name(other.target));
    }
  }
  return mismatch(std::move(text), term.symbol);
}

bool Walker::out_matches(std::uint32_t index, const OutputSpec& spec) {
  const TensorView& out = *args_.out;
  const std::uint32_t symbol = data_.first_output + index;
  if (!(out.shape == spec.shape)) {
    if (error_ == nullptr) return false;
    return mismatch(fmt::format("out has shape {}, but {} has shape {} in this call",
                                out.shape.to_string(),
                                name(symbol),
                                spec.shape.to_string()),
                    symbol);
  }
  if (out.dtype != spec.dtype) {
    if (error_ == nullptr) return false;
    return mismatch(fmt::format("out is {}, but {} is {} in this call",
                                name_of(out.dtype),
                                name(symbol),
                                name_of(spec.dtype)),
                    symbol);
  }
  if (!(out.device == frame_.device)) {
    if (error_ == nullptr) return false;
    return mismatch(fmt::format("out is on {}, but the call runs on {}",
                                out.device.to_string(),
                                frame_.device.to_string()),
                    symbol);
  }
  return true;
}

std::string Walker::written_label(std::uint32_t symbol) const {
  const Symbol& self = data_.symbols[symbol];
  return self.kind == SymbolKind::kOutput ? "out" : self.name;
}

bool Walker::may_overlap(const TensorView& view,
                         std::uint32_t symbol,
                         const TensorView& input,
                         const TensorDecl& input_decl,
                         bool written) {
  if (disjoint(view, input)) return true;
  const TensorDecl& decl = tensor_decl(data_, symbol);
  const bool named = std::find(decl.may_alias.begin(), decl.may_alias.end(), input_decl.name) !=
                     decl.may_alias.end();
  const bool exact = same_view(view, input);
  if (named && exact && !written) return true;
  if (error_ == nullptr) return false;
  const std::string label = written_label(symbol);
  std::string text =
      written ? fmt::format("{} and {} are both written and overlap", label, input_decl.name)
      : exact ? fmt::format("{} is {} itself, which {} may not be", label, input_decl.name, label)
              : fmt::format("{} overlaps {} in part", label, input_decl.name);
  mismatch(std::move(text), symbol);
  *error_ = Error(*error_).with("other", input_decl.name).with_hint("pass memory of its own");
  return false;
}

bool Walker::written_tensor(const TensorView& view, std::uint32_t symbol, const Branch& branch) {
  const Symbol& self = data_.symbols[symbol];
  if (overlaps_itself(view)) {
    if (error_ == nullptr) return false;
    return mismatch(fmt::format("{} overlaps itself: shape {} with strides {}",
                                written_label(symbol),
                                view.shape.to_string(),
                                view.strides.to_string()),
                    symbol);
  }
  for (std::uint32_t i = 0; i < branch.inputs.size(); ++i) {
    const TensorArg& arg = args_.inputs[i];
    if (!branch.inputs[i].passed) continue;
    if (self.kind == SymbolKind::kInput && self.ordinal == i) continue;
    // Of two written inputs the later one reports.
    const bool written = branch.written[i] && self.kind == SymbolKind::kInput;
    if (written && i > self.ordinal) continue;
    for (std::uint32_t k = 0; k < arg.count; ++k) {
      if (!may_overlap(view, symbol, *arg.items[k], data_.decl.inputs[i], written)) return false;
    }
  }
  for (std::uint32_t i = 0; i < branch.construction_tensors.size(); ++i) {
    const auto& tensor = instance_.tensors()[i];
    if (tensor &&
        !may_overlap(view, symbol, tensor->view(), data_.decl.construction_tensors[i], false))
      return false;
  }
  return true;
}

bool Walker::written_inputs(const Branch& branch, bool& any, bool& all_empty) {
  for (std::uint32_t i = 0; i < branch.inputs.size(); ++i) {
    if (!branch.written[i]) continue;
    any = true;
    const TensorArg& arg = args_.inputs[i];
    for (std::uint32_t k = 0; k < arg.count; ++k) {
      all_empty = all_empty && arg.items[k]->count() == 0;
      if (!args_.meta && !written_tensor(*arg.items[k], data_.first_input + i, branch))
        return false;
    }
  }
  return true;
}

/// An output that is an input itself must have its shape and dtype.
bool Walker::alias_fits(std::uint32_t index, const OutputSpec& spec) {
  const TensorView& input = *args_.inputs[static_cast<std::size_t>(spec.alias_input)].single();
  if (!(input.shape == spec.shape) || input.dtype != spec.dtype) {
    if (error_ == nullptr) return false;
    return mismatch(fmt::format("{} is {} itself, but would be {}{}, and {} is {}{}",
                                data_.decl.outputs[index].name,
                                data_.decl.outputs[index].alias,
                                name_of(spec.dtype),
                                spec.shape.to_string(),
                                data_.decl.outputs[index].alias,
                                name_of(input.dtype),
                                input.shape.to_string()),
                    data_.first_output + index);
  }
  return true;
}

bool Walker::effects(const Branch& branch) {
  bool any = false;
  bool all_empty = true;
  if (!written_inputs(branch, any, all_empty)) return false;
  for (std::uint32_t i = 0; i < frame_.outputs.size(); ++i) {
    const OutputSpec& spec = frame_.outputs[i];
    if (!spec.present) continue;
    any = true;
    if (data_.decl.outputs[i].list) continue;
    all_empty = all_empty && element_count(spec.shape).value_or(1) == 0;
    if (spec.alias_input >= 0 && !alias_fits(i, spec)) return false;
    if (args_.out == nullptr || !data_.decl.outputs[i].buffer_out) continue;
    if (!out_matches(i, spec)) return false;
    if (!args_.meta && !written_tensor(*args_.out, data_.first_output + i, branch)) return false;
  }
  for (const OutputSpec& spec : frame_.list_outputs)
    all_empty = all_empty && element_count(spec.shape).value_or(1) == 0;
  frame_.nothing_to_do = any && all_empty;
  return true;
}

std::string Walker::axes_fault(Expr e) {
  const Node& n = env_.pool->at(e);
  if (n.op != Op::kPrimitive) return {};
  const std::string_view row = primitives()[static_cast<std::size_t>(n.value)].name;
  if (row != "valid_axes" && row != "unique_axes") return {};
  Cell axes;
  Cell rank;
  if (!value(env_.pool->child(e, 0), axes) || !value(env_.pool->child(e, 1), rank)) return {};
  if (row == "unique_axes")
    return fmt::format("repeated axis in {} at rank {}: ", print(axes), rank.i);
  for (std::size_t i = 0; i < (axes.is_sequence() ? axes.count : 1); ++i) {
    const Cell axis = axes.is_sequence() ? axes.item(i) : axes;
    std::int64_t wrapped = 0;
    if (axis.tag == Tag::kInt && !wrap_axis(axis.i, rank.i, wrapped)) {
      return fmt::format("axis {} is out of range: allowed are {}: ", axis.i, axis_range(rank.i));
    }
  }
  return {};
}

std::string Walker::label_of(Expr e) {
  const Node& n = env_.pool->at(e);
  if (n.op != Op::kSymbol) return "size ";
  const Symbol& s = data_.symbols[static_cast<std::size_t>(n.value)];
  return s.kind == SymbolKind::kDim ? s.name + " = " : "size ";
}

std::string Walker::values_of(Expr e) {
  const Pool& pool = *env_.pool;
  std::vector<std::uint32_t> names;
  collect_symbols(pool, e, names, false);
  std::string text;
  for (const std::uint32_t n : names) {
    if (state_.cells[n].tag == Tag::kUnset) continue;
    text += fmt::format(
        "{}{} = {}", text.empty() ? "" : ", ", data_.symbol_names[n], print(state_.cells[n]));
  }
  return text;
}

std::optional<Walker::Origin> Walker::origin_of(std::uint32_t symbol, std::int64_t item) {
  for (const std::vector<Step>* steps : {prefix_steps_, steps_}) {
    if (steps == nullptr) continue;
    for (const Step& s : *steps) {
      const bool binds = s.kind == StepKind::kBindDim || s.kind == StepKind::kBindSplice ||
                         s.kind == StepKind::kBindAffine;
      if (!binds || s.target != symbol) continue;
      const Symbol& tensor = data_.symbols[s.tensor];
      const bool input = tensor.kind == SymbolKind::kInput;
      if (branch_ == nullptr && input) continue;
      const TensorTerm& term = input                ? branch_->inputs[tensor.ordinal]
                               : branch_ != nullptr ? branch_->construction_tensors[tensor.ordinal]
                                                    : prefix_->construction_tensors[tensor.ordinal];
      std::int64_t position = 0;
      if (!place(s, term, position)) return std::nullopt;
      return Origin{tensor.name, position + std::max<std::int64_t>(item, 0)};
    }
  }
  return std::nullopt;
}

std::string Walker::expected_size(const TensorTerm&,
                                  const Element& element,
                                  std::int64_t item,
                                  std::int64_t expected) {
  const Pool& pool = *env_.pool;
  const std::string text = print(pool, element.expr, data_.symbol_names);
  const std::string part = item < 0 ? text : fmt::format("{}[{}]", text, item);
  if (pool.at(element.expr).op == Op::kSymbol) {
    if (const auto origin =
            origin_of(static_cast<std::uint32_t>(pool.at(element.expr).value), item)) {
      return fmt::format(
          "{} bound {} = {} on axis {}", origin->tensor, part, expected, origin->axis);
    }
    return fmt::format("{} is {}", part, expected);
  }
  if (is_constant(pool, element.expr)) return fmt::format("{} is declared there", expected);
  const std::string facts = values_of(element.expr);
  return fmt::format(
      "{} is {}{}", part, expected, facts.empty() ? "" : fmt::format(" ({})", facts));
}

}  // namespace tenon::signature
