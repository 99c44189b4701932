// Interfaces: call fields with their kinds, arguments, contracts; effect branches with their
// schemas.
#include <algorithm>

#include <fmt/format.h>

#include "compiler.hpp"
#include "tenon/core/contract.hpp"
#include "tenon/core/nearest.hpp"
#include "tenon/core/schema_of.hpp"
#include "tenon/core/signature/evaluate.hpp"

namespace tenon::manifest {

using signature::Expr;
using signature::kNoExpr;
using signature::Op;
using signature::SymbolKind;
using signature::TypeTag;
using Tag = Kind::Tag;

namespace {

/// The kinds that `flow.<kind>` may name, and what kind of name the field then is in argument
/// shapes.
struct FlowKind {
  std::string_view text;
  std::uint32_t kind;
};
constexpr FlowKind kFlowKinds[] = {
    {"flow.int", TENON_VALUE_INT},
    {"flow.float", TENON_VALUE_FLOAT},
    {"flow.number", TENON_FIELD_NUMBER},
    {"flow.bool", TENON_VALUE_BOOL},
    {"flow.str", TENON_VALUE_STR},
    {"flow.dtype", TENON_VALUE_DTYPE},
    {"flow.list[int]", TENON_VALUE_INTS},
    {"flow.list[float]", TENON_VALUE_FLOATS},
};

Kind kind_of_flow(std::uint32_t kind) {
  switch (kind) {
    case TENON_VALUE_INT:
      return Kind::integer();
    case TENON_VALUE_BOOL:
      return Kind::boolean();
    case TENON_VALUE_STR:
      return Kind::open_string();
    case TENON_VALUE_DTYPE:
      return Kind::any_dtype();
    case TENON_VALUE_INTS:
      return Kind::sequence(Kind::integer());
    case TENON_VALUE_FLOATS:
      return Kind::sequence(Kind::value());
    default:
      return Kind::value();
  }
}

std::uint32_t param_value_kind(const signature::ParamType& type) {
  bool has_int = false;
  bool has_float = false;
  for (const signature::TypeMember& m : type.members) {
    if (m.tag == TypeTag::kObject || m.tag == TypeTag::kStr) return TENON_VALUE_NONE;
    has_int = has_int || m.tag == TypeTag::kInt || m.tag == TypeTag::kNumber;
    has_float = has_float || m.tag == TypeTag::kFloat || m.tag == TypeTag::kNumber;
  }
  return has_int && has_float ? TENON_FIELD_NUMBER
         : has_float          ? TENON_VALUE_FLOAT
                              : TENON_VALUE_INT;
}

}  // namespace

/// int, float or number of an expression whose kind is Value: a float operand makes it a float, a
/// Number keeps both.
std::uint32_t Compiler::value_kind(Expr e) const {
  const signature::Node& n = data_.pool.at(e);
  if (n.op == Op::kFloat) return TENON_VALUE_FLOAT;
  if (n.op == Op::kInt) return TENON_VALUE_INT;
  if (n.op == Op::kSymbol &&
      data_.symbols[static_cast<std::size_t>(n.value)].kind == SymbolKind::kParam) {
    return param_value_kind(
        data_.param_types[data_.symbols[static_cast<std::size_t>(n.value)].ordinal]);
  }
  std::uint32_t result = TENON_VALUE_INT;
  for (std::size_t i = n.op == Op::kCond ? 1 : 0; i < n.count; ++i) {
    const std::uint32_t kid = value_kind(data_.pool.child(e, i));
    if (kid == TENON_VALUE_NONE) return kid;
    if (kid == TENON_FIELD_NUMBER && result == TENON_VALUE_INT) result = kid;
    if (kid == TENON_VALUE_FLOAT)
      result = n.op == Op::kCond && result == TENON_FIELD_NUMBER ? TENON_FIELD_NUMBER : kid;
  }
  return result;
}

bool Compiler::field_kind(const Kind& kind, Expr e, CallFieldDecl& field) {
  switch (kind.tag) {
    case Tag::kInt:
      field.kind = TENON_VALUE_INT;
      return true;
    case Tag::kBool:
      field.kind = TENON_VALUE_BOOL;
      return true;
    case Tag::kDType:
      field.kind = TENON_VALUE_DTYPE;
      return true;
    case Tag::kAdt:
      field.kind = TENON_FIELD_ADT;
      return true;
    case Tag::kStr:
      field.kind = kind.open ? TENON_VALUE_STR : TENON_FIELD_ENUM;
      field.members = kind.names;
      return true;
    case Tag::kMaybe:
      field.optional = true;
      return field_kind(kind.items.front(), e, field);
    case Tag::kSeq: {
      const Kind& item = kind.items.front();
      field.kind =
          item.is(Tag::kInt) || item.is(Tag::kUnknown) ? TENON_VALUE_INTS : TENON_VALUE_LIST;
      return item.is(Tag::kInt) || item.is(Tag::kSeq) || item.is(Tag::kMaybe) ||
             item.is(Tag::kUnknown);
    }
    case Tag::kValue:
      field.kind = value_kind(e);
      return field.kind != TENON_VALUE_NONE;
    default:
      return false;
  }
}

void Compiler::declare_field(const InterfaceEntry& source,
                             const CallFieldEntry& entry,
                             InterfaceDecl& decl,
                             signature::InterfaceData& data,
                             std::vector<Kind>& kinds) {
  ExprScope scope;
  scope.field = fmt::format("interfaces.{}.call.{}", source.name, entry.name);
  scope.values = true;
  CallFieldDecl field;
  field.name = entry.name;
  field.text = entry.text.text;
  signature::TextExpr expr;
  Kind kind = Kind::unknown();
  if (entry.text.text.starts_with("flow.")) {
    const auto* found = std::find_if(std::begin(kFlowKinds),
                                     std::end(kFlowKinds),
                                     [&](const FlowKind& k) { return k.text == entry.text.text; });
    field.from_flow = true;
    if (found == std::end(kFlowKinds)) {
      std::vector<std::string_view> names;
      for (const FlowKind& k : kFlowKinds) names.push_back(k.text);
      Diagnostic& d = report(entry.text.where,
                             scope.field,
                             "interface.flow",
                             fmt::format("'{}' is no kind that a flow computes", entry.text.text));
      d.expected =
          "flow.int, flow.float, flow.number, flow.bool, flow.str, flow.dtype, flow.list[int] or "
          "flow.list[float]";
      d.hint = did_you_mean(entry.text.text, names);
    } else {
      field.kind = found->kind;
      kind = kind_of_flow(found->kind);
    }
  } else {
    expr = expression(entry.text, Grammar::kExpression, scope);
    if (expr.given()) {
      kind = checker(entry.text, scope).check(expr.root);
      if (!kind.is(Tag::kUnknown) && !field_kind(kind, expr.root, field)) {
        Diagnostic& d = report(entry.text.where,
                               scope.field,
                               "interface.field",
                               fmt::format("a call field cannot be {}", print(kind, data_.adts)));
        d.expected =
            "int, float, number, bool, enum, dtype, str, an algebraic type, or lists of them, each "
            "also optional";
      }
      const signature::Node& n = data_.pool.at(expr.root);
      if (n.op == Op::kSymbol &&
          data_.symbols[static_cast<std::size_t>(n.value)].kind == SymbolKind::kParam) {
        field.default_value =
            data_.decl.params[data_.symbols[static_cast<std::size_t>(n.value)].ordinal]
                .default_value;
      }
    }
  }
  kinds.push_back(std::move(kind));
  decl.fields.push_back(std::move(field));
  data.fields.push_back(std::move(expr));
}

void Compiler::declare_temporary(const ArgEntry& entry,
                                 const std::string& field,
                                 InterfaceArgDecl& arg,
                                 signature::ArgData& arg_data) {
  arg.source = ArgSource::kTemporary;
  arg.index = 0;
  arg.role = entry.role.text == "out"     ? TENON_ROLE_OUT
             : entry.role.text == "inout" ? TENON_ROLE_INOUT
                                          : TENON_ROLE_IN;
  if (!entry.temporary) {
    std::vector<std::string> names;
    for (std::uint32_t s = data_.first_construction; s < data_.out_symbol; ++s)
      names.push_back(data_.symbol_names[s]);
    Diagnostic& d = report(entry.where,
                           field,
                           "interface.arg",
                           fmt::format("'{}' is no tensor of the signature", entry.name));
    d.expected =
        "an input, an output, a construction-time tensor, or a temporary {dtype, shape, role}";
    d.hint = did_you_mean(entry.name, names);
  }
  ExprScope scope;
  scope.field = field + ".dtype";
  scope.dtype_names = true;
  arg_data.dtype = expression(entry.dtype, Grammar::kExpression, scope);
  if (arg_data.dtype.given()) {
    Kind kind = Kind::unknown();
    if (data_.pool.at(arg_data.dtype.root).op == Op::kString) {
      kind = Kind::dtype({*dtype_from_name(data_.pool.text(arg_data.dtype.root))});
    } else {
      kind =
          checker(entry.dtype, scope).expect(arg_data.dtype.root, Kind::any_dtype(), "the dtype");
    }
    for (const DType d : all_dtypes()) {
      if (kind.is(Tag::kDType) && kind.dtypes.contains(d)) arg.dtypes.push_back(d);
    }
  }
}

void Compiler::declare_arg(const InterfaceEntry& source,
                           const ArgEntry& entry,
                           InterfaceDecl& decl,
                           signature::InterfaceData& data,
                           const std::vector<Kind>& kinds) {
  const std::string field = fmt::format("interfaces.{}.args.{}", source.name, entry.name);
  InterfaceArgDecl arg;
  arg.name = entry.name;
  arg.shape_text = entry.shape.text;
  arg.dtype_text = entry.dtype.text;
  signature::ArgData arg_data;
  const auto take = [&](const TensorDecl& tensor) {
    for (const DType d : all_dtypes()) {
      if (tensor.dtypes.contains(d)) arg.dtypes.push_back(d);
    }
    arg.list = tensor.list.has_value();
    arg.optional = tensor.optional != When::kNever;
  };
  if (const auto input = data_.decl.input_index(entry.name)) {
    const TensorDecl& tensor = data_.decl.inputs[*input];
    arg.source = ArgSource::kInput;
    arg.index = *input;
    arg.role = tensor.write_only                ? TENON_ROLE_OUT
               : tensor.mutated != When::kNever ? TENON_ROLE_INOUT
                                                : TENON_ROLE_IN;
    take(tensor);
  } else if (const auto output = data_.decl.output_index(entry.name)) {
    arg.source = ArgSource::kOutput;
    arg.index = *output;
    arg.role = TENON_ROLE_OUT;
    take(data_.decl.outputs[*output]);
  } else if (const auto construction = data_.decl.construction_index(entry.name)) {
    arg.source = ArgSource::kConstruction;
    arg.index = *construction;
    take(data_.decl.construction_tensors[*construction]);
  } else {
    declare_temporary(entry, field, arg, arg_data);
  }
  ExprScope scope;
  scope.field = field + ".shape";
  scope.formals_only = true;
  for (const CallFieldDecl& f : decl.fields) scope.formals.push_back(f.name);
  scope.formal_kinds = kinds;
  if (arg.list) {
    scope.formals.emplace_back("i");
    scope.formal_kinds.push_back(Kind::dimension());
  }
  arg_data.shape = expression(entry.shape, Grammar::kShape, scope);
  if (arg_data.shape.given()) checker(entry.shape, scope).check(arg_data.shape.root);
  decl.args.push_back(std::move(arg));
  data.args.push_back(std::move(arg_data));
}

void Compiler::declare_interfaces() {
  data_.decl.interfaces.clear();
  for (const InterfaceEntry& source : entry_.interfaces) {
    InterfaceDecl decl;
    signature::InterfaceData data;
    decl.name = source.name;
    decl.where = source.where;
    decl.when_text = source.when.text;
    for (std::uint32_t i = 0; i < data_.decl.steps.size(); ++i) {
      if (data_.decl.steps[i].name == source.step.text) decl.step = i;
    }
    ExprScope scope;
    scope.field = fmt::format("interfaces.{}.when", source.name);
    data.when = expression(source.when, Grammar::kExpression, scope);
    if (data.when.given())
      checker(source.when, scope).expect(data.when.root, Kind::boolean(), "the condition");
    std::vector<Kind> kinds;
    for (const CallFieldEntry& field : source.call) declare_field(source, field, decl, data, kinds);
    for (const ArgEntry& arg : source.args) declare_arg(source, arg, decl, data, kinds);
    decl.contract_text = contract_text(decl);
    decl.contract_hash = fnv1a64(decl.contract_text);
    data_.decl.interfaces.push_back(std::move(decl));
    data_.interfaces.push_back(std::move(data));
  }
}

/// The values that a parameter takes where it selects an interface; none where it cannot.
std::vector<Value> Compiler::payload_values(std::uint32_t s) const {
  const signature::Symbol& symbol = data_.symbols[s];
  if (symbol.kind != SymbolKind::kParam || data_.param_types[symbol.ordinal].members.size() != 1)
    return {};
  const signature::TypeMember& m = data_.param_types[symbol.ordinal].members.front();
  if (m.tag == TypeTag::kBool) return {Value(false), Value(true)};
  if (m.tag == TypeTag::kEnum) return std::vector<Value>(m.names.begin(), m.names.end());
  return {};
}

bool Compiler::check_step(signature::Env& env,
                          const std::vector<Expr>& conditions,
                          std::uint32_t step,
                          const std::string& where) {
  std::string active;
  std::size_t count = 0;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    bool holds = true;
    if (data_.decl.interfaces[i].step != step) continue;
    if (conditions[i] != kNoExpr &&
        (!signature::evaluate_bool(env, conditions[i], holds) || !holds))
      continue;
    active += (active.empty() ? "" : ", ") + data_.decl.interfaces[i].name;
    ++count;
  }
  if (count == 1 || (count == 0 && (data_.decl.steps[step].optional || conditions.empty())))
    return true;
  const SourceLocation& place = step < entry_.step_places.size()
                                    ? entry_.step_places[step]
                                    : data_.decl.interfaces.front().where;
  Diagnostic& d = report(
      place,
      "interfaces",
      "interface.active",
      fmt::format(
          "step '{}' has {} active interfaces ({})", data_.decl.steps[step].name, count, where));
  d.found = active.empty() ? "none" : active;
  d.expected = data_.decl.steps[step].optional ? "at most one" : "exactly one";
  return false;
}

