// Cases: indices solved, generators run, rules checked, and the call inferred again from its shapes
// alone.
#include <algorithm>
#include <cstring>
#include <limits>
#include <list>

#include <fmt/format.h>

#include "tenon/core/roofline.hpp"
#include "tenon/manifest/predicates.hpp"
#include "workload_row.hpp"

namespace tenon::manifest {

using signature::Cell;
using signature::Element;
using signature::Expr;
using signature::kNoExpr;
using signature::Op;
using signature::SymbolKind;
using signature::Tag;
using signature::TensorTerm;

namespace {

Cell shape_cell(const std::vector<std::int64_t>& sizes, signature::Arena& arena) {
  std::int64_t* memory = arena.ints(sizes.size());
  std::copy(sizes.begin(), sizes.end(), memory);
  Cell cell = Cell::int_list(memory, sizes.size());
  cell.is_tuple = true;
  return cell;
}

std::string sizes_text(const std::vector<std::int64_t>& sizes) {
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

}  // namespace

bool RowInstantiator::evaluate(Expr e, Cell& out, std::span<const Cell> formals) {
  signature::Env env;
  error_.clear();
  env.pool = &branch_.pool;
  env.symbols = cells_;
  env.presence = branch_.facts.presence;
  env.formals = formals;
  env.arena = &arena_;
  env.error = &error_;
  env.symbol_names = data_.symbol_names;
  return signature::evaluate(env, e, out);
}

bool RowInstantiator::args_known(const GeneratedTerm& term, const std::vector<bool>& known) const {
  return std::all_of(term.args.begin(), term.args.end(), [&](Expr e) {
    return e == kNoExpr || all_known(e, known);
  });
}

/// Marks the names that the elements of a generated shape solve; true where there is a new one.
bool RowInstantiator::order_elements(const TensorTerm& term, std::vector<bool>& known) const {
  const std::vector<Element>& elements = term.elements;
  const auto open_splice = [&](std::size_t from, std::size_t to) {
    for (std::size_t k = from; k < to; ++k) {
      if (elements[k].splice && !all_known(elements[k].expr, known)) return true;
    }
    return false;
  };
  bool any = false;
  for (std::size_t at = 0; at < elements.size(); ++at) {
    std::vector<std::uint32_t> unknown;
    signature::collect_symbols(branch_.pool, elements[at].expr, unknown, false);
    std::erase_if(unknown, [&](std::uint32_t s) { return static_cast<bool>(known[s]); });
    if (unknown.size() != 1) continue;
    const bool before = !open_splice(0, at);
    const bool after = !open_splice(at + 1, elements.size());
    const bool solves =
        elements[at].splice
            ? before && after && branch_.pool.at(elements[at].expr).op == Op::kSymbol
            : (before || after) &&
                  signature::is_affine(branch_.pool, elements[at].expr, unknown.front());
    if (solves) known[unknown.front()] = any = true;
  }
  return any;
}

/// The fixpoint of lets, generators and unification over names alone.
bool RowInstantiator::solve_order(std::vector<bool>& known,
                                  std::vector<GeneratedTerm>& terms) const {
  bool any = true;
  while (any) {
    any = false;
    for (std::uint32_t i = 0; i < lets_.size(); ++i) {
      const std::uint32_t s = data_.first_let + i;
      if (lets_[i] == kNoExpr || known[s] || !all_known(lets_[i], known)) continue;
      known[s] = any = true;
    }
    for (GeneratedTerm& term : terms) {
      if (!term.ran && args_known(term, known)) term.ran = any = true;
      if (!term.ran) continue;
      any = order_elements(*term.term, known) || any;
    }
  }
  return std::all_of(terms.begin(), terms.end(), [](const GeneratedTerm& t) { return t.ran; });
}

bool RowInstantiator::solve_lets(std::vector<bool>& known, bool& any) {
  for (std::uint32_t i = 0; i < lets_.size(); ++i) {
    const std::uint32_t s = data_.first_let + i;
    if (lets_[i] == kNoExpr || known[s] || !all_known(lets_[i], known)) continue;
    if (!evaluate(lets_[i], cells_[s])) {
      report(row_.where,
             "",
             "row.let",
             fmt::format("the let '{}' has no value here: {}", name(s), error_));
      return false;
    }
    known[s] = any = true;
  }
  return true;
}

bool RowInstantiator::solve_values(std::vector<GeneratedTerm>& terms) {
  bool any = true;
  while (any) {
    any = false;
    std::vector<bool> known(cells_.size());
    for (std::size_t s = 0; s < known.size(); ++s) known[s] = cells_[s].tag != Tag::kUnset;
    if (!solve_lets(known, any)) return false;
    for (GeneratedTerm& term : terms) {
      if (!term.ran && args_known(term, known)) {
        if (!generate(term)) return false;
        any = true;
      }
      if (!term.ran) continue;
      const auto done = std::count(term.solved.begin(), term.solved.end(), true);
      if (!unify(term)) return false;
      any = any || std::count(term.solved.begin(), term.solved.end(), true) != done;
    }
  }
  for (const GeneratedTerm& term : terms) {
    if (term.ran) continue;
    report(term.call->where,
           name(term.symbol),
           "row.generator",
           fmt::format("the generator '{}' never gets all of its arguments", term.call->text))
        .expected = "arguments that the row gives or other generators solve";
    return false;
  }
  return true;
}

bool RowInstantiator::generate(GeneratedTerm& term) {
  std::vector<CallArg> args;
  for (std::size_t i = 0; i < term.args.size(); ++i) {
    Cell cell;
    if (term.args[i] == kNoExpr || !evaluate(term.args[i], cell)) {
      report(
          row_.where,
          name(term.symbol),
          "row.generator",
          fmt::format("argument {} of '{}' has no value here: {}", i + 1, term.call->text, error_));
      return false;
    }
    Result<CallArg> arg = call_arg_of(signature::value_of(cell));
    if (!arg) {
      report(row_.where,
             name(term.symbol),
             "row.generator",
             fmt::format("argument {} of '{}': {}", i + 1, term.call->text, arg.error().message()));
      return false;
    }
    args.push_back(*std::move(arg));
  }
  Result<GeneratedTensor> made = tenon::manifest::generate(
      term.call->name, args, generator_seed(data_.decl.name, name(term.symbol)));
  if (!made) {
    Diagnostic& d = report(row_.where,
                           name(term.symbol),
                           "row.generator",
                           fmt::format("'{}': {}", term.call->text, made.error().message()));
    d.hint = made.error().hint();
    return false;
  }
  Cell dtype;
  if (evaluate(term.term->dtype, dtype)) {
    const bool narrow = (dtype.tag == Tag::kDType && dtype.dtype() == DType::kInt32) ||
                        (dtype.tag == Tag::kStr && dtype.str() == "int32");
    constexpr std::int64_t kLow = std::numeric_limits<std::int32_t>::min();
    constexpr std::int64_t kHigh = std::numeric_limits<std::int32_t>::max();
    const auto outside = std::find_if(made->values.begin(),
                                      made->values.end(),
                                      [&](std::int64_t v) { return v < kLow || v > kHigh; });
    if (narrow && outside != made->values.end()) {
      Diagnostic& d =
          report(row_.where,
                 name(term.symbol),
                 "row.range",
                 fmt::format("'{}' makes {}, which does not fit int32", term.call->text, *outside));
      d.expected = "values that the dtype holds";
      d.hint = "declare the tensor int64, or take smaller sizes";
      return false;
    }
  }
  term.result = *std::move(made);
  term.ran = true;
  return true;
}

bool RowInstantiator::unify(GeneratedTerm& term) {
  for (std::size_t at = 0; at < term.term->elements.size(); ++at) {
    if (!term.solved[at] && !unify_element(term, at)) return false;
  }
  return true;
}

/// The names in an expression that have no value yet.
std::vector<std::uint32_t> RowInstantiator::unset(Expr e) const {
  std::vector<std::uint32_t> names;
  signature::collect_symbols(branch_.pool, e, names, false);
  std::erase_if(names, [&](std::uint32_t s) { return cells_[s].tag != Tag::kUnset; });
  return names;
}

/// How many axes a part of a shape has, where that is known.
std::optional<std::int64_t> RowInstantiator::width(std::span<const Element> elements) {
  std::int64_t total = 0;
  for (const Element& element : elements) {
    Cell cell;
    if (!element.splice) {
      ++total;
    } else if (!unset(element.expr).empty() || !evaluate(element.expr, cell)) {
      return std::nullopt;
    } else {
      total += cell.count;
    }
  }
  return total;
}

bool RowInstantiator::shape_mismatch(const GeneratedTerm& term, const std::string& text) {
  const std::string sizes = sizes_text(term.result->shape);
  Diagnostic& d = report(row_.where,
                         name(term.symbol),
                         "row.shape",
                         fmt::format("'{}' makes {}, which is not the declared {}: {}",
                                     term.call->text,
                                     sizes,
                                     signature::tensor_data(data_, term.symbol).shape.text,
                                     text));
  d.found = sizes;
  return false;
}

bool RowInstantiator::unify_splice(GeneratedTerm& term,
                                   std::size_t at,
                                   std::optional<std::int64_t> before,
                                   std::optional<std::int64_t> after) {
  const std::vector<Element>& elements = term.term->elements;
  const std::vector<std::int64_t>& sizes = term.result->shape;
  const auto rank = static_cast<std::int64_t>(sizes.size());
  const std::vector<std::uint32_t> unknown = unset(elements[at].expr);
  if (!before || !after || !unknown.empty()) {
    if (!before || !after || unknown.size() != 1 ||
        branch_.pool.at(elements[at].expr).op != Op::kSymbol)
      return true;
    if (*before + *after > rank) return shape_mismatch(term, fmt::format("the rank is {}", rank));
    cells_[unknown.front()] = shape_cell({sizes.begin() + *before, sizes.end() - *after}, arena_);
    term.solved[at] = true;
    return true;
  }
  Cell cell;
  if (!evaluate(elements[at].expr, cell)) return shape_mismatch(term, error_);
  if (*before + *after + cell.count != rank)
    return shape_mismatch(term, fmt::format("the rank is {}", rank));
  for (std::uint32_t k = 0; k < cell.count; ++k) {
    if (cell.item(k).i != sizes[static_cast<std::size_t>(*before) + k])
      return shape_mismatch(term, fmt::format("axis {} should be {}", *before + k, cell.item(k).i));
  }
  term.solved[at] = true;
  return true;
}

bool RowInstantiator::unify_axis(GeneratedTerm& term, std::size_t at, std::int64_t place) {
  const std::vector<Element>& elements = term.term->elements;
  const std::vector<std::int64_t>& sizes = term.result->shape;
  const std::vector<std::uint32_t> unknown = unset(elements[at].expr);
  const std::int64_t size = sizes[static_cast<std::size_t>(place)];
  Cell cell;
  if (unknown.empty()) {
    if (!evaluate(elements[at].expr, cell)) return shape_mismatch(term, error_);
    if (cell.i != size)
      return shape_mismatch(term, fmt::format("axis {} should be {}", place, cell.i));
  } else {
    if (unknown.size() != 1 ||
        !signature::is_affine(branch_.pool, elements[at].expr, unknown.front()))
      return true;
    // The value at 0 is e, the value at 1 less e the slope.
    Cell& target = cells_[unknown.front()];
    Cell one;
    target = Cell::integer(0);
    const bool at_zero = evaluate(elements[at].expr, cell);
    target = Cell::integer(1);
    const bool at_one = evaluate(elements[at].expr, one);
    target = Cell();
    if (!at_zero || !at_one) return shape_mismatch(term, error_);
    const std::int64_t slope = one.i - cell.i;
    if (slope <= 0 || size < cell.i || (size - cell.i) % slope != 0)
      return shape_mismatch(
          term,
          fmt::format("no '{}' gives axis {} the size {}", name(unknown.front()), place, size));
    target = Cell::integer((size - cell.i) / slope);
  }
  term.solved[at] = true;
  return true;
}

/// Solves or checks one element of a generated tensor's shape, if its place and all but one of its
/// names are known.
bool RowInstantiator::unify_element(GeneratedTerm& term, std::size_t at) {
  const std::span<const Element> elements = term.term->elements;
  const auto rank = static_cast<std::int64_t>(term.result->shape.size());
  const std::optional<std::int64_t> before = width(elements.first(at));
  const std::optional<std::int64_t> after = width(elements.subspan(at + 1));
  if (elements[at].splice) return unify_splice(term, at, before, after);
  if (!before && !after) return true;
  if (before && after && *before + *after + 1 != rank)
    return shape_mismatch(term, fmt::format("the rank is {}", rank));
  const std::int64_t place = before ? *before : rank - 1 - *after;
  if (place < 0 || place >= rank) return shape_mismatch(term, fmt::format("the rank is {}", rank));
  return unify_axis(term, at, place);
}

bool RowInstantiator::check_refinements() {
  bool good = true;
  for (std::size_t i = 0; i < refinements_.size(); ++i) {
    Cell cell;
    const signature::TextExpr& rule = data_.refinements[i];
    if (refinements_[i] != kNoExpr && evaluate(refinements_[i], cell) && cell.tag == Tag::kBool &&
        cell.i != 0)
      continue;
    good = false;
    Diagnostic& d =
        report(row_.where,
               "",
               "row.refinement",
               error_.empty()
                   ? fmt::format("the rule '{}' does not hold for the row", rule.text)
                   : fmt::format("the rule '{}' has no value for the row: {}", rule.text, error_));
    d.expected = fmt::format("a row for which it holds ({})", rule.where.to_string());
  }
  return good;
}

bool RowInstantiator::check_combos() {
  if (data_.combos.empty()) return true;
  std::string given;
  for (const auto& [symbol, dtype] : data_.combos.front().assignment)
    given += fmt::format(
        "{}{}: {}", given.empty() ? "" : ", ", name(symbol), signature::print(cells_[symbol]));
  for (const signature::ComboRow& row : data_.combos) {
    const bool equal =
        std::all_of(row.assignment.begin(), row.assignment.end(), [&](const auto& pair) {
          return signature::equal(cells_[pair.first], Cell::dtype_of(pair.second));
        });
    if (equal) return true;
  }
  Diagnostic& d =
      report(row_.where, "", "row.combos", fmt::format("the combination {} is not listed", given));
  d.expected = fmt::format("a row of dtype_combos ({})", data_.combos_where.to_string());
  return false;
}

namespace {

const GeneratedTensor* contents_of(const std::vector<GeneratedTerm>& terms, std::uint32_t symbol) {
  for (const GeneratedTerm& t : terms) {
    if (t.symbol == symbol && t.result) return &*t.result;
  }
  return nullptr;
}

}  // namespace

/// The arguments of a predicate, or `why` one of them has no value.
void RowInstantiator::take_arguments(const signature::MetadataCall& call,
                                     const std::vector<Expr>& folded,
                                     const std::vector<GeneratedTerm>& terms,
                                     std::vector<CallArg>& args,
                                     std::string& why) {
  for (std::size_t i = 0; i < call.args.size() && why.empty(); ++i) {
    Cell cell;
    if (call.args[i] == kNoExpr) {
      const GeneratedTensor* other = contents_of(terms, call.contents[i]);
      if (other == nullptr) {
        why = fmt::format("'{}' is absent", name(call.contents[i]));
      } else {
        args.emplace_back(other->values);
      }
    } else if (!evaluate(folded[i], cell)) {
      why = error_;
    } else if (Result<CallArg> arg = call_arg_of(signature::value_of(cell))) {
      args.push_back(*std::move(arg));
    } else {
      why = arg.error().message();
    }
  }
}

bool RowInstantiator::check_requirements(const std::vector<GeneratedTerm>& terms) {
  bool good = true;
  for (const GeneratedTerm& term : terms) {
    const std::vector<signature::MetadataCall>& calls =
        signature::tensor_data(data_, term.symbol).requirements;
    for (std::size_t k = 0; k < calls.size(); ++k) {
      std::vector<CallArg> args;
      std::string why;
      take_arguments(calls[k], requirement_args_[term.symbol][k], terms, args, why);
      if (why.empty()) {
        const Result<bool> held = holds(calls[k].name, *term.result, args);
        if (held && *held) continue;
        why = held ? "it does not hold" : held.error().message();
      }
      good = false;
      Diagnostic& d = report(
          row_.where,
          name(term.symbol),
          "row.requires",
          fmt::format("'{}' on the generated '{}': {}", calls[k].text, name(term.symbol), why));
      d.expected = fmt::format("contents that satisfy it ({})", calls[k].where.to_string());
    }
  }
  return good;
}

bool RowInstantiator::shape_of(const TensorTerm& term,
                               std::span<const Cell> formals,
                               std::vector<std::int64_t>& shape) {
  const auto fault = [&](const std::string& text) {
    report(row_.where,
           name(term.symbol),
           "row.shape",
           fmt::format("the shape {} of '{}' {}",
                       signature::tensor_data(data_, term.symbol).shape.text,
                       name(term.symbol),
                       text));
    return false;
  };
  Cell cell;
  for (const Element& e : term.elements) {
    if (!evaluate(e.expr, cell, formals))
      return fault(fmt::format("has no value here: {}", error_));
    if (!e.splice) {
      shape.push_back(cell.i);
      continue;
    }
    for (std::uint32_t k = 0; k < cell.count; ++k) shape.push_back(cell.item(k).i);
  }
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t n) { return n < 0; }))
    return fault(fmt::format("has a negative axis: {}", sizes_text(shape)));
  if (shape.size() > kMaxRank)
    return fault(fmt::format("has rank {}, more than {}", shape.size(), kMaxRank));
  return true;
}

