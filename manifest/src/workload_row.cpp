// Rows: values converted, the branch taken, and what the row must give laid beside what it gives.
#include "workload_row.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tenon/core/nearest.hpp"
#include "tenon/core/signature/convert.hpp"
#include "tenon/core/signature/primitives.hpp"
#include "tenon/manifest/expr.hpp"

namespace tenon::manifest {

using signature::Cell;
using signature::Choices;
using signature::Discriminant;
using signature::Expr;
using signature::kNoExpr;
using signature::Op;
using signature::SymbolKind;

namespace {

bool is_size(const Value& value) {
  const auto* i = value.get_if<std::int64_t>();
  return i != nullptr && *i >= 0;
}

bool all_items(const Value& value, bool (*accept)(const Value&)) {
  const auto* list = value.get_if<ValueList>();
  return list != nullptr && std::all_of(list->items.begin(), list->items.end(), accept);
}

bool is_int(const Value& value) { return value.get_if<std::int64_t>() != nullptr; }

/// "repeat(512, 4)": a call of a value primitive over integer literals.
std::optional<Value> value_call(const std::string& text, std::string& why) {
  signature::Pool parsed;
  ExprError error;
  const Expr root = parse(text, Grammar::kCall, parsed, error);
  if (root == kNoExpr) {
    why = error.text;
    return std::nullopt;
  }
  const auto primitive = signature::primitive_index(parsed.text(root));
  if (!primitive || !signature::primitives()[*primitive].value_primitive) {
    why = fmt::format("'{}' is no value primitive", parsed.text(root));
    return std::nullopt;
  }
  signature::Pool pool;
  std::vector<Expr> args;
  for (const Expr kid : parsed.children(root)) {
    const bool negative = parsed.at(kid).op == Op::kNeg;
    const Expr literal = negative ? parsed.child(kid, 0) : kid;
    if (parsed.at(literal).op != Op::kInt) {
      why = "its arguments are not all integers";
      return std::nullopt;
    }
    args.push_back(signature::copy(parsed, kid, pool));
  }
  if (args.size() != signature::primitives()[*primitive].formals.size()) {
    why = fmt::format("'{}' takes {} arguments",
                      parsed.text(root),
                      signature::primitives()[*primitive].formals.size());
    return std::nullopt;
  }
  const Expr call = pool.add(Op::kPrimitive, 0, args, *primitive);
  signature::Arena arena;
  signature::Env env;
  env.pool = &pool;
  env.arena = &arena;
  env.error = &why;
  Cell out;
  if (!signature::evaluate(env, call, out)) return std::nullopt;
  return signature::value_of(out);
}

std::string_view kind_text(SymbolKind kind) {
  switch (kind) {
    case SymbolKind::kDim:
      return "an integer of at least 0";
    case SymbolKind::kShape:
      return "a list of integers of at least 0";
    case SymbolKind::kSeqInt:
      return "a list of integers, or a call such as \"repeat(512, 4)\"";
    case SymbolKind::kSeqShape:
      return "a list of shapes";
    default:
      return "a list of integers of at least 0";
  }
}

bool accepts(SymbolKind kind, const Value& value) {
  switch (kind) {
    case SymbolKind::kDim:
      return is_size(value);
    case SymbolKind::kShape:
    case SymbolKind::kSeqDim:
      return all_items(value, is_size);
    case SymbolKind::kSeqInt:
      return all_items(value, is_int);
    case SymbolKind::kSeqShape:
      return all_items(value, [](const Value& v) { return all_items(v, is_size); });
    default:
      return false;
  }
}

}  // namespace

RowInstantiator::RowInstantiator(const Entry& entry,
                                 const signature::PlanData& data,
                                 const SignaturePlan& plan,
                                 std::uint32_t row,
                                 DiagnosticList& diagnostics)
    : entry_(entry),
      data_(data),
      plan_(plan),
      index_(row),
      row_(entry.workloads[row]),
      diagnostics_(diagnostics),
      given_(data.symbols.size(), false) {}

Diagnostic& RowInstantiator::report(const SourceLocation& where,
                                    std::string_view key,
                                    std::string rule,
                                    std::string text) {
  std::string field = fmt::format("workloads[{}]", index_);
  if (!key.empty()) field += fmt::format(".{}", key);
  return diagnostics_.error(
      where, data_.decl.name, std::move(field), std::move(rule), std::move(text));
}

std::vector<WorkloadCase> RowInstantiator::run() {
  std::vector<WorkloadCase> cases;
  if (row_.faulty || !settle_params() || !take_branch()) return cases;
  fold_metadata();
  if (!skipped_.empty()) return cases;
  read_names();
  if (!check_given()) return cases;
  if (row_.dtype_cases.empty()) {
    if (!check_dtype_case(nullptr)) return cases;
    if (auto one = instantiate(nullptr)) cases.push_back(*std::move(one));
  }
  for (const DTypeCase& one : row_.dtype_cases) {
    if (!check_dtype_case(&one)) continue;
    if (auto made = instantiate(&one)) cases.push_back(*std::move(made));
  }
  return cases;
}

bool RowInstantiator::take_value(const std::string& key,
                                 const RawValue& value,
                                 const SourceLocation&) {
  for (std::uint32_t s = 0; s < data_.symbols.size(); ++s) {
    const signature::Symbol& symbol = data_.symbols[s];
    if (symbol.name != key || symbol.kind == SymbolKind::kParam) continue;
    Value taken = value.value;
    std::string why;
    if (const auto* text = taken.get_if<std::string>();
        text != nullptr && symbol.kind == SymbolKind::kSeqInt) {
      if (auto called = value_call(*text, why)) taken = *std::move(called);
    }
    if (!accepts(symbol.kind, taken)) {
      Diagnostic& d = report(
          value.where,
          key,
          "row.value",
          why.empty() ? fmt::format("{} is no value of {}", value.value.to_string(), key)
                      : fmt::format("{} cannot be evaluated: {}", value.value.to_string(), why));
      d.found = value.value.to_string();
      d.expected = std::string(kind_text(symbol.kind));
      return false;
    }
    values_[s] = std::move(taken);
    given_[s] = true;
    return true;
  }
  return true;
}

bool RowInstantiator::settle_params() {
  bool good = true;
  for (std::size_t i = 0; i < data_.decl.params.size(); ++i) {
    const ParamDecl& decl = data_.decl.params[i];
    const RawValue* written = nullptr;
    for (const auto& [key, value] : row_.values) {
      if (key == decl.name) written = &value;
    }
    if (written == nullptr && !decl.default_value) {
      Diagnostic& d = report(
          row_.where,
          "",
          "row.missing",
          fmt::format("the row does not give the parameter '{}', which has no default", decl.name));
      d.expected = fmt::format("{}: {}", decl.name, decl.type_text);
      good = false;
      params_.emplace_back();
      continue;
    }
    Result<Value> value =
        signature::convert(data_.param_types[i],
                           decl.type_text,
                           data_,
                           written != nullptr ? written->value : *decl.default_value);
    if (!value) {
      if (written != nullptr) {
        Diagnostic& d = report(written->where, decl.name, "row.value", value.error().message());
        d.found = written->value.to_string();
        d.expected = decl.type_text;
        d.hint = value.error().hint();
      }
      good = false;
    }
    params_.push_back(value ? *std::move(value) : Value());
  }
  for (std::size_t i = 0; i < row_.values.size(); ++i) {
    good = take_value(row_.values[i].first, row_.values[i].second, row_.key_places[i]) && good;
  }
  return good;
}

Choices RowInstantiator::choices() const {
  Choices out(data_.discriminants.size(), 0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Discriminant& d = data_.discriminants[i];
    const signature::Symbol& symbol = data_.symbols[d.symbol];
    if (d.kind == Discriminant::Kind::kTensorPresence) {
      out[i] = std::any_of(row_.some.begin(),
                           row_.some.end(),
                           [&](const Text& t) { return t.text == symbol.name; })
                   ? 1
                   : 0;
      continue;
    }
    if (symbol.kind != SymbolKind::kParam) continue;  // `out` is absent
    out[i] = std::max(0, signature::choice_of(data_, d, params_[symbol.ordinal]));
  }
  return out;
}

bool RowInstantiator::take_branch() {
  const Choices chosen = choices();
  Choices at_construction = chosen;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const SymbolKind kind = data_.symbols[data_.discriminants[i].symbol].kind;
    if (kind != SymbolKind::kParam && kind != SymbolKind::kConstruction) at_construction[i] = -1;
  }
  prefix_ = signature::make_prefix(data_, at_construction);
  branch_ = signature::make_branch(data_, prefix_, chosen);
  if (branch_.rejected_by) {
    const signature::TextExpr& rule = data_.refinements[*branch_.rejected_by];
    Diagnostic& d = report(
        row_.where, "", "row.rejected", fmt::format("the rule '{}' rejects the row", rule.text));
    d.expected = fmt::format("a row for which it holds ({})", rule.where.to_string());
    return false;
  }
  if (branch_.error) {
    report(row_.where, "", "row.branch", branch_.error->text);
    return false;
  }
  const auto note = [&](const std::vector<TensorDecl>& decls,
                        const std::vector<signature::TensorTerm>& terms) {
    for (std::size_t i = 0; i < decls.size(); ++i) {
      if (decls[i].optional != When::kNever) presence_[decls[i].name] = terms[i].passed;
    }
  };
  note(data_.decl.construction_tensors, branch_.construction_tensors);
  note(data_.decl.inputs, branch_.inputs);
  return true;
}

