// Specialises a plan at a point: folds its terms and fixes the order of unification.
#include "tenon/core/signature/specialise.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace tenon::signature {
namespace {

bool is_symbol(const Pool& pool, Expr e, std::uint32_t symbol) {
  return pool.at(e).op == Op::kSymbol && pool.at(e).value == static_cast<std::int64_t>(symbol);
}

bool reads(const Pool& pool, Expr e, std::uint32_t symbol) {
  std::vector<std::uint32_t> names;
  collect_symbols(pool, e, names, false);
  return std::find(names.begin(), names.end(), symbol) != names.end();
}

}  // namespace

bool is_affine(const Pool& pool, Expr e, std::uint32_t unknown) {
  if (is_symbol(pool, e, unknown)) return true;
  const Node& n = pool.at(e);
  if (n.op != Op::kAdd && n.op != Op::kSub && n.op != Op::kMul) return false;
  const Expr left = pool.child(e, 0);
  const Expr right = pool.child(e, 1);
  if (n.op == Op::kMul) {
    return pool.at(left).op == Op::kInt && pool.at(left).value > 0 &&
           is_affine(pool, right, unknown);
  }
  if (!reads(pool, right, unknown)) return is_affine(pool, left, unknown);
  return n.op == Op::kAdd && !reads(pool, left, unknown) && is_affine(pool, right, unknown);
}

namespace {

/// Runs unification over symbols instead of values: which step solves what, in which order.
class Solver {
 public:
  Solver(const PlanData& data,
         const Pool& pool,
         std::vector<bool>& known,
         const std::vector<Expr>& lets)
      : data_(data), pool_(pool), known_(known), lets_(lets) {}

  /// `skip`: elements that were done before, by (tensor, element). Dtype indices in
  /// `foreign_dtypes` are left to other tensors.
  void run(const std::vector<TensorTerm*>& tensors,
           const std::vector<Step>& skip,
           const std::vector<bool>& foreign_dtypes,
           std::vector<Step>& steps) {
    progress_.clear();
    binders_.clear();
    for (const TensorTerm* t : tensors) progress_.push_back(begin(*t, skip, foreign_dtypes));
    bool any = true;
    while (any) {
      any = add_lets(steps);
      for (Progress& progress : progress_) any = advance(progress, steps) || any;
    }
    for (Progress& progress : progress_) touch(progress, steps);
  }

  [[nodiscard]] bool all_known(Expr e) const {
    std::vector<std::uint32_t> names;
    collect_symbols(pool_, e, names, false);
    return std::all_of(names.begin(), names.end(), [&](std::uint32_t s) { return known_[s]; });
  }

 private:
  struct Progress {
    const TensorTerm* tensor = nullptr;
    std::vector<bool> done;
    bool touched = false;
    bool ranked = false;
    bool binds_dtype = false;
    bool finished_before = false;
  };

