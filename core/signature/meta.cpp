// Inference on sizes given as ranges: the steps of a branch over intervals.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "signature/plan.hpp"
#include "signature/ranges.hpp"

namespace tenon::signature {
namespace {

std::string print(SizeRange r) {
  return r.low == r.high ? std::to_string(r.low) : fmt::format("{}..{}", r.low, r.high);
}

class RangedWalk {
 public:
  RangedWalk(const PlanData& data,
             const Instance& instance,
             const BranchEntry& entry,
             std::span<const std::optional<RangedTensor>> inputs)
      : data_(data),
        instance_(instance),
        branch_(entry.branch),
        entry_(entry),
        inputs_(inputs),
        evaluator_(entry.branch.pool, symbols_, arena_) {
    for (const Cell& cell : instance.cells) symbols_.push_back(Ranged::of(cell));
  }

  Result<RangedOutputs> run() {
    TENON_TRY(devices());
    for (const Step& s : branch_.steps) {
      TENON_TRY(step(s));
      guard_open();
    }
    for (const RefinementTerm& r : branch_.refinements) {
      const Ranged value = evaluator_.evaluate(r.expr);
      const TextExpr& source = data_.refinements[r.index];
      if (!evaluator_.failure().empty())
        return refuse(fmt::format("'{}' has no value: {}", source.text, evaluator_.failure()),
                      source.where);
      const auto known = value.as_bool();
      if (known == false)
        return refuse(fmt::format("'{}' holds for no sizes in the ranges", source.text),
                      source.where);
      if (known) guard_open();
      if (known) continue;
      guard(source.text);  // which has a value then
      (void)evaluator_.take_open();
    }
    TENON_TRY(combos());
    result_.branch = entry_.effect;
    for (std::uint32_t i = 0; i < branch_.outputs.size(); ++i) {
      TENON_TRY(output(i));
      guard_open();
    }
    return std::move(result_);
  }

 private:
  void guard(std::string condition) {
    auto& guards = result_.guards;
    if (std::find(guards.begin(), guards.end(), condition) == guards.end())
      guards.push_back(std::move(condition));
  }
  /// What the last evaluations left open.
  void guard_open() {
    for (const Expr e : evaluator_.take_open()) guard(text(e) + " has a value");
  }

