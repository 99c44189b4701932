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

/// The index that an element of a list item binds, or none.
std::optional<std::uint32_t> Walker::bound_by(const ListItem& item, const Element& e) const {
  const Pool& pool = *env_.pool;
  const Node& n = pool.at(e.expr);
  const bool indexed = n.op == Op::kSubscript && pool.at(pool.child(e.expr, 0)).op == Op::kSymbol;
  if (!indexed && n.op != Op::kSymbol) return std::nullopt;
  const auto symbol =
      static_cast<std::uint32_t>(indexed ? pool.at(pool.child(e.expr, 0)).value : n.value);
  const auto& targets = item.step.targets;
  if (std::find(targets.begin(), targets.end(), symbol) == targets.end()) return std::nullopt;
  if (!indexed && item.k > 0) return std::nullopt;  // bound by the first, checked in the others
  return symbol;
}

/// Checks the rank of a list item. `open_length` is what its unbound splice takes.
bool Walker::list_item_rank(const ListItem& item, std::size_t& open_length) {
  bool open = false;
  std::int64_t others = 0;
  for (const Element& e : item.term.elements) {
    if (e.splice && bound_by(item, e)) {
      open = true;
      continue;
    }
    std::int64_t w = 1;
    if (!width(e, w)) return no_value("shape", item.term.symbol);
    others += w;
  }
  const auto rank = static_cast<std::int64_t>(item.shape.size());
  if (open ? rank < others : rank != others) {
    if (error_ == nullptr) return false;
    return wrong_item(item,
                      fmt::format("has rank {} (shape {}), but is declared {}",
                                  rank,
                                  item.shape.to_string(),
                                  tensor_decl(data_, item.term.symbol).shape_text));
  }
  open_length = static_cast<std::size_t>(rank - others);
  return true;
}

/// Stores the sizes from axis `at` on as what `target` has for this item.
void Walker::bind_list_item(const ListItem& item,
                            std::uint32_t target,
                            std::size_t at,
                            std::optional<std::size_t> splice_length) {
  Cell& cell = state_.cells[target];
  if (splice_length) {
    std::int64_t* sizes = frame_.arena.ints(*splice_length);
    std::copy_n(item.shape.data() + at, *splice_length, sizes);
    auto* items = const_cast<Cell*>(cell.cells);
    items[item.k] = Cell::int_list(sizes, *splice_length);
    items[item.k].is_tuple = true;
  } else if (data_.symbols[target].kind == SymbolKind::kSeqDim) {
    const_cast<std::int64_t*>(cell.ints)[item.k] = item.shape[at];
  } else {
    cell = Cell::integer(item.shape[at]);
  }
}

/// Compares the sizes from axis `at` on with what `e` says, and moves `at` beyond them.
bool Walker::check_list_item(const ListItem& item, const Element& e, std::size_t& at) {
  Cell expected;
  if (!value(e.expr, expected)) return no_value("shape", item.term.symbol);
  for (std::size_t i = 0; i < (e.splice ? expected.count : 1); ++i, ++at) {
    const Cell size = e.splice ? expected.item(i) : expected;
    if (size.tag == Tag::kInt && size.i == item.shape[at]) continue;
    if (error_ == nullptr) return false;
    return wrong_item(item,
                      fmt::format("has size {} on axis {}, but {} is {}",
                                  item.shape[at],
                                  at,
                                  print(*env_.pool, e.expr, data_.symbol_names),
                                  print(expected)));
  }
  return true;
}

bool Walker::wrong_item(const ListItem& item, std::string_view text) {
  return mismatch(fmt::format("{}[{}] {}", name(item.term.symbol), item.k, text), item.term.symbol);
}

bool Walker::list_element(const Step& step, const TensorTerm& term, std::uint32_t k) {
  const ListItem item{
      step, term, k, args_.inputs[data_.symbols[term.symbol].ordinal].items[k]->shape};
  std::size_t open_length = 0;
  if (!list_item_rank(item, open_length)) return false;
  std::size_t at = 0;
  for (const Element& e : term.elements) {
    if (const auto target = bound_by(item, e)) {
      const auto splice_length = e.splice ? std::optional(open_length) : std::nullopt;
      bind_list_item(item, *target, at, splice_length);
      at += splice_length.value_or(1);
    } else if (!check_list_item(item, e, at)) {
      return false;
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