  Progress begin(const TensorTerm& tensor,
                 const std::vector<Step>& skip,
                 const std::vector<bool>& foreign_dtypes) {
    Progress progress;
    progress.tensor = &tensor;
    progress.done.assign(tensor.elements.size(), false);
    bool before = false;
    for (const Step& s : skip) {
      if (s.tensor != tensor.symbol || s.kind == StepKind::kLet) continue;
      before = true;
      if (s.kind == StepKind::kRank) progress.ranked = true;
      if (s.kind != StepKind::kTensor && s.kind != StepKind::kRank) progress.done[s.element] = true;
      if (s.kind == StepKind::kBindSplice) progress.ranked = true;
    }
    const Node& dtype = pool_.at(tensor.dtype);
    if (dtype.op == Op::kSymbol) {
      const auto symbol = static_cast<std::size_t>(dtype.value);
      if (data_.symbols[symbol].kind == SymbolKind::kDType && !known_[symbol] &&
          !foreign_dtypes[symbol]) {
        known_[symbol] = true;
        progress.binds_dtype = true;
        binders_[static_cast<std::uint32_t>(symbol)] = progress_.size();
      }
    }
    progress.finished_before = before && !progress.binds_dtype;
    return progress;
  }
  void touch(Progress& progress, std::vector<Step>& steps) {
    if (progress.touched || progress.finished_before) return;
    progress.touched = true;
    const TensorTerm& tensor = *progress.tensor;
    if (!progress.binds_dtype) solve_dtypes(tensor.dtype, steps);
    Step step;
    step.tensor = tensor.symbol;
    step.binds_dtype = progress.binds_dtype;
    if (step.binds_dtype) step.target = static_cast<std::uint32_t>(pool_.at(tensor.dtype).value);
    steps.push_back(step);
  }
  /// A step that reads a dtype index stands behind the tensor that solves it.
  void solve_dtypes(Expr e, std::vector<Step>& steps) {
    std::vector<std::uint32_t> names;
    collect_symbols(pool_, e, names, false);
    for (const std::uint32_t s : names) {
      if (const auto binder = binders_.find(s); binder != binders_.end())
        touch(progress_[binder->second], steps);
    }
  }
  /// A list is solved in one step, once nothing is unknown but what its elements bind.
  bool advance_list(Progress& progress, std::vector<Step>& steps) {
    if (progress.ranked) return false;
    const TensorTerm& tensor = *progress.tensor;
    Step step;
    step.kind = StepKind::kList;
    step.tensor = tensor.symbol;
    std::size_t unknown_splices = 0;
    for (const Element& e : tensor.elements) {
      std::vector<std::uint32_t> names;
      collect_symbols(pool_, e.expr, names, false);
      std::erase_if(names, [&](std::uint32_t s) { return static_cast<bool>(known_[s]); });
      if (names.empty()) continue;
      const Node& n = pool_.at(e.expr);
      const bool item = n.op == Op::kSubscript &&
                        pool_.at(pool_.child(e.expr, 0)).op == Op::kSymbol &&
                        pool_.at(pool_.child(e.expr, 1)).op == Op::kFormal;
      const SymbolKind kind = data_.symbols[names.front()].kind;
      const bool binds = e.splice ? item && kind == SymbolKind::kSeqShape
                                  : (item && kind == SymbolKind::kSeqDim) ||
                                        (n.op == Op::kSymbol && kind == SymbolKind::kDim);
      if (names.size() != 1 || !binds) return false;
      unknown_splices += e.splice ? 1 : 0;
      if (std::find(step.targets.begin(), step.targets.end(), names.front()) == step.targets.end())
        step.targets.push_back(names.front());
    }
    if (unknown_splices > 1) return false;
    touch(progress, steps);
    for (const Element& e : tensor.elements) solve_dtypes(e.expr, steps);
    for (const std::uint32_t s : step.targets) bind(s);
    steps.push_back(std::move(step));
    progress.ranked = true;
    return true;
  }
  bool advance(Progress& progress, std::vector<Step>& steps) {
    const TensorTerm& tensor = *progress.tensor;
    if (tensor_decl(data_, tensor.symbol).list) return advance_list(progress, steps);
    bool any = false;
    if (!progress.ranked &&
        std::none_of(tensor.elements.begin(), tensor.elements.end(), [&](const Element& e) {
          return e.splice && !all_known(e.expr);
        })) {
      touch(progress, steps);
      for (const Element& e : tensor.elements) {
        if (e.splice) solve_dtypes(e.expr, steps);
      }
      Step step;
      step.kind = StepKind::kRank;
      step.tensor = tensor.symbol;
      steps.push_back(step);
      progress.ranked = true;
    }
    for (std::uint32_t i = 0; i < tensor.elements.size(); ++i) {
      if (progress.done[i]) continue;
      Step step;
      step.tensor = tensor.symbol;
      step.element = i;
      if (!ready(tensor, i, step)) continue;
      touch(progress, steps);
      solve_dtypes(tensor.elements[i].expr, steps);
      steps.push_back(step);
      progress.done[i] = true;
      progress.ranked = progress.ranked || step.kind == StepKind::kBindSplice;
      any = true;
    }
    return any;
  }
  bool add_lets(std::vector<Step>& steps) {
    bool any = false;
    for (std::uint32_t i = 0; i < lets_.size(); ++i) {
      const std::uint32_t symbol = data_.first_let + i;
      if (lets_[i] == kNoExpr || known_[symbol] || !all_known(lets_[i])) continue;
      known_[symbol] = true;
      solve_dtypes(lets_[i], steps);
      Step step;
      step.kind = StepKind::kLet;
      step.target = symbol;
      step.expr = lets_[i];
      steps.push_back(step);
      any = true;
    }
    return any;
  }

