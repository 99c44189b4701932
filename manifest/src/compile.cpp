// Compiles an entry: declarations become symbols, texts become resolved expressions of checked
// kinds.
#include "tenon/manifest/compile.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "compiler.hpp"
#include "tenon/core/nearest.hpp"
#include "tenon/core/signature/convert.hpp"

namespace tenon::manifest {

using signature::Expr;
using signature::kNoExpr;
using signature::SymbolKind;
using signature::TypeTag;

Diagnostic& Compiler::report(const SourceLocation& where,
                             const std::string& field,
                             std::string rule,
                             std::string text) {
  failed_ = true;
  // The same fault at many points is one mistake: the first point stands for all.
  if (const std::size_t at = text.rfind(" (at "); at != std::string::npos && text.back() == ')') {
    const std::string key =
        fmt::format("{}|{}|{}|{}", where.to_string(), field, rule, text.substr(0, at));
    if (!said_at_points_.insert(key).second) return repeated_ = {};
  }
  return diagnostics_.error(where, entry_.decl.name, field, std::move(rule), std::move(text));
}

KindChecker Compiler::checker(const Text& text, const ExprScope& scope) {
  KindChecker result(
      data_.pool,
      symbol_kinds_,
      data_.adts,
      data_.symbol_names,
      [this, text, scope](const KindError& error) {
        const std::uint32_t column = error.at == kNoExpr ? 0 : data_.pool.at(error.at).column;
        Diagnostic& d = report(text.at(column), scope.field, "expr.kind", error.text);
        d.expected = error.expected;
        d.hint = error.hint;
      });
  result.set_formals(scope.formal_kinds);
  result.set_families(family_formals_);
  return result;
}

// ---- Symbols
// ------------------------------------------------------------------------------------------

namespace {

Kind kind_of_index(const IndexDecl& i) {
  switch (i.kind) {
    case IndexKind::kDim:
      return Kind::dimension();
    case IndexKind::kShape:
      return Kind::shape();
    case IndexKind::kDType:
      return Kind::dtype(i.dtypes);
    case IndexKind::kSeqInt:
      return Kind::sequence(Kind::integer());
    case IndexKind::kSeqShape:
      return Kind::sequence(Kind::shape());
    case IndexKind::kSeqDim:
      return Kind::sequence(Kind::dimension());
  }
  return Kind::unknown();
}

}  // namespace

void Compiler::declare_symbols() {
  const auto add = [&](const std::string& name,
                       SymbolKind kind,
                       std::size_t ordinal,
                       const SourceLocation& where) -> signature::Symbol& {
    const auto index = static_cast<std::uint32_t>(data_.symbols.size());
    signature::Symbol symbol;
    symbol.name = name;
    symbol.kind = kind;
    symbol.ordinal = static_cast<std::uint32_t>(ordinal);
    symbol.where = where;
    data_.symbols.push_back(std::move(symbol));
    data_.symbol_names.push_back(name);
    symbol_kinds_.push_back(Kind::unknown());
    symbol_by_name_.emplace(name, index);
    return data_.symbols.back();
  };
  const auto first = [&] { return static_cast<std::uint32_t>(data_.symbols.size()); };
  std::map<SymbolKind, std::size_t> counts;
  for (const IndexDecl& index : entry_.indices) {
    static constexpr std::pair<IndexKind, SymbolKind> kKinds[] = {
        {IndexKind::kDim, SymbolKind::kDim},
        {IndexKind::kShape, SymbolKind::kShape},
        {IndexKind::kDType, SymbolKind::kDType},
        {IndexKind::kSeqInt, SymbolKind::kSeqInt},
        {IndexKind::kSeqShape, SymbolKind::kSeqShape},
        {IndexKind::kSeqDim, SymbolKind::kSeqDim}};
    const SymbolKind kind = kKinds[static_cast<std::size_t>(index.kind)].second;
    add(index.name, kind, counts[kind]++, index.source.where).dtypes = index.dtypes;
    symbol_kinds_.back() = index.faulty ? Kind::unknown() : kind_of_index(index);
  }
  data_.first_param = first();
  for (std::size_t i = 0; i < data_.decl.params.size(); ++i) {
    add(data_.decl.params[i].name, SymbolKind::kParam, i, data_.decl.params[i].where);
  }
  data_.first_let = first();
  for (std::size_t i = 0; i < entry_.lets.size(); ++i)
    add(entry_.lets[i].name, SymbolKind::kLet, i, entry_.lets[i].value.where);
  const auto tensors = [&](const std::vector<TensorDecl>& decls, SymbolKind kind) {
    const std::uint32_t start = first();
    for (std::size_t i = 0; i < decls.size(); ++i) add(decls[i].name, kind, i, decls[i].where);
    return start;
  };
  data_.first_construction = tensors(data_.decl.construction_tensors, SymbolKind::kConstruction);
  data_.first_input = tensors(data_.decl.inputs, SymbolKind::kInput);
  data_.first_output = tensors(data_.decl.outputs, SymbolKind::kOutput);
  data_.out_symbol = first();
  add("out", SymbolKind::kOut, 0, data_.decl.where);
}

void Compiler::declare_params() {
  for (std::size_t i = 0; i < data_.decl.params.size(); ++i) {
    ParamDecl& param = data_.decl.params[i];
    const std::string field = "signature.params." + param.name;
    data_.param_types.push_back(param_type(entry_.params[i].type));
    const signature::ParamType& type = data_.param_types.back();
    const std::uint32_t symbol = data_.first_param + static_cast<std::uint32_t>(i);
    symbol_kinds_[symbol] = kind_of(type);
    for (const signature::TypeMember& m : type.members) {
      if (m.tag == TypeTag::kDType) data_.symbols[symbol].dtypes = m.dtypes;
    }
    if (!entry_.params[i].default_value || (type.members.empty() && !type.maybe)) continue;
    auto converted =
        signature::convert(type, param.type_text, data_, entry_.params[i].default_value->value);
    if (converted) {
      param.default_value = std::move(*converted);
      continue;
    }
    Diagnostic& d = report(entry_.params[i].default_value->where,
                           field + ".default",
                           "param.default",
                           fmt::format("the default {}", converted.error().message()));
    d.found = entry_.params[i].default_value->value.to_string();
    d.expected = param.type_text;
    d.hint = converted.error().hint();
  }
}

void Compiler::declare_lets() {
  for (const LetDecl& let : entry_.lets) {
    ExprScope scope;
    scope.field = "signature.let." + let.name;
    data_.lets.push_back(expression(let.value, Grammar::kExpression, scope));
  }
}

void Compiler::declare_tensors() {
  const auto declare = [&](const std::vector<TensorEntry>& sources,
                           const std::vector<TensorDecl>& decls,
                           const char* section,
                           std::vector<signature::TensorData>& out) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const TensorEntry& source = sources[i];
      const std::string field = std::string("signature.") + section + "." + decls[i].name;
      ExprScope scope;
      signature::TensorData tensor;
      scope.field = field + ".dtype";
      scope.dtype_names = true;
      tensor.dtype = expression(source.dtype, Grammar::kExpression, scope);
      scope.dtype_names = false;
      scope.field = field + ".shape";
      tensor.shape = expression(source.shape, Grammar::kShape, list_scope(decls[i], scope));
      scope.field = field + (std::string_view(section) == "outputs" ? ".nullable" : ".optional");
      tensor.optional = expression(source.optional, Grammar::kExpression, scope);
      scope.field = field + ".mutated";
      tensor.mutated = expression(source.mutated, Grammar::kExpression, scope);
      scope.field = field + ".list";
      tensor.list_count = expression(source.list_count, Grammar::kExpression, scope);
      check_tensor_kinds(tensor, decls[i], source, field);
      out.push_back(std::move(tensor));
    }
  };
  declare(entry_.construction_tensors,
          data_.decl.construction_tensors,
          "params",
          data_.construction_tensors);
  declare(entry_.inputs, data_.decl.inputs, "inputs", data_.inputs);
  declare(entry_.outputs, data_.decl.outputs, "outputs", data_.outputs);
  for (std::size_t i = 0; i < entry_.families.size(); ++i) {
    if (family_applied_[i] || failed_ || entry_.faulty)
      continue;  // the shape that applies it may be what is wrong
    report(entry_.families[i].where,
           "signature.types." + entry_.families[i].name,
           "family.unused",
           fmt::format("no shape applies type family '{}'", entry_.families[i].name))
        .hint = "remove it";
  }
}