/// How many tensors a list has: as its count says, or as many as the list indices in its shape have
/// elements.
std::optional<std::int64_t> RowInstantiator::element_count_of(const TensorTerm& term) {
  Cell cell;
  if (term.list_count != kNoExpr)
    return evaluate(term.list_count, cell) ? std::optional(cell.i) : std::nullopt;
  std::vector<std::uint32_t> read;
  for (const Element& e : term.elements)
    signature::collect_symbols(branch_.pool, e.expr, read, false);
  for (const std::uint32_t s : read) {
    const SymbolKind kind = data_.symbols[s].kind;
    if (kind == SymbolKind::kSeqShape || kind == SymbolKind::kSeqDim) return cells_[s].count;
  }
  return std::nullopt;
}

bool RowInstantiator::tensor_of(const TensorTerm& term, TensorRole role, CaseTensor& out) {
  out.name = name(term.symbol);
  out.role = role;
  out.present = term.passed;
  if (!term.passed) return true;
  Cell cell;
  if (!evaluate(term.dtype, cell)) {
    report(row_.where,
           out.name,
           "row.dtype",
           fmt::format("the dtype of '{}' has no value here: {}", out.name, error_));
    return false;
  }
  if (cell.tag == Tag::kStr) {
    out.dtype = dtype_from_name(cell.str()).value_or(DType::kFloat32);
  } else {
    out.dtype = cell.dtype();
  }
  out.list = signature::tensor_decl(data_, term.symbol).list.has_value();
  if (!out.list) return shape_of(term, {}, out.shape);
  const std::optional<std::int64_t> count = element_count_of(term);
  if (!count) {
    report(row_.where,
           out.name,
           "row.list",
           fmt::format("the row does not say how many tensors '{}' has", out.name));
    return false;
  }
  for (std::int64_t i = 0; i < *count; ++i) {
    const Cell formals[] = {Cell::integer(i)};
    out.elements.emplace_back();
    if (!shape_of(term, formals, out.elements.back())) return false;
  }
  return true;
}