  [[nodiscard]] bool ready(const TensorTerm& tensor, std::uint32_t at, Step& step) const {
    bool before = true;
    bool after = true;
    std::size_t unknown_splices = 0;
    for (std::uint32_t i = 0; i < tensor.elements.size(); ++i) {
      const Element& e = tensor.elements[i];
      if (!e.splice || all_known(e.expr)) continue;
      ++unknown_splices;
      if (i < at) before = false;
      if (i > at) after = false;
    }
    const Element& element = tensor.elements[at];
    if (element.splice) {
      if (!before || !after) return false;
      if (all_known(element.expr)) {
        step.kind = StepKind::kCheckSplice;
        return true;
      }
      if (pool_.at(element.expr).op != Op::kSymbol || unknown_splices != 1) return false;
      step.kind = StepKind::kBindSplice;
      step.target = static_cast<std::uint32_t>(pool_.at(element.expr).value);
      // A let waits for its names: its value is what it says, not what some tensor has.
      if (data_.symbols[step.target].kind != SymbolKind::kShape) return false;
      bind(step.target);
      return true;
    }
    if (!before && !after) return false;
    step.from_back = !before;
    if (all_known(element.expr)) {
      step.kind = StepKind::kCheckDim;
      return true;
    }
    std::vector<std::uint32_t> names;
    collect_symbols(pool_, element.expr, names, false);
    std::erase_if(names, [&](std::uint32_t s) { return static_cast<bool>(known_[s]); });
    if (names.size() != 1 || !is_affine(pool_, element.expr, names.front())) return false;
    step.target = names.front();
    if (data_.symbols[step.target].kind != SymbolKind::kDim) return false;
    step.kind =
        pool_.at(element.expr).op == Op::kSymbol ? StepKind::kBindDim : StepKind::kBindAffine;
    bind(step.target);
    return true;
  }
  void bind(std::uint32_t symbol) const { known_[symbol] = true; }

  const PlanData& data_;
  const Pool& pool_;
  std::vector<bool>& known_;
  const std::vector<Expr>& lets_;
  std::vector<Progress> progress_;                ///< of the tensors of this run
  std::map<std::uint32_t, std::size_t> binders_;  ///< which of them solves a dtype index
};

TensorTerm fold_tensor(
    const PlanData& data, Folder& folder, Pool& pool, std::uint32_t symbol, const Facts& facts) {
  TensorTerm term;
  term.symbol = symbol;
  term.passed = facts.presence[symbol] == 1;
  if (!term.passed) return term;
  const TensorData& source = tensor_data(data, symbol);
  term.dtype = folder.fold(source.dtype.root);
  const Expr shape = folder.shape(source.shape.root);
  if (term.dtype == kNoExpr || shape == kNoExpr) return term;
  for (const Expr kid : pool.children(shape)) {
    const bool splice = pool.at(kid).op == Op::kSplice;
    term.elements.push_back({splice ? pool.child(kid, 0) : kid, splice});
  }
  if (source.list_count.given()) term.list_count = folder.fold(source.list_count.root);
  return term;
}

/// A closed splice (a constant tuple) is as good as its items.
void read_term(const Pool& pool, const TensorTerm& term, std::vector<std::uint32_t>& names) {
  if (term.dtype != kNoExpr) collect_symbols(pool, term.dtype, names, false);
  for (const Element& e : term.elements) collect_symbols(pool, e.expr, names, false);
  if (term.list_count != kNoExpr) collect_symbols(pool, term.list_count, names, false);
}

/// Follows lets: folds those that are read, until none is new.
void reach_lets(const PlanData& data,
                Folder& folder,
                Pool& pool,
                std::vector<std::uint32_t>& names,
                std::vector<Expr>& lets) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Symbol& symbol = data.symbols[names[i]];
    if (symbol.kind != SymbolKind::kLet || lets[symbol.ordinal] != kNoExpr) continue;
    lets[symbol.ordinal] = folder.fold(data.lets[symbol.ordinal].root);
    if (lets[symbol.ordinal] != kNoExpr) collect_symbols(pool, lets[symbol.ordinal], names, false);
  }
}