ExprScope Compiler::list_scope(const TensorDecl& decl, ExprScope scope) {
  if (!decl.list) return scope;
  scope.formals = {"i"};
  scope.formal_kinds = {Kind::dimension()};
  return scope;
}

void Compiler::check_tensor_kinds(const signature::TensorData& tensor,
                                  const TensorDecl& decl,
                                  const TensorEntry& source,
                                  const std::string& field) {
  ExprScope scope;
  const auto expect = [&](const signature::TextExpr& e,
                          const Text& text,
                          const char* key,
                          const Kind& kind,
                          const char* what) {
    if (!e.given()) return;
    scope.field = field + key;
    checker(text, scope).expect(e.root, kind, what);
  };
  expect(tensor.optional, source.optional, ".optional", Kind::boolean(), "the condition");
  expect(tensor.mutated, source.mutated, ".mutated", Kind::boolean(), "the condition");
  expect(tensor.list_count, source.list_count, ".list", Kind::integer(), "the number of elements");
  if (tensor.shape.given()) {
    scope.field = field + ".shape";
    checker(source.shape, list_scope(decl, scope)).check(tensor.shape.root);
  }
  if (!tensor.dtype.given()) return;
  scope.field = field + ".dtype";
  using signature::Op;
  const Op op = data_.pool.at(tensor.dtype.root).op;
  if (op == Op::kString) return;
  const Kind kind =
      checker(source.dtype, scope).expect(tensor.dtype.root, Kind::any_dtype(), "the dtype");
  if (op != Op::kSymbol && op != Op::kPrimitive && !kind.is(Kind::Tag::kUnknown)) {
    report(source.dtype.where,
           scope.field,
           "tensor.dtype",
           fmt::format("'{}' cannot be a dtype", source.dtype.text))
        .expected = "an index, a dtype parameter, a registered name, or a dtype primitive";
  }
}