namespace {

// A call's argument; both lists have room, so that pointers into them stay.
TensorArg argument_of(const CaseTensor& t,
                      std::vector<TensorView>& views,
                      std::vector<const TensorView*>& pointers) {
  TensorArg arg;
  const std::size_t first = pointers.size();
  const std::vector<std::vector<std::int64_t>> shapes =
      t.list ? t.elements : std::vector<std::vector<std::int64_t>>{t.shape};
  for (const std::vector<std::int64_t>& shape : shapes) {
    views.emplace_back(nullptr, t.dtype, Dims(shape));
    pointers.push_back(&views.back());
  }
  arg.items = pointers.data() + first;
  arg.count = static_cast<std::uint32_t>(shapes.size());
  return arg;
}

}  // namespace

namespace {

/// Memory with the contents of a call's generated tensors, for a roofline function; their views
/// point into it.
class HostMetadata {
 public:
  HostMetadata(const std::vector<CaseTensor>& tensors,
               std::vector<TensorView>& views,
               const std::vector<TensorArg>& args) {
    std::size_t input = 0;
    for (const CaseTensor& t : tensors) {
      if (t.role != TensorRole::kInput) continue;
      const TensorArg& arg = args[input++];
      if (!t.present || !t.values) continue;
      const auto view = static_cast<std::size_t>(arg.single() - views.data());
      views[view].data = memory_of(*t.values, t.dtype);
    }
  }