void RowInstantiator::fold_metadata() {
  signature::Folder folder(data_, branch_.facts, branch_.pool);
  const auto fold = [&](const signature::MetadataCall& call) {
    std::vector<Expr> args;
    for (const Expr arg : call.args) args.push_back(arg == kNoExpr ? kNoExpr : folder.fold(arg));
    folder.forget_error();
    if (!call.known && skipped_.empty())
      skipped_ = fmt::format("'{}' is not known here", call.name);
    return args;
  };
  const auto visit = [&](const std::vector<signature::TensorTerm>& terms) {
    for (const signature::TensorTerm& term : terms) {
      const signature::TensorData& data = signature::tensor_data(data_, term.symbol);
      if (!term.passed || !data.values) continue;
      GeneratedTerm generated;
      generated.symbol = term.symbol;
      generated.call = &*data.values;
      generated.args = fold(*data.values);
      generated.term = &term;
      generated.solved.assign(term.elements.size(), false);
      metadata_.push_back(std::move(generated));
      for (const signature::MetadataCall& call : data.requirements)
        requirement_args_[term.symbol].push_back(fold(call));
    }
  };
  visit(branch_.construction_tensors);
  visit(branch_.inputs);
}

namespace {

void collect_terms(const signature::Pool& pool,
                   const std::vector<signature::TensorTerm>& terms,
                   std::vector<std::uint32_t>& names) {
  for (const signature::TensorTerm& term : terms) {
    if (!term.passed) continue;
    if (term.dtype != kNoExpr) signature::collect_symbols(pool, term.dtype, names, false);
    for (const signature::Element& e : term.elements) {
      if (e.expr != kNoExpr) signature::collect_symbols(pool, e.expr, names, false);
    }
  }
}

}  // namespace