void Compiler::declare_refinements() {
  for (std::size_t i = 0; i < entry_.shape_rules.size(); ++i) {
    ExprScope scope;
    scope.field = fmt::format("signature.shape_rules[{}]", i);
    scope.values = true;
    signature::TextExpr rule = expression(entry_.shape_rules[i], Grammar::kExpression, scope);
    if (!rule.given()) continue;
    checker(entry_.shape_rules[i], scope).expect(rule.root, Kind::boolean(), "the rule");
    data_.refinements.push_back(std::move(rule));
  }
}

void Compiler::declare_combos() {
  std::vector<std::string> keys;
  for (const DTypeComboRow& source : entry_.dtype_combos) {
    const std::string field = "signature.dtype_combos";
    signature::ComboRow row;
    std::vector<std::string> here;
    for (const auto& [name, text] : source.assignment) {
      here.push_back(name);
      const auto found = symbol_by_name_.find(name);
      const bool index =
          found != symbol_by_name_.end() && data_.symbols[found->second].kind == SymbolKind::kDType;
      const bool param = found != symbol_by_name_.end() &&
                         data_.symbols[found->second].kind == SymbolKind::kParam &&
                         symbol_kinds_[found->second].is(Kind::Tag::kDType);
      const auto dtype = dtype_from_name(text.text);
      if (!index && !param) {
        report(source.where,
               field,
               "combos.key",
               fmt::format("'{}' is neither a DType index nor a dtype parameter", name));
        continue;
      }
      if (!dtype || !data_.symbols[found->second].dtypes.contains(*dtype)) {
        Diagnostic& d = report(text.where,
                               field,
                               "combos.value",
                               fmt::format("'{}' is no dtype of {}", text.text, name));
        d.expected = print(symbol_kinds_[found->second]);
        continue;
      }
      row.assignment.emplace_back(found->second, *dtype);
    }
    std::sort(here.begin(), here.end());
    if (keys.empty()) keys = here;
    if (here != keys) {
      report(source.where, field, "combos.keys", "a row of other keys than the first").hint =
          "every row assigns the same names";
      continue;
    }
    std::sort(row.assignment.begin(), row.assignment.end());
    for (const signature::ComboRow& other : data_.combos) {
      if (other.assignment == row.assignment)
        report(source.where, field, "combos.twice", "a row that stands there already");
    }
    if (data_.combos.empty()) data_.combos_where = source.where;
    data_.combos.push_back(std::move(row));
  }
}

void Compiler::let_kinds() {
  // In order of dependence; what remains reads itself.
  std::vector<bool> done(data_.lets.size(), false);
  bool progress = true;
  while (progress) {
    progress = false;
    for (std::size_t i = 0; i < data_.lets.size(); ++i) {
      if (done[i] || !data_.lets[i].given()) continue;
      std::vector<std::uint32_t> names;
      signature::collect_symbols(data_.pool, data_.lets[i].root, names, false);
      const bool ready = std::all_of(names.begin(), names.end(), [&](std::uint32_t s) {
        return data_.symbols[s].kind != SymbolKind::kLet || done[data_.symbols[s].ordinal] ||
               !data_.lets[data_.symbols[s].ordinal].given();
      });
      if (!ready) continue;
      ExprScope scope;
      scope.field = "signature.let." + entry_.lets[i].name;
      symbol_kinds_[data_.first_let + i] =
          checker(entry_.lets[i].value, scope).check(data_.lets[i].root);
      done[i] = true;
      progress = true;
    }
  }
  for (std::size_t i = 0; i < data_.lets.size(); ++i) {
    if (done[i] || !data_.lets[i].given()) continue;
    report(entry_.lets[i].value.where,
           "signature.let." + entry_.lets[i].name,
           "let.cycle",
           fmt::format("let '{}' depends on itself", entry_.lets[i].name));
  }
}