void Compiler::check_interfaces(const signature::Branch& branch) {
  signature::Pool pool;
  signature::Folder folder(data_, branch.facts, pool);
  std::vector<Expr> conditions;
  std::vector<std::uint32_t> payloads;
  for (const signature::InterfaceData& interface : data_.interfaces) {
    conditions.push_back(interface.when.given() ? folder.fold(interface.when.root) : kNoExpr);
    if (conditions.back() == kNoExpr || signature::constant_bool(pool, conditions.back())) continue;
    signature::collect_symbols(pool, conditions.back(), payloads, false);
  }
  // The values that the payloads of Maybe enums and bools take; anything else is no discriminant.
  std::vector<std::vector<Value>> values;
  std::size_t total = 1;
  for (const std::uint32_t s : payloads) {
    const signature::Symbol& symbol = data_.symbols[s];
    values.push_back(payload_values(s));
    total *= values.back().size();
    if (!values.back().empty() && total <= 4096) continue;
    report(data_.decl.where,
           "interfaces",
           "interface.when",
           fmt::format("a condition of an interface reads '{}', which is no discriminant",
                       symbol.name))
        .expected = "Bool and enum parameters, payloads of Maybe enums, presence, constructors";
    return;
  }
  for (std::size_t n = 0; n < total; ++n) {
    signature::Arena arena;
    std::vector<signature::Cell> cells(data_.symbols.size());
    std::string where = describe(branch.choices);
    for (std::size_t i = 0, rest = n; i < payloads.size(); rest /= values[i].size(), ++i) {
      const Value& value = values[i][rest % values[i].size()];
      cells[payloads[i]] = signature::cell_of(value, arena);
      where += fmt::format(", {} = {}", data_.symbol_names[payloads[i]], value.to_string());
    }
    signature::Env env;
    env.pool = &pool;
    env.symbols = cells;
    env.arena = &arena;
    for (std::uint32_t step = 0; step < data_.decl.steps.size(); ++step) {
      if (!check_step(env, conditions, step, where)) return;
    }
  }
}