  /// One call runs on one device.
  Result<void> devices() const {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i] || data_.decl.inputs[i].on_cpu) continue;
      if (!first) first = i;
      if (inputs_[*first]->device == inputs_[i]->device) continue;
      return refuse(fmt::format("{} is on {}, but {} is on {}: one call runs on one device",
                                data_.decl.inputs[*first].name,
                                inputs_[*first]->device.to_string(),
                                data_.decl.inputs[i].name,
                                inputs_[i]->device.to_string()),
                    data_.first_input + static_cast<std::uint32_t>(i));
    }
    return {};
  }

  /// Dtypes are known, so that a combination is there or is not.
  Result<void> combos() const {
    if (data_.combos.empty()) return {};
    for (const ComboRow& row : data_.combos) {
      const bool same =
          std::all_of(row.assignment.begin(), row.assignment.end(), [&](const auto& one) {
            const Ranged& found = symbols_[one.first];
            return found.is_exact() && equal(found.exact, Cell::dtype_of(one.second));
          });
      if (same) return {};
    }
    std::string found;
    for (const auto& [symbol, dtype] : data_.combos.front().assignment) {
      const Ranged& value = symbols_[symbol];
      found += fmt::format("{}{} = {}",
                           found.empty() ? "" : ", ",
                           name(symbol),
                           value.is_exact() ? value_of(value.exact).to_string() : "unknown");
    }
    return refuse(fmt::format("{} is no supported combination of dtypes", found),
                  data_.combos_where);
  }

  static tl::unexpected<Error> refuse(std::string text, const SourceLocation& where) {
    return fail(
        Error(ErrorCode::kSignatureMismatch, std::move(text)).with_where(where.to_string()));
  }
  tl::unexpected<Error> refuse(std::string text, std::uint32_t symbol) const {
    return fail(Error(ErrorCode::kSignatureMismatch, std::move(text))
                    .with_where(tensor_decl(data_, symbol).where.to_string())
                    .with("argument", data_.symbols[symbol].name));
  }
  const std::string& name(std::uint32_t symbol) const { return data_.symbols[symbol].name; }
  std::string text(Expr e) const { return signature::print(branch_.pool, e, data_.symbol_names); }

  std::vector<SizeRange> sizes_of(std::uint32_t symbol) const {
    const Symbol& s = data_.symbols[symbol];
    if (s.kind == SymbolKind::kInput) return inputs_[s.ordinal]->sizes;
    std::vector<SizeRange> sizes;
    for (const std::int64_t v : instance_.tensors()[s.ordinal]->shape()) sizes.push_back({v, v});
    return sizes;
  }
  const TensorTerm& term_of(std::uint32_t symbol) const {
    const Symbol& s = data_.symbols[symbol];
    return s.kind == SymbolKind::kInput ? branch_.inputs[s.ordinal]
                                        : branch_.construction_tensors[s.ordinal];
  }

  Result<std::int64_t> width(const Element& e, std::uint32_t symbol) {
    if (!e.splice) return 1;
    const auto sizes = evaluator_.evaluate(e.expr).as_sizes();
    if (!sizes)
      return refuse(fmt::format("the rank of {} in {} is not known", text(e.expr), name(symbol)),
                    symbol);
    return static_cast<std::int64_t>(sizes->size());
  }

  /// The axes that a step counts to find its place, all of them and those before a splice.
  Result<void> widths(const Step& s,
                      const TensorTerm& term,
                      std::int64_t& before,
                      std::int64_t& all) {
    for (std::size_t i = 0; i < term.elements.size(); ++i) {
      if (s.kind == StepKind::kBindSplice && i == s.element) {
        before = all;
        continue;
      }
      // Only the splices on the side from which the element is placed are known.
      const bool needed = s.kind == StepKind::kRank || s.kind == StepKind::kBindSplice ||
                          (s.from_back ? i >= s.element : i < s.element);
      std::int64_t w = 0;
      if (needed) TENON_TRY_ASSIGN(w, width(term.elements[i], s.tensor));
      all += w;
    }
    return {};
  }

  Result<void> step(const Step& s) {
    if (s.kind == StepKind::kLet) {
      symbols_[s.target] = evaluator_.evaluate(s.expr);
      if (!evaluator_.failure().empty())
        return refuse(fmt::format("{} has no value: {}", name(s.target), evaluator_.failure()),
                      data_.symbols[s.target].where);
      return {};
    }
    const TensorTerm& term = term_of(s.tensor);
    if (s.kind == StepKind::kTensor) return dtype(s, term);
    if (s.kind == StepKind::kList)
      return refuse(fmt::format("{} is a list, which ranges do not cover", name(s.tensor)),
                    s.tensor);
    const std::vector<SizeRange> sizes = sizes_of(s.tensor);
    std::int64_t before = 0;
    std::int64_t all = 0;
    TENON_TRY(widths(s, term, before, all));
    const auto rank = static_cast<std::int64_t>(sizes.size());
    const auto wrong_rank = [&] {
      return refuse(fmt::format("{} has rank {}, but is declared {}",
                                name(s.tensor),
                                rank,
                                tensor_decl(data_, s.tensor).shape_text),
                    s.tensor);
    };
    if (s.kind == StepKind::kRank) {
      if (all != rank) return wrong_rank();
      return {};
    }
    if (s.kind == StepKind::kBindSplice) {
      if (all > rank) return wrong_rank();
      symbols_[s.target] = Ranged::of(
          std::vector<SizeRange>(sizes.begin() + before, sizes.begin() + before + (rank - all)));
      return {};
    }
    const std::int64_t at = s.from_back ? rank - all : all;
    if (at < 0 || at >= rank + (s.kind == StepKind::kCheckSplice ? 1 : 0)) return wrong_rank();
    if (s.kind == StepKind::kCheckSplice) return splice(s, term, sizes, at);
    return axis(s, term.elements[s.element].expr, sizes[static_cast<std::size_t>(at)], at);
  }

  Result<void> dtype(const Step& s, const TensorTerm& term) {
    if (data_.symbols[s.tensor].kind != SymbolKind::kInput) return {};
    const DType given = inputs_[data_.symbols[s.tensor].ordinal]->dtype;
    if (s.binds_dtype) {
      if (!data_.symbols[s.target].dtypes.contains(given))
        return refuse(fmt::format("{} is {}, which {} does not allow",
                                  name(s.tensor),
                                  name_of(given),
                                  name(s.target)),
                      s.tensor);
      symbols_[s.target] = Ranged::of(Cell::dtype_of(given));
      return {};
    }
    const Ranged expected = evaluator_.evaluate(term.dtype);
    if (!expected.is_exact() || !equal(expected.exact, Cell::dtype_of(given)))
      return refuse(
          fmt::format("{} is {}, expected {}", name(s.tensor), name_of(given), text(term.dtype)),
          s.tensor);
    return {};
  }

  /// `size` and `expected` must be equal: impossible, certain, or a guard.
  Result<void> meet(const Step& s,
                    Expr e,
                    SizeRange size,
                    SizeRange expected,
                    std::int64_t at,
                    const std::string& label) {
    const SizeRange both{std::max(size.low, expected.low), std::min(size.high, expected.high)};
    if (both.low > both.high) {
      return refuse(fmt::format("{} has size {} on axis {}, but {} is {}",
                                name(s.tensor),
                                print(size),
                                at,
                                label,
                                print(expected)),
                    s.tensor);
    }
    if (size.low != size.high || expected.low != expected.high) {
      guard(fmt::format("size of {} on axis {} == {}", name(s.tensor), at, label));
      if (branch_.pool.at(e).op == Op::kSymbol &&
          data_.symbols[static_cast<std::size_t>(branch_.pool.at(e).value)].kind ==
              SymbolKind::kDim) {
        symbols_[static_cast<std::size_t>(branch_.pool.at(e).value)] = Ranged::of(both);
      }
    }
    return {};
  }

  Result<void> axis(const Step& s, Expr e, SizeRange size, std::int64_t at) {
    if (s.kind == StepKind::kBindDim) {
      symbols_[s.target] = Ranged::of(size);
      return {};
    }
    if (s.kind == StepKind::kCheckDim) {
      const auto expected = evaluator_.evaluate(e).as_interval();
      if (!expected)
        return refuse(fmt::format("{} has no value: {}", text(e), evaluator_.failure()), s.tensor);
      return meet(s, e, size, *expected, at, text(e));
    }
    symbols_[s.target] = Ranged::of(Cell::integer(0));
    const auto zero = evaluator_.evaluate(e).as_interval();
    symbols_[s.target] = Ranged::of(Cell::integer(1));
    const auto one = evaluator_.evaluate(e).as_interval();
    if (!zero || !one) return refuse(fmt::format("{} has no value", text(e)), s.tensor);
    const std::int64_t slope = one->low - zero->low;
    std::int64_t low = 0;
    std::int64_t high = 0;
    if (slope <= 0 || !floor_div(size.low - zero->high + slope - 1, slope, low) ||
        !floor_div(size.high - zero->low, slope, high) || high < std::max<std::int64_t>(low, 0)) {
      return refuse(fmt::format("{} has size {} on axis {}, which {} never is",
                                name(s.tensor),
                                print(size),
                                at,
                                text(e)),
                    s.tensor);
    }
    if (size.low != size.high && (slope != 1 || low < 0))
      guard(fmt::format("size of {} on axis {} is {}", name(s.tensor), at, text(e)));
    symbols_[s.target] = Ranged::of(SizeRange{std::max<std::int64_t>(low, 0), high});
    return {};
  }

  Result<void> splice(const Step& s,
                      const TensorTerm& term,
                      const std::vector<SizeRange>& sizes,
                      std::int64_t at) {
    const Expr e = term.elements[s.element].expr;
    const auto expected = evaluator_.evaluate(e).as_sizes();
    if (!expected)
      return refuse(fmt::format("{} has no value: {}", text(e), evaluator_.failure()), s.tensor);
    if (at + static_cast<std::int64_t>(expected->size()) >
        static_cast<std::int64_t>(sizes.size())) {
      return refuse(fmt::format("{} has rank {}, but is declared {}",
                                name(s.tensor),
                                sizes.size(),
                                tensor_decl(data_, s.tensor).shape_text),
                    s.tensor);
    }
    for (std::size_t i = 0; i < expected->size(); ++i) {
      const auto place = static_cast<std::size_t>(at) + i;
      TENON_TRY(meet(s,
                     e,
                     sizes[place],
                     (*expected)[i],
                     static_cast<std::int64_t>(place),
                     fmt::format("{}[{}]", text(e), i)));
    }
    return {};
  }

  Result<void> output(std::uint32_t index) {
    RangedOutputs::Output& out = result_.outputs.emplace_back();
    const TensorTerm& term = branch_.outputs[index];
    out.present = term.passed;
    out.alias_input = entry_.outputs[index].alias_input;
    if (!term.passed) return {};
    if (term.list_count != kNoExpr)
      return refuse(fmt::format("{} is a list, which ranges do not cover", name(term.symbol)),
                    term.symbol);
    const Ranged dtype = evaluator_.evaluate(term.dtype);
    if (dtype.is_exact() && dtype.exact.tag == Tag::kDType) {
      out.dtype = dtype.exact.dtype();
    } else if (const auto named = dtype.is_exact() && dtype.exact.tag == Tag::kStr
                                      ? dtype_from_name(dtype.exact.str())
                                      : std::nullopt) {
      out.dtype = *named;
    } else {
      return refuse(fmt::format("the dtype of {} is not known", name(term.symbol)), term.symbol);
    }
    for (const Element& e : term.elements) {
      const Ranged value = evaluator_.evaluate(e.expr);
      const auto sizes = e.splice ? value.as_sizes() : std::nullopt;
      const auto one = e.splice ? std::nullopt : value.as_interval();
      if (!sizes && !one)
        return refuse(
            fmt::format(
                "{} of {} has no value: {}", text(e.expr), name(term.symbol), evaluator_.failure()),
            term.symbol);
      for (SizeRange r : sizes ? *sizes : std::vector<SizeRange>{*one}) {
        if (r.high < 0)
          return refuse(fmt::format("{} would have size {} on axis {}",
                                    name(term.symbol),
                                    print(r),
                                    out.sizes.size()),
                        term.symbol);
        if (r.low < 0) guard(fmt::format("{} >= 0", text(e.expr)));
        r.low = std::max<std::int64_t>(r.low, 0);
        out.sizes.push_back(r);
      }
    }
    return {};
  }

  const PlanData& data_;
  const Instance& instance_;
  const Branch& branch_;
  const BranchEntry& entry_;
  std::span<const std::optional<RangedTensor>> inputs_;
  std::vector<Ranged> symbols_;
  Arena arena_;
  RangeEvaluator evaluator_;
  RangedOutputs result_;
};

}  // namespace

