// Visits the points of an entry: every branch is folded, its kinds checked again, its inference
// proved.
#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "compiler.hpp"

namespace tenon::manifest {

using signature::Choices;
using signature::Expr;
using signature::kNoExpr;
using signature::SymbolKind;

namespace {

/// Union-find over symbols.
class Links {
 public:
  explicit Links(std::size_t count) : parent_(count), used_(count, false) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t root(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void link(const std::vector<std::uint32_t>& names) {
    for (const std::uint32_t n : names) {
      parent_[root(n)] = root(names.front());
      used_[n] = true;
    }
  }
  [[nodiscard]] bool used(std::size_t i) const { return used_[i]; }

 private:
  std::vector<std::size_t> parent_;
  std::vector<bool> used_;
};

}  // namespace

Compiler::Groups Compiler::group_discriminants() const {
  Links links(data_.symbols.size());
  const auto read = [&](const signature::TextExpr& e, std::vector<std::uint32_t>& names) {
    if (e.given()) signature::collect_symbols(data_.pool, e.root, names, true);
  };
  for (std::uint32_t s = data_.first_construction; s < data_.out_symbol; ++s) {
    const signature::TensorData& tensor = signature::tensor_data(data_, s);
    std::vector<std::uint32_t> names{s};
    for (const signature::TextExpr* e :
         {&tensor.dtype, &tensor.shape, &tensor.optional, &tensor.mutated, &tensor.list_count})
      read(*e, names);
    if (signature::tensor_decl(data_, s).buffer_out) names.push_back(data_.out_symbol);
    links.link(names);
  }
  for (const signature::TextExpr& rule : data_.refinements) {
    std::vector<std::uint32_t> names;
    read(rule, names);
    if (!names.empty()) links.link(names);
  }
  for (std::uint32_t i = 0; i < data_.lets.size(); ++i) {
    std::vector<std::uint32_t> names{data_.first_let + i};
    read(data_.lets[i], names);
    links.link(names);
  }
  std::vector<std::uint32_t> conditions;  // of interfaces: their combinations are visited together
  for (const signature::InterfaceData& interface : data_.interfaces)
    read(interface.when, conditions);
  if (!conditions.empty()) links.link(conditions);
  std::map<std::size_t, std::vector<std::size_t>> by_root;
  for (std::size_t d = 0; d < data_.discriminants.size(); ++d) {
    const std::uint32_t symbol = data_.discriminants[d].symbol;
    if (links.used(symbol)) by_root[links.root(symbol)].push_back(d);
  }
  Groups groups;
  for (auto& [root, axes] : by_root) groups.axes.push_back(std::move(axes));
  return groups;
}

bool Compiler::accepted(const Choices& choices) const {
  const signature::Facts facts = signature::facts_of(data_, choices);
  signature::Pool pool;
  signature::Folder folder(data_, facts, pool);
  for (const signature::TextExpr& rule : data_.refinements) {
    const auto value = signature::constant_bool(pool, folder.fold(rule.root));
    folder.forget_error();
    if (value && !*value) return false;
  }
  return true;
}

namespace {

// Visits the combinations of some discriminants, the others as they are, until a visit says false.
template <class F>
void enumerate(const std::vector<std::size_t>& axes,
               const std::vector<std::size_t>& counts,
               Choices choices,
               const F& visit) {
  for (const std::size_t a : axes) choices[a] = 0;
  while (true) {
    if (!visit(choices)) return;
    std::size_t i = 0;
    while (i < axes.size() && ++choices[axes[i]] == static_cast<std::int32_t>(counts[axes[i]]))
      choices[axes[i++]] = 0;
    if (i == axes.size()) return;
  }
}

/// Beyond this many combinations an entry is refused.
constexpr std::size_t kMostPoints = 65536;

/// Of all groups; past the limit any number beyond it.
std::size_t combination_count(const std::vector<std::vector<std::size_t>>& groups,
                              const std::vector<std::size_t>& counts) {
  std::size_t total = 0;
  for (const std::vector<std::size_t>& axes : groups) {
    std::size_t size = 1;
    for (const std::size_t a : axes) size = std::min(size * counts[a], kMostPoints + 1);
    total = std::min(total + size, kMostPoints + 1);
  }
  return total;
}

bool is_family_fault(signature::FoldError::Kind kind) {
  return kind == signature::FoldError::Kind::kCases ||
         kind == signature::FoldError::Kind::kNotFinite;
}

void check_element(KindChecker& checker, const signature::Element& e) {
  if (e.splice) {
    checker.expect(e.expr, Kind::sequence(Kind::integer()), "a splice");
  } else {
    checker.expect(e.expr, Kind::integer(), "an axis");
  }
}

}  // namespace

void Compiler::check_points() {
  const Groups groups = group_discriminants();
  std::vector<std::size_t> counts;
  counts.reserve(data_.discriminants.size());
  for (const signature::Discriminant& d : data_.discriminants)
    counts.push_back(signature::choice_count(data_, d));
  // Each group is held at the first combination that no restriction rejects while the others are
  // open, or at zeros.
  Choices held(data_.discriminants.size(), 0);
  const std::size_t total = combination_count(groups.axes, counts);
  for (const std::vector<std::size_t>& axes : groups.axes) {
    if (total > kMostPoints) break;
    enumerate(axes, counts, Choices(data_.discriminants.size(), -1), [&](const Choices& c) {
      if (!accepted(c)) return true;
      for (const std::size_t a : axes) held[a] = c[a];
      return false;
    });
  }
  if (total > 256 && total <= kMostPoints) {
    diagnostics_
        .advisory(data_.decl.where,
                  data_.decl.name,
                  "signature",
                  "points.many",
                  fmt::format("{} combinations of discriminants are checked", total))
        .hint =
        "fewer optional tensors and enums that depend on each other check and specialise faster";
  }
  if (total > kMostPoints) {
    report(
        data_.decl.where, "signature", "points.too_many", "too many combinations of discriminants")
        .expected = fmt::format("at most {}", kMostPoints);
    return;
  }
  std::set<Choices> seen;
  for (const std::vector<std::size_t>& axes : groups.axes) {
    enumerate(axes, counts, held, [&](const Choices& c) {
      if (seen.insert(c).second && diagnostics_.error_count() < 200) check_point(c);
      return true;
    });
  }
  if (seen.empty()) check_point(held);
  if (accepted_points_ == 0 && !failed_) {
    report(data_.decl.where,
           "signature.shape_rules",
           "points.none",
           "every combination of discriminants is rejected")
        .hint = "no call can ever pass";
  }
}

void Compiler::check_point(const Choices& choices) {
  std::optional<std::uint32_t> unsettled;
  (void)signature::facts_of(data_, choices, &unsettled);
  if (unsettled) {
    const auto& decl = signature::tensor_decl(data_, *unsettled);
    report(decl.where,
           "signature",
           "tensor.condition",
           fmt::format("the condition of '{}' reads more than discriminants: {}",
                       decl.name,
                       decl.optional_text))
        .expected = "Bool and enum parameters, presence, constructors";
    return;
  }
  Choices at_construction = choices;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const SymbolKind kind = data_.symbols[data_.discriminants[i].symbol].kind;
    if (kind != SymbolKind::kParam && kind != SymbolKind::kConstruction) at_construction[i] = -1;
  }
  const signature::Prefix prefix = signature::make_prefix(data_, at_construction);
  const signature::Branch branch = signature::make_branch(data_, prefix, choices);
  if (branch.error) {
    const bool rule = branch.error_symbol >= data_.symbols.size();
    const SourceLocation& where =
        rule ? data_.refinements[branch.error_symbol - data_.symbols.size()].where
             : data_.symbols[branch.error_symbol].where;
    const bool cases = is_family_fault(branch.error->kind);
    report(where,
           rule ? "signature.shape_rules" : "signature",
           cases ? "family.cases" : "expr.value",
           fmt::format("{} ({})", branch.error->text, describe(choices)));
    return;
  }
  if (branch.rejected_by) return;
  ++accepted_points_;
  for (std::uint32_t i = 0; i < branch.inputs.size(); ++i) {
    if (data_.decl.inputs[i].mutated != When::kConditional) continue;
    signature::Pool pool;
    signature::Folder folder(data_, branch.facts, pool);
    if (!signature::constant_bool(pool, folder.fold(data_.inputs[i].mutated.root))) {
      report(data_.inputs[i].mutated.where,
             "signature.inputs." + data_.decl.inputs[i].name + ".mutated",
             "tensor.condition",
             fmt::format("the condition '{}' reads more than discriminants",
                         data_.inputs[i].mutated.text))
          .expected = "Bool and enum parameters, presence, constructors";
    }
  }
  std::vector<std::uint32_t> written;
  for (std::uint32_t i = 0; i < branch.written.size(); ++i) {
    if (branch.written[i]) written.push_back(i);
  }
  if (std::find(written_sets_.begin(), written_sets_.end(), written) == written_sets_.end())
    written_sets_.push_back(written);
  for (const std::uint32_t s : branch.unsolved) {
    Diagnostic& d =
        report(data_.symbols[s].where,
               "signature",
               "infer.unsolved",
               fmt::format("nothing solves '{}' ({})", data_.symbols[s].name, describe(choices)));
    d.expected = data_.symbols[s].kind == SymbolKind::kDType
                     ? "a passed tensor with this bare dtype"
                     : "an input axis in which it is the only unknown";
  }
  check_branch_kinds(branch);
  check_branch_combos(branch);
  check_branch_roofline(branch);
  check_interfaces(branch);
  check_branch_metadata(branch);
}

std::string Compiler::describe(const Choices& choices) const {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const signature::Discriminant& d = data_.discriminants[i];
    using D = signature::Discriminant::Kind;
    const std::string& name = data_.symbols[d.symbol].name;
    std::string one;
    switch (d.kind) {
      case D::kBool:
        one = fmt::format("{}={}", name, choices[i] != 0);
        break;
      case D::kEnum:
        one = fmt::format("{}='{}'", name, d.names[static_cast<std::size_t>(choices[i])]);
        break;
      case D::kAdt: {
        if (d.maybe && choices[i] == 0) {
          one = fmt::format("{} absent", name);
          break;
        }
        const auto all = signature::adt_choices(data_.adts[d.adt]);
        const auto& facts = all[static_cast<std::size_t>(choices[i] - (d.maybe ? 1 : 0))];
        one = fmt::format("{}.kind='{}'", name, facts.constructor);
        for (const auto& [field, value] : facts.fields)
          one += fmt::format(", {}.{}={}", name, field, value.to_string());
        break;
      }
      default:
        one = fmt::format("{} {}", name, choices[i] != 0 ? "present" : "absent");
        break;
    }
    text += (text.empty() ? "at " : ", ") + one;
  }
  return text.empty() ? "always" : text;
}