 private:
  void* memory_of(const GeneratedTensor& generated, DType dtype) {
    const std::size_t size_bytes = size_bytes_of(dtype);
    std::vector<std::byte>& memory =
        memory_.emplace_back(std::max<std::size_t>(generated.values.size(), 1) * size_bytes);
    for (std::size_t i = 0; i < generated.values.size(); ++i) {
      const std::int64_t wide = generated.values[i];
      const auto narrow = static_cast<std::int32_t>(wide);
      const void* from = dtype == DType::kInt32 ? static_cast<const void*>(&narrow) : &wide;
      std::memcpy(memory.data() + i * size_bytes, from, size_bytes);
    }
    return memory.data();
  }
  std::list<std::vector<std::byte>> memory_;
};

}  // namespace

bool RowInstantiator::inference_fault(const std::string& text) {
  Diagnostic& d =
      report(row_.where,
             "",
             "row.inference",
             fmt::format("inference on the row's call does not give the row back: {}", text));
  d.expected = "the row's own indices and outputs";
  return false;
}

bool RowInstantiator::same_indices(const WorkloadCase& c) {
  for (const NamedValue& solved : c.indices) {
    for (std::uint32_t s = 0; s < cells_.size(); ++s) {
      if (name(s) != solved.first || cells_[s].tag == Tag::kUnset) continue;
      Cell cell = signature::cell_of(solved.second, arena_);
      if (!signature::equal(cells_[s], cell))
        return inference_fault(fmt::format("'{}' is {} there and {} here",
                                           name(s),
                                           solved.second.to_string(),
                                           signature::print(cells_[s])));
    }
  }
  return true;
}