/// Everything that the row's branch reads: terms, refinements, generator arguments, the roofline,
/// and through lets.
void RowInstantiator::read_names() {
  signature::Folder folder(data_, branch_.facts, branch_.pool);
  const auto read = [&](Expr e) {
    if (e != kNoExpr) signature::collect_symbols(branch_.pool, e, names_, false);
  };
  for (const auto* terms : {&branch_.construction_tensors, &branch_.inputs, &branch_.outputs})
    collect_terms(branch_.pool, *terms, names_);
  for (const signature::TextExpr& rule : data_.refinements) {
    refinements_.push_back(folder.fold(rule.root));
    folder.forget_error();
    read(refinements_.back());
  }
  for (const GeneratedTerm& term : metadata_) {
    for (const Expr arg : term.args) read(arg);
  }
  for (const auto& [symbol, calls] : requirement_args_) {
    for (const std::vector<Expr>& args : calls) {
      for (const Expr arg : args) read(arg);
    }
  }
  for (const signature::TextExpr* text : {&data_.flops, &data_.bytes}) {
    if (text->given()) read(folder.fold(text->root));
    folder.forget_error();
  }
  lets_.assign(data_.lets.size(), kNoExpr);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const signature::Symbol& symbol = data_.symbols[names_[i]];
    if (symbol.kind != SymbolKind::kLet || lets_[symbol.ordinal] != kNoExpr) continue;
    lets_[symbol.ordinal] = folder.fold(data_.lets[symbol.ordinal].root);
    folder.forget_error();
    read(lets_[symbol.ordinal]);
  }
}