Result<RangedOutputs> Plan::infer_ranges(const Construction& construction,
                                         std::span<const std::optional<RangedTensor>> inputs,
                                         bool with_out) const {
  const auto& instance = static_cast<const Instance&>(construction);
  const auto refuse = [&](std::string text) {
    return fail(
        Error(ErrorCode::kSignatureMismatch, std::move(text)).with_where(decl_.where.to_string()));
  };
  if (inputs.size() != decl_.inputs.size())
    return refuse(
        fmt::format("{} takes {} inputs, not {}", decl_.name, decl_.inputs.size(), inputs.size()));
  std::uint64_t mask = with_out ? out_bit_ : 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] && decl_.inputs[i].optional == When::kNever)
      return refuse(fmt::format("{} needs its input '{}'", decl_.name, decl_.inputs[i].name));
    for (std::size_t k = 0; inputs[i] && k < inputs[i]->sizes.size(); ++k) {
      const SizeRange r = inputs[i]->sizes[k];
      if (r.low < 0 || r.low > r.high)
        return refuse(fmt::format(
            "{} has no size in {}..{} on axis {}", decl_.inputs[i].name, r.low, r.high, k));
    }
  }
  for (std::size_t bit = 0; bit < optional_inputs_.size(); ++bit) {
    if (inputs[optional_inputs_[bit]]) mask |= std::uint64_t{1} << bit;
  }
  const BranchEntry& entry = branch_for(*instance.prefix, mask & deciding_bits_);
  if (entry.branch.rejected_by) {
    const TextExpr& source = data_.refinements[*entry.branch.rejected_by];
    return fail(
        Error(ErrorCode::kSignatureMismatch,
              fmt::format("'{}' does not hold for the inputs that are present", source.text))
            .with_where(source.where.to_string()));
  }
  if (entry.branch.error) return refuse(entry.branch.error->text);
  if (entry.expected_mask != mask) return fail(presence_failure({}, entry, mask));
  return RangedWalk(data_, instance, entry, inputs).run();
}

}  // namespace tenon::signature