bool RowInstantiator::same_outputs(const WorkloadCase& c, const CallFrame& frame) {
  std::size_t list_base = 0;
  for (std::size_t i = 0; i < c.outputs.size(); ++i) {
    const OutputSpec& spec = frame.outputs[i];
    const CaseTensor& t = c.outputs[i];
    if (spec.present != t.present)
      return inference_fault(
          fmt::format("output '{}' is {} there", t.name, spec.present ? "returned" : "absent"));
    if (t.list) {
      bool equal = spec.list_count == t.elements.size();
      for (std::size_t k = 0; equal && k < t.elements.size(); ++k)
        equal = frame.list_outputs[list_base + k].shape == Dims(t.elements[k]);
      if (t.present && !equal)
        return inference_fault(
            fmt::format("the tensors of output '{}' have other shapes there", t.name));
      list_base += spec.list_count;
      continue;
    }
    if (t.present && (spec.dtype != t.dtype || !(spec.shape == Dims(t.shape)))) {
      return inference_fault(fmt::format("output '{}' is {}{} there and {}{} here",
                                         t.name,
                                         name_of(spec.dtype),
                                         spec.shape.to_string(),
                                         name_of(t.dtype),
                                         sizes_text(t.shape)));
    }
  }
  return true;
}

/// The call as its shapes alone give it: construct, check, and compare what was solved with what
/// the row says.
bool RowInstantiator::round_trip(WorkloadCase& c) {
  std::vector<std::pair<std::string, Tensor>> held;
  std::size_t views_count = 0;
  for (const CaseTensor& t : c.tensors) views_count += t.list ? t.elements.size() : 1;
  std::vector<TensorView> views;
  std::vector<const TensorView*> pointers;
  views.reserve(views_count);
  pointers.reserve(views_count);
  std::vector<TensorArg> args;
  for (const CaseTensor& t : c.tensors) {
    if (t.role == TensorRole::kConstruction) {
      const TensorView view(nullptr, t.dtype, Dims(t.shape));
      if (t.present)
        held.emplace_back(
            t.name,
            Tensor(std::make_shared<Storage>(nullptr, 0, Device{}, Storage::Release{}), view));
      continue;
    }
    TensorArg arg;
    if (t.present) arg = argument_of(t, views, pointers);
    args.push_back(arg);
  }
  Result<std::shared_ptr<const Construction>> construction = plan_.construct(c.params, held);
  if (!construction) return inference_fault(construction.error().message());
  const std::unique_ptr<CallFrame> frame = plan_.make_frame();
  CallArgs call;
  call.inputs = args;
  call.meta = true;
  if (!plan_.check(**construction, call, *frame))
    return inference_fault(plan_.failure(**construction, call, *frame).message());
  c.indices = plan_.indices(**construction, *frame);
  if (!same_indices(c) || !same_outputs(c, *frame)) return false;
  const HostMetadata metadata(c.tensors, views, args);
  call.meta = false;  // what metadata tensors hold may be read now
  if (Result<Cost> cost = plan_.cost(**construction, call, *frame)) {
    c.cost = *cost;
  } else if (data_.flops.given() || find_roofline(data_.roofline_func) != nullptr) {
    report(row_.where,
           "",
           "row.roofline",
           fmt::format("the roofline has no value for the row: {}", cost.error().message()));
    return false;
  }
  return true;
}

