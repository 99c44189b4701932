// The walker's steps over lists of tensors: every element of an input, every element of an output.
#include <algorithm>

#include <fmt/format.h>

#include "signature/walker.hpp"

namespace tenon::signature {

/// Lists that share an index have one length.
bool Walker::list_lengths(const Step& step, const TensorTerm& term) {
  const std::uint32_t count = args_.inputs[data_.symbols[term.symbol].ordinal].count;
  for (const Element& e : term.elements) {
    std::vector<std::uint32_t> names;
    if (error_ != nullptr) collect_symbols(*env_.pool, e.expr, names, false);
    const Node& n = env_.pool->at(e.expr);
    if (n.op != Op::kSubscript || env_.pool->at(env_.pool->child(e.expr, 1)).op != Op::kFormal)
      continue;
    const auto symbol =
        static_cast<std::uint32_t>(env_.pool->at(env_.pool->child(e.expr, 0)).value);
    if (std::find(step.targets.begin(), step.targets.end(), symbol) != step.targets.end()) continue;
    if (state_.cells[symbol].count == count) continue;
    if (error_ == nullptr) return false;
    return mismatch(fmt::format("{} has {} tensors, but {} has {} items",
                                name(term.symbol),
                                count,
                                name(symbol),
                                state_.cells[symbol].count),
                    term.symbol);
  }
  return true;
}

bool Walker::list_step(const Step& step, const TensorTerm& term) {
  const TensorDecl& decl = tensor_decl(data_, term.symbol);
  const TensorArg& arg = args_.inputs[data_.symbols[term.symbol].ordinal];
  if (arg.count < decl.list->min || arg.count > decl.list->max) {
    if (error_ == nullptr) return false;
    return mismatch(fmt::format("{} has {} tensors, allowed are {} to {}",
                                decl.name,
                                arg.count,
                                decl.list->min,
                                decl.list->max),
                    term.symbol);
  }
  if (!list_lengths(step, term)) return false;
  for (const std::uint32_t target : step.targets) {
    const SymbolKind kind = data_.symbols[target].kind;
    if (kind == SymbolKind::kSeqShape)
      state_.cells[target] = Cell::list(frame_.arena.cells(arg.count), arg.count);
    if (kind == SymbolKind::kSeqDim)
      state_.cells[target] = Cell::int_list(frame_.arena.ints(arg.count), arg.count);
    state_.cells[target].is_tuple = true;
  }
  for (std::uint32_t k = 0; k < arg.count; ++k) {
    formals_[0] = Cell::integer(k);
    env_.formals = formals_;
    const bool good = list_element(step, term, k);
    env_.formals = {};
    if (!good) return false;
  }
  return true;
}

bool Walker::list_element(const Step& step, const TensorTerm& term, std::uint32_t k) {
  const Dims& shape = args_.inputs[data_.symbols[term.symbol].ordinal].items[k]->shape;
  const Pool& pool = *env_.pool;
  /// The index that an element binds, or none.
  const auto target_of = [&](const Element& e) -> std::optional<std::uint32_t> {
    const Node& n = pool.at(e.expr);
    const bool item = n.op == Op::kSubscript && pool.at(pool.child(e.expr, 0)).op == Op::kSymbol;
    if (!item && n.op != Op::kSymbol) return std::nullopt;
    const auto symbol =
        static_cast<std::uint32_t>(item ? pool.at(pool.child(e.expr, 0)).value : n.value);
    if (std::find(step.targets.begin(), step.targets.end(), symbol) == step.targets.end())
      return std::nullopt;
    if (!item && k > 0) return std::nullopt;  // bound by the first, checked in the others
    return symbol;
  };
  const auto wrong = [&](std::string text) {
    return mismatch(fmt::format("{}[{}] {}", name(term.symbol), k, text), term.symbol);
  };
  std::int64_t others = 0;
  for (const Element& e : term.elements) {
    std::int64_t w = 1;
    if (e.splice && target_of(e)) continue;
    if (!width(e, w)) return no_value("shape", term.symbol);
    others += w;
  }
  const bool open = std::any_of(term.elements.begin(), term.elements.end(), [&](const Element& e) {
    return e.splice && target_of(e);
  });
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (open ? rank < others : rank != others) {
    if (error_ == nullptr) return false;
    return wrong(fmt::format("has rank {} (shape {}), but is declared {}",
                             rank,
                             shape.to_string(),
                             tensor_decl(data_, term.symbol).shape_text));
  }
  std::size_t at = 0;
  for (const Element& e : term.elements) {
    const auto target = target_of(e);
    if (target && e.splice) {
      const auto length = static_cast<std::size_t>(rank - others);
      std::int64_t* sizes = frame_.arena.ints(length);
      std::copy_n(shape.data() + at, length, sizes);
      auto* items = const_cast<Cell*>(state_.cells[*target].cells);
      items[k] = Cell::int_list(sizes, length);
      items[k].is_tuple = true;
      at += length;
      continue;
    }
    if (target) {
      if (data_.symbols[*target].kind == SymbolKind::kSeqDim) {
        const_cast<std::int64_t*>(state_.cells[*target].ints)[k] = shape[at++];
      } else {
        state_.cells[*target] = Cell::integer(shape[at++]);
      }
      continue;
    }
    Cell expected;
    if (!value(e.expr, expected)) return no_value("shape", term.symbol);
    for (std::size_t i = 0; i < (e.splice ? expected.count : 1); ++i, ++at) {
      const Cell item = e.splice ? expected.item(i) : expected;
      if (item.tag == Tag::kInt && item.i == shape[at]) continue;
      if (error_ == nullptr) return false;
      return wrong(fmt::format("has size {} on axis {}, but {} is {}",
                               shape[at],
                               at,
                               print(pool, e.expr, data_.symbol_names),
                               print(expected)));
    }
  }
  return true;
}

bool Walker::output_list(const TensorTerm& term, OutputSpec& spec) {
  Cell count;
  if (!value(term.list_count, count) || count.tag != Tag::kInt)
    return no_value("list", term.symbol);
  constexpr std::int64_t kMost = 65536;
  if (count.i < 0 || count.i > kMost) {
    if (error_ == nullptr) return false;
    return mismatch(fmt::format("{} would be {} tensors", name(term.symbol), count.i), term.symbol);
  }
  spec.list_count = static_cast<std::uint32_t>(count.i);
  for (std::int64_t k = 0; k < count.i; ++k) {
    formals_[0] = Cell::integer(k);
    env_.formals = formals_;
    OutputSpec& one = frame_.list_outputs.emplace_back();
    one.present = true;
    one.dtype = spec.dtype;
    const bool good = infer_shape(term, one);
    env_.formals = {};
    if (!good) return false;
  }
  return true;
}

}  // namespace tenon::signature