bool RowInstantiator::check_given() {
  const auto is_index = [&](std::uint32_t s) {
    const SymbolKind kind = data_.symbols[s].kind;
    return kind == SymbolKind::kDim || kind == SymbolKind::kShape || kind == SymbolKind::kSeqInt ||
           kind == SymbolKind::kSeqShape || kind == SymbolKind::kSeqDim;
  };
  // What generators solve: they start from the parameters and the indices that no generated
  // tensor's shape reads.
  std::vector<std::uint32_t> in_generated;
  for (const GeneratedTerm& term : metadata_) {
    for (const signature::Element& e : term.term->elements)
      signature::collect_symbols(branch_.pool, e.expr, in_generated, false);
  }
  std::vector<bool> known(data_.symbols.size(), false);
  std::vector<bool> needed(data_.symbols.size(), false);
  for (std::uint32_t s = 0; s < known.size(); ++s)
    known[s] = data_.symbols[s].kind == SymbolKind::kParam;
  for (const std::uint32_t s : names_) {
    needed[s] = is_index(s);
    if ((needed[s] &&
         std::find(in_generated.begin(), in_generated.end(), s) == in_generated.end()) ||
        data_.symbols[s].kind == SymbolKind::kDType)
      known[s] = true;
  }
  std::vector<bool> before = known;
  std::vector<GeneratedTerm> terms = metadata_;
  (void)solve_order(known, terms);
  bool good = true;
  for (std::uint32_t s = 0; s < known.size(); ++s) {
    if (!is_index(s)) continue;
    const bool must = needed[s] && !(known[s] && !before[s]);
    if (must == given_[s]) continue;
    good = false;
    if (must) {
      Diagnostic& d =
          report(row_.where, "", "row.missing", fmt::format("the row does not give '{}'", name(s)));
      d.expected = fmt::format("{}: {}", name(s), kind_text(data_.symbols[s].kind));
      continue;
    }
    SourceLocation where = row_.where;
    for (std::size_t i = 0; i < row_.values.size(); ++i) {
      if (row_.values[i].first == name(s)) where = row_.key_places[i];
    }
    Diagnostic& d = report(
        where,
        name(s),
        "row.extra",
        needed[s] ? fmt::format("the row gives '{}', which a generator solves", name(s))
                  : fmt::format("the row gives '{}', which nothing reads on its branch", name(s)));
    d.expected = "exactly the indices that the branch reads and no generator solves";
    d.hint = "remove it";
  }
  return good;
}