std::string RowInstantiator::case_id(const DTypeCase* one) const {
  std::string id = row_.label.text;
  for (const IndexDecl& index : entry_.indices) {
    if (one == nullptr) break;
    for (const auto& [key, dtype] : one->assignment) {
      if (key == index.name) id += "-" + dtype.text;
    }
  }
  for (std::size_t i = 0; i < params_.size(); ++i) {
    const auto* dtype = params_[i].get_if<DType>();
    if (dtype != nullptr) id += fmt::format("-{}", name_of(*dtype));
  }
  return id;
}

bool RowInstantiator::take_tensors(const std::vector<TensorTerm>& list,
                                   TensorRole role,
                                   const std::vector<GeneratedTerm>& terms,
                                   std::vector<CaseTensor>& out) {
  for (const TensorTerm& term : list) {
    CaseTensor t;
    if (!tensor_of(term, role, t)) return false;
    for (const GeneratedTerm& g : terms) {
      if (g.symbol != term.symbol) continue;
      if (g.result->shape != t.shape) {
        report(row_.where,
               t.name,
               "row.shape",
               fmt::format("'{}' makes {}, the declared shape is {}",
                           g.call->text,
                           sizes_text(g.result->shape),
                           sizes_text(t.shape)));
        return false;
      }
      t.values = g.result;
    }
    out.push_back(std::move(t));
  }
  return true;
}