void Compiler::check_branch_kinds(const signature::Branch& branch) {
  std::vector<Kind> kinds = symbol_kinds_;
  std::map<std::uint32_t, std::string> constructors;
  for (std::uint32_t s = 0; s < kinds.size(); ++s) {
    if (kinds[s].is(Kind::Tag::kMaybe) && branch.facts.presence[s] == 1)
      kinds[s] = Kind(kinds[s].items.front());
    if (branch.facts.adts[s]) constructors[s] = branch.facts.adts[s]->constructor;
  }
  SourceLocation where;
  std::string field;
  KindChecker checker(
      branch.pool, kinds, data_.adts, data_.symbol_names, [&](const KindError& error) {
        Diagnostic& d = report(where,
                               field,
                               "expr.kind",
                               fmt::format("{} ({})", error.text, describe(branch.choices)));
        d.expected = error.expected;
        d.hint = error.hint;
      });
  checker.set_at_point();
  checker.set_constructors(std::move(constructors));
  for (std::uint32_t i = 0; i < data_.lets.size(); ++i) {
    if (branch.lets[i] == kNoExpr) continue;
    where = data_.lets[i].where;
    field = "signature.let." + data_.symbols[data_.first_let + i].name;
    kinds[data_.first_let + i] = checker.check(branch.lets[i]);
  }
  const auto terms = [&](const std::vector<signature::TensorTerm>& list) {
    for (const signature::TensorTerm& term : list) {
      if (!term.passed) continue;
      const auto& data = signature::tensor_data(data_, term.symbol);
      where = data.shape.where;
      field = "signature." + data_.symbols[term.symbol].name + ".shape";
      checker.set_formals(list_scope(signature::tensor_decl(data_, term.symbol), {}).formal_kinds);
      for (const signature::Element& e : term.elements) check_element(checker, e);
      where = data.dtype.where;
      field = "signature." + data_.symbols[term.symbol].name + ".dtype";
      if (branch.pool.at(term.dtype).op != signature::Op::kString)
        checker.expect(term.dtype, Kind::any_dtype(), "the dtype");
    }
  };
  terms(branch.construction_tensors);
  terms(branch.inputs);
  terms(branch.outputs);
  for (const signature::RefinementTerm& r : branch.refinements) {
    where = data_.refinements[r.index].where;
    field = "signature.shape_rules";
    checker.expect(r.expr, Kind::boolean(), "the rule");
  }
}

void Compiler::check_branch_combos(const signature::Branch& branch) {
  if (data_.combos.empty()) return;
  std::vector<std::uint32_t> names;
  const auto read = [&](const std::vector<signature::TensorTerm>& terms) {
    for (const signature::TensorTerm& t : terms) {
      if (t.passed) signature::collect_symbols(branch.pool, t.dtype, names, false);
    }
  };
  read(branch.construction_tensors);
  read(branch.inputs);
  read(branch.outputs);
  for (const signature::RefinementTerm& r : branch.refinements)
    signature::collect_symbols(branch.pool, r.expr, names, false);
  for (const auto& [symbol, dtype] : data_.combos.front().assignment) {
    if (data_.symbols[symbol].kind != SymbolKind::kDType ||
        std::find(names.begin(), names.end(), symbol) != names.end())
      continue;
    report(data_.combos_where,
           "signature.dtype_combos",
           "combos.irrelevant",
           fmt::format(
               "'{}' is not relevant {}", data_.symbols[symbol].name, describe(branch.choices)))
        .expected = "names that every accepted branch reads";
  }
}

}  // namespace tenon::manifest