bool RowInstantiator::check_dtype_case(const DTypeCase* one) {
  bool good = true;
  const SourceLocation& where = one != nullptr ? one->where : row_.where;
  for (std::uint32_t s = 0; s < data_.symbols.size(); ++s) {
    if (data_.symbols[s].kind != SymbolKind::kDType) continue;
    const bool relevant = std::find(names_.begin(), names_.end(), s) != names_.end();
    const bool assigned =
        one != nullptr && std::any_of(one->assignment.begin(),
                                      one->assignment.end(),
                                      [&](const auto& pair) { return pair.first == name(s); });
    if (relevant == assigned) continue;
    good = false;
    Diagnostic& d = report(
        where,
        "dtype_cases",
        "row.dtype",
        relevant ? fmt::format("no dtype is given for '{}'", name(s))
                 : fmt::format("a dtype is given for '{}', which nothing reads on this branch",
                               name(s)));
    d.expected = "exactly the DType indices that the branch reads";
  }
  return good;
}

bool RowInstantiator::all_known(Expr e, const std::vector<bool>& known) const {
  std::vector<std::uint32_t> names;
  signature::collect_symbols(branch_.pool, e, names, false);
  return std::all_of(names.begin(), names.end(), [&](std::uint32_t s) { return known[s]; });
}

namespace {

void check_coverage(const std::string& entry,
                    const TensorDecl& t,
                    const std::set<bool>& passed,
                    DiagnosticList& diagnostics) {
  if (t.optional == When::kNever || passed.size() == 2) return;
  const bool always = passed.count(true) != 0;
  Diagnostic& d = diagnostics.error(
      t.where,
      entry,
      "workloads",
      "row.coverage",
      fmt::format("no row {} the optional tensor '{}'", always ? "leaves out" : "passes", t.name));
  d.expected = "of an implemented entry: one row with it and one without";
  d.hint = always ? "add a row without it"
           : t.optional == When::kAlways
               ? fmt::format("add a row with 'some: [{}]'", t.name)
               : fmt::format("add a row where '{}' holds", t.optional_text);
}

}  // namespace

Workloads instantiate(const Entry& entry,
                      const signature::PlanData& data,
                      const SignaturePlan& plan,
                      DiagnosticList& diagnostics) {
  Workloads workloads;
  std::map<std::string, std::uint32_t> ids;
  std::map<std::string, std::set<bool>> presence;
  bool complete = true;
  for (std::uint32_t i = 0; i < entry.workloads.size(); ++i) {
    const std::size_t before = diagnostics.error_count();
    RowInstantiator row(entry, data, plan, i, diagnostics);
    std::vector<WorkloadCase> cases = row.run();
    complete = complete && diagnostics.error_count() == before && !entry.workloads[i].faulty;
    for (const auto& [tensor, passed] : row.presence()) presence[tensor].insert(passed);
    if (!row.skipped().empty())
      workloads.skipped.push_back({i, entry.workloads[i].label.text, row.skipped()});
    for (WorkloadCase& c : cases) {
      const auto [at, fresh] = ids.emplace(c.id, i);
      if (!fresh) {
        Diagnostic& d = diagnostics.error(
            entry.workloads[i].label.where,
            data.decl.name,
            fmt::format("workloads[{}].label", i),
            "row.id",
            fmt::format("the case id '{}' stands already for row {}", c.id, at->second));
        d.found = fmt::format("'{}' again", c.id);
        d.expected = "ids that are unique in the entry: label, dtypes, dtype parameters";
        d.hint = "give the row another label";
        continue;
      }
      workloads.cases.push_back(std::move(c));
    }
  }
  if (!data.decl.implemented || !complete) return workloads;
  for (const auto* decls : {&data.decl.construction_tensors, &data.decl.inputs}) {
    for (const TensorDecl& t : *decls)
      check_coverage(data.decl.name, t, presence[t.name], diagnostics);
  }
  return workloads;
}

Workloads instantiate(const Entry& entry, const Adts& adts, DiagnosticList& diagnostics) {
  std::optional<signature::PlanData> data = compile_data(entry, adts, diagnostics);
  if (!data) return {};
  const auto plan = signature::make_plan(*data);
  return instantiate(entry, *data, *plan, diagnostics);
}

}  // namespace tenon::manifest