std::optional<WorkloadCase> RowInstantiator::instantiate(const DTypeCase* one) {
  arena_.reset();
  cells_.assign(data_.symbols.size(), Cell());
  for (std::uint32_t i = 0; i < params_.size(); ++i)
    cells_[data_.first_param + i] = signature::cell_of(params_[i], arena_);
  for (const auto& [symbol, value] : values_) cells_[symbol] = signature::cell_of(value, arena_);
  for (std::uint32_t s = 0; one != nullptr && s < cells_.size(); ++s) {
    if (data_.symbols[s].kind != SymbolKind::kDType) continue;
    for (const auto& [key, text] : one->assignment) {
      if (const auto dtype = dtype_from_name(text.text); dtype && key == name(s))
        cells_[s] = Cell::dtype_of(*dtype);
    }
  }
  std::vector<GeneratedTerm> terms = metadata_;
  if (!solve_values(terms) || !check_combos() || !check_refinements()) return std::nullopt;
  WorkloadCase c;
  c.op = data_.decl.name;
  c.label = row_.label.text;
  c.id = case_id(one);
  c.row = index_;
  c.where = row_.where;
  for (std::size_t i = 0; i < params_.size(); ++i)
    c.params.emplace_back(data_.decl.params[i].name, params_[i]);
  if (!take_tensors(branch_.construction_tensors, TensorRole::kConstruction, terms, c.tensors) ||
      !take_tensors(branch_.inputs, TensorRole::kInput, terms, c.tensors) ||
      !take_tensors(branch_.outputs, TensorRole::kOutput, terms, c.outputs)) {
    return std::nullopt;
  }
  if (!check_requirements(terms) || !round_trip(c)) return std::nullopt;
  return c;
}

}  // namespace tenon::manifest