void Compiler::make_branches() {
  if (data_.decl.schema_name.empty()) data_.decl.schema_name = default_schema_name(data_.decl.name);
  std::vector<std::string> adts;
  adts.reserve(data_.adts.size());
  for (const signature::AdtType& type : data_.adts) adts.push_back(type.name);
  // Names that something besides `mutated` reads.
  std::vector<std::uint32_t> read;
  const auto collect = [&](const signature::TextExpr& e) {
    if (e.given()) signature::collect_symbols(data_.pool, e.root, read, true);
  };
  for (std::uint32_t s = data_.first_construction; s < data_.out_symbol; ++s) {
    const signature::TensorData& t = signature::tensor_data(data_, s);
    for (const signature::TextExpr* e : {&t.dtype, &t.shape, &t.optional, &t.list_count})
      collect(*e);
  }
  for (const signature::TextExpr& e : data_.lets) collect(e);
  for (const signature::TextExpr& e : data_.refinements) collect(e);
  collect(data_.flops);
  collect(data_.bytes);
  for (const signature::InterfaceData& i : data_.interfaces) {
    collect(i.when);
    for (const signature::TextExpr& e : i.fields) collect(e);
  }
  std::vector<std::string> names;
  names.reserve(read.size());
  for (const std::uint32_t s : read) names.push_back(data_.symbol_names[s]);
  std::sort(written_sets_.begin(), written_sets_.end());
  std::vector<std::string> keywords;
  for (std::size_t i = 0; i < entry_.inputs.size(); ++i) {
    if (entry_.inputs[i].kw_only) keywords.push_back(data_.decl.inputs[i].name);
  }
  const BranchSchemas schemas = effect_branches(data_.decl, written_sets_, {adts, names, keywords});
  data_.decl.branches = schemas.branches;
  for (std::size_t i = 0; i < schemas.reasons.size(); ++i) {
    if (schemas.reasons[i].empty()) continue;
    diagnostics_.advisory(data_.decl.where,
                          data_.decl.name,
                          "schema",
                          "schema.none",
                          fmt::format("no operator schema: {}", schemas.reasons[i]));
    break;
  }
}

}  // namespace tenon::manifest