void Compiler::fill_may_alias() {
  for (std::size_t i = 0; i < data_.decl.outputs.size(); ++i) {
    TensorDecl& output = data_.decl.outputs[i];
    if (data_.decl.flow != "elementwise" || entry_.outputs[i].has_may_alias ||
        !output.alias.empty())
      continue;
    output.may_alias.clear();
    for (const TensorDecl& input : data_.decl.inputs) output.may_alias.push_back(input.name);
  }
}

void Compiler::fill_dtypes() {
  const auto fill = [&](std::vector<TensorDecl>& decls,
                        const std::vector<signature::TensorData>& tensors) {
    for (std::size_t i = 0; i < decls.size(); ++i) {
      if (!tensors[i].dtype.given()) continue;
      const signature::Node& n = data_.pool.at(tensors[i].dtype.root);
      if (n.op == signature::Op::kString) {
        if (const auto d = dtype_from_name(data_.pool.text(tensors[i].dtype.root)))
          decls[i].dtypes.insert(*d);
        continue;
      }
      KindChecker quiet(
          data_.pool, symbol_kinds_, data_.adts, data_.symbol_names, [](const KindError&) {});
      const Kind kind = quiet.check(tensors[i].dtype.root);
      if (kind.is(Kind::Tag::kDType)) decls[i].dtypes = kind.dtypes;
    }
  };
  fill(data_.decl.construction_tensors, data_.construction_tensors);
  fill(data_.decl.inputs, data_.inputs);
  fill(data_.decl.outputs, data_.outputs);
}

namespace {

// What of a parameter's type selects the branch; false where nothing does.
bool discriminates(const signature::ParamType& type, signature::Discriminant& d) {
  using D = signature::Discriminant;
  if (type.members.size() != 1 && !type.maybe) return false;
  d.maybe = type.maybe;
  d.kind = D::Kind::kParamPresence;
  if (type.members.size() == 1) {
    const signature::TypeMember& m = type.members.front();
    d.adt = m.adt;
    if (m.tag == TypeTag::kAdt) d.kind = D::Kind::kAdt;
    if (m.tag == TypeTag::kBool && !type.maybe) d.kind = D::Kind::kBool;
    if (m.tag == TypeTag::kEnum && !type.maybe) {
      d.kind = D::Kind::kEnum;
      d.names = m.names;
    }
  }
  return d.kind != D::Kind::kParamPresence || type.maybe;
}

}  // namespace

void Compiler::declare_discriminants() {
  using D = signature::Discriminant;
  for (std::uint32_t s = 0; s < data_.symbols.size(); ++s) {
    const signature::Symbol& symbol = data_.symbols[s];
    D d;
    d.symbol = s;
    if (symbol.kind == SymbolKind::kParam) {
      if (!discriminates(data_.param_types[symbol.ordinal], d)) continue;
    } else if (signature::is_tensor(symbol.kind) && symbol.kind != SymbolKind::kOutput) {
      if (signature::tensor_decl(data_, s).optional != When::kAlways) continue;
      d.kind = D::Kind::kTensorPresence;
    } else if (symbol.kind == SymbolKind::kOut && data_.decl.buffered_output()) {
      d.kind = D::Kind::kOutPresence;
    } else {
      continue;
    }
    data_.discriminants.push_back(std::move(d));
  }
}

std::optional<signature::PlanData> Compiler::run() {
  data_.decl = entry_.decl;
  if (data_.decl.steps.empty() && !entry_.interfaces.empty())
    data_.decl.steps.push_back({"main", false});
  declare_adts();
  declare_symbols();
  declare_params();
  declare_families();
  declare_lets();
  let_kinds();
  declare_tensors();
  check_list_counts();
  check_device_param();
  declare_metadata();
  declare_refinements();
  declare_combos();
  declare_roofline();
  fill_may_alias();
  fill_dtypes();
  declare_discriminants();
  declare_interfaces();
  if (!failed_ && !entry_.faulty) check_points();
  if (!failed_ && !entry_.faulty) make_branches();
  if (failed_ || entry_.faulty) return std::nullopt;
  return std::move(data_);
}

std::optional<signature::PlanData> compile_data(const Entry& entry,
                                                const Adts& adts,
                                                DiagnosticList& diagnostics) {
  return Compiler(entry, adts, diagnostics).run();
}

std::shared_ptr<const SignaturePlan> compile(const Entry& entry,
                                             const Adts& adts,
                                             DiagnosticList& diagnostics) {
  std::optional<signature::PlanData> data = compile_data(entry, adts, diagnostics);
  if (!data) return nullptr;
  return signature::make_plan(std::move(*data));
}

}  // namespace tenon::manifest