bool reads_presence(const Pool& pool, Expr e) {
  if (pool.at(e).op == Op::kPresent) return true;
  return std::any_of(pool.children(e).begin(), pool.children(e).end(), [&](Expr k) {
    return reads_presence(pool, k);
  });
}

/// Dtype indices that some input declares bare: construction-time tensors leave those to the call.
std::vector<bool> dtypes_of_inputs(const PlanData& data) {
  std::vector<bool> found(data.symbols.size(), false);
  for (const TensorData& input : data.inputs) {
    if (data.pool.at(input.dtype.root).op == Op::kSymbol) {
      found[static_cast<std::size_t>(data.pool.at(input.dtype.root).value)] = true;
    }
  }
  return found;
}

std::vector<bool> known_parameters(const PlanData& data) {
  std::vector<bool> known(data.symbols.size(), false);
  for (std::size_t i = 0; i < known.size(); ++i)
    known[i] = data.symbols[i].kind == SymbolKind::kParam;
  return known;
}

/// Folds the refinements: those that are decided settle or reject, the others are returned with
/// their names added to `names`.
std::vector<RefinementTerm> fold_refinements(const PlanData& data,
                                             Folder& folder,
                                             Prefix& prefix,
                                             std::vector<std::uint32_t>& names) {
  std::vector<RefinementTerm> folded;
  for (std::uint32_t i = 0; i < data.refinements.size(); ++i) {
    const Expr e = folder.fold(data.refinements[i].root);
    folder.forget_error();
    if (e == kNoExpr) continue;
    const auto decided = constant_bool(prefix.pool, e);
    if (decided && !*decided && !prefix.rejected_by) prefix.rejected_by = i;
    if (decided) prefix.settled[i] = *decided;
    if (!decided && !reads_presence(prefix.pool, e)) {
      folded.push_back({i, e});
      collect_symbols(prefix.pool, e, names, false);
    }
  }
  return folded;
}

/// True where folding failed; the branch keeps its first error.
bool take_error(Folder& folder, Branch& branch, std::uint32_t symbol) {
  if (!folder.failed()) return false;
  if (!branch.error) {
    branch.error = folder.error();
    branch.error_symbol = symbol;
  }
  folder.forget_error();
  return true;
}

void fold_refinements(const PlanData& data,
                      const Prefix& prefix,
                      Folder& folder,
                      Branch& branch,
                      std::vector<std::uint32_t>& names) {
  for (std::uint32_t i = 0; i < data.refinements.size(); ++i) {
    const Expr e = folder.fold(data.refinements[i].root);
    if (take_error(folder, branch, static_cast<std::uint32_t>(data.symbols.size()) + i)) continue;
    const auto decided = constant_bool(branch.pool, e);
    if (decided && !*decided && !branch.rejected_by) branch.rejected_by = i;
    if (!decided && !prefix.settled[i]) branch.refinements.push_back({i, e});
    if (!decided) collect_symbols(branch.pool, e, names, false);
  }
}

/// Whether the call writes each input.
void fold_written(const PlanData& data, Folder& folder, Branch& branch) {
  for (std::uint32_t i = 0; i < data.inputs.size(); ++i) {
    const TensorDecl& decl = data.decl.inputs[i];
    bool written = decl.mutated == When::kAlways;
    if (decl.mutated == When::kConditional) {
      written =
          constant_bool(branch.pool, folder.fold(data.inputs[i].mutated.root)).value_or(false);
      take_error(folder, branch, data.first_input + i);
    }
    branch.written.push_back(written && branch.inputs[i].passed);
  }
}

}  // namespace

Prefix make_prefix(const PlanData& data, const Choices& choices) {
  Prefix prefix;
  prefix.choices = choices;
  prefix.facts = facts_of(data, choices);
  prefix.known = known_parameters(data);
  prefix.settled.assign(data.refinements.size(), false);
  Folder folder(data, prefix.facts, prefix.pool);

  std::vector<TensorTerm*> passed;
  for (std::uint32_t i = 0; i < data.construction_tensors.size(); ++i) {
    prefix.construction_tensors.push_back(
        fold_tensor(data, folder, prefix.pool, data.first_construction + i, prefix.facts));
    folder.forget_error();
  }
  for (TensorTerm& term : prefix.construction_tensors) {
    if (term.passed && term.dtype != kNoExpr) passed.push_back(&term);
  }
  std::vector<std::uint32_t> names;
  const std::vector<RefinementTerm> folded = fold_refinements(data, folder, prefix, names);
  // Sizes of tensors that every call passes, as far as construction knows them.
  std::vector<std::pair<std::uint32_t, Element>> sizes;
  for (std::uint32_t symbol = data.first_construction; symbol < data.out_symbol; ++symbol) {
    const TensorTerm term = fold_tensor(data, folder, prefix.pool, symbol, prefix.facts);
    folder.forget_error();
    for (const Element& e : term.elements) {
      if (tensor_decl(data, symbol).list) break;
      sizes.emplace_back(symbol, e);
      collect_symbols(prefix.pool, e.expr, names, false);
    }
  }
  std::vector<Expr> lets(data.lets.size(), kNoExpr);
  reach_lets(data, folder, prefix.pool, names, lets);
  folder.forget_error();
  for (Expr& let : lets) {
    if (let != kNoExpr && reads_presence(prefix.pool, let)) let = kNoExpr;
  }

  Solver solver(data, prefix.pool, prefix.known, lets);
  solver.run(passed, {}, dtypes_of_inputs(data), prefix.steps);
  for (const RefinementTerm& r : folded) {
    if (!solver.all_known(r.expr)) continue;
    prefix.refinements.push_back(r);
    prefix.settled[r.index] = true;
  }
  for (const auto& [symbol, element] : sizes) {
    if (!solver.all_known(element.expr) || reads_presence(prefix.pool, element.expr)) continue;
    prefix.sizes.push_back(element);
    prefix.size_owners.push_back(symbol);
  }
  return prefix;
}

Branch make_branch(const PlanData& data, const Prefix& prefix, const Choices& choices) {
  Branch branch;
  branch.choices = choices;
  branch.facts = facts_of(data, choices);
  branch.lets.assign(data.lets.size(), kNoExpr);
  branch.has_out = branch.facts.presence[data.out_symbol] == 1;
  Folder folder(data, branch.facts, branch.pool);
  std::vector<std::uint32_t> names;
  fold_refinements(data, prefix, folder, branch, names);
  if (branch.rejected_by) return branch;

  const auto fold_all =
      [&](std::uint32_t first, std::size_t count, std::vector<TensorTerm>& terms) {
        for (std::uint32_t i = 0; i < count; ++i) {
          terms.push_back(fold_tensor(data, folder, branch.pool, first + i, branch.facts));
          if (take_error(folder, branch, first + i)) terms.back().passed = false;
          if (terms.back().passed) read_term(branch.pool, terms.back(), names);
        }
      };
  fold_all(data.first_construction, data.construction_tensors.size(), branch.construction_tensors);
  fold_all(data.first_input, data.inputs.size(), branch.inputs);
  fold_all(data.first_output, data.outputs.size(), branch.outputs);
  fold_written(data, folder, branch);
  reach_lets(data, folder, branch.pool, names, branch.lets);
  take_error(folder, branch, data.first_let);
  if (branch.error) return branch;

  std::vector<bool> known = prefix.known;
  Solver solver(data, branch.pool, known, branch.lets);
  std::vector<TensorTerm*> passed;
  for (TensorTerm& term : branch.inputs) {
    if (term.passed) passed.push_back(&term);
  }
  // After the inputs: what construction has not settled of them. Their dtype is cast to what the
  // inputs say.
  for (TensorTerm& term : branch.construction_tensors) {
    if (term.passed) passed.push_back(&term);
  }
  solver.run(passed, prefix.steps, std::vector<bool>(data.symbols.size(), false), branch.steps);
  for (const std::uint32_t name : names) {
    const SymbolKind kind = data.symbols[name].kind;
    if (!known[name] && kind != SymbolKind::kOutput && kind != SymbolKind::kInput)
      branch.unsolved.push_back(name);
  }
  return branch;
}

}  // namespace tenon::signature
