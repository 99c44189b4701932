// Resolves names in expressions: symbols, formals, primitives, families, presence.
#include <algorithm>

#include <fmt/format.h>

#include "compiler.hpp"
#include "tenon/core/nearest.hpp"
#include "tenon/core/signature/primitives.hpp"

namespace tenon::manifest {

using signature::Expr;
using signature::kNoExpr;
using signature::Node;
using signature::Op;
using signature::Pool;
using signature::SymbolKind;

signature::TextExpr Compiler::expression(const Text& text,
                                         Grammar grammar,
                                         const ExprScope& scope) {
  TextExpr out;
  out.text = text.text;
  out.where = text.where;
  if (text.empty()) return out;
  Pool parsed;
  ExprError error;
  const Expr root = parse(text.text, grammar, parsed, error);
  if (root == kNoExpr) {
    Diagnostic& d = report(text.at(error.column), scope.field, error.rule, error.text);
    d.found = error.found;
    d.expected = error.expected;
    d.hint = error.hint;
    return out;
  }
  out.root = resolve(parsed, root, text, scope);
  return out;
}

std::vector<std::string> Compiler::known_names(const ExprScope& scope) const {
  std::vector<std::string> names = scope.formals;
  if (scope.formals_only) return names;
  for (const auto& [name, symbol] : symbol_by_name_) names.push_back(name);
  return names;
}

Expr Compiler::resolve(const Pool& from, Expr e, const Text& text, const ExprScope& scope) {
  const Node& n = from.at(e);
  switch (n.op) {
    case Op::kName:
      return resolve_name(from, e, text, scope);
    case Op::kAttr:
      return resolve_attribute(from, e, text, scope);
    case Op::kCall:
      return resolve_call(from, e, text, scope);
    case Op::kFamily:
      return resolve_family(from, e, text, scope);
    default:
      break;
  }
  std::vector<Expr> kids;
  bool good = true;
  for (const Expr kid : from.children(e)) {
    kids.push_back(resolve(from, kid, text, scope));
    good = good && kids.back() != kNoExpr;
  }
  if (!good) return kNoExpr;
  Node node = n;
  if (n.op == Op::kString) node.value = data_.pool.intern(from.text(e));
  return data_.pool.add(node, kids);
}

namespace {

// Marks optional arguments that are not given as absent; returns a required one that is missing.
const signature::Formal* fill_absent(Pool& pool,
                                     const signature::Primitive& row,
                                     std::uint32_t column,
                                     std::vector<Expr>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] != kNoExpr) continue;
    if (!row.formals[i].optional) return &row.formals[i];
    arguments[i] = pool.add(Op::kAbsent, column);
  }
  return nullptr;
}

// What to write in place of a name that nothing has.
std::string name_hint(const std::string& name, std::string similar) {
  if (!similar.empty()) return similar;
  if (signature::primitive_index(name)) return fmt::format("'{}' is a primitive: call it", name);
  if (name == "true" || name == "false" || name == "null") return "write True, False or None";
  return {};
}

}  // namespace

Expr Compiler::resolve_name(const Pool& from, Expr e, const Text& text, const ExprScope& scope) {
  const std::string& name = from.text(e);
  const Node& n = from.at(e);
  const SourceLocation where = text.at(n.column);
  const auto formal = std::find(scope.formals.begin(), scope.formals.end(), name);
  if (formal != scope.formals.end())
    return data_.pool.add(Op::kFormal, n.column, {}, formal - scope.formals.begin());
  const auto found = symbol_by_name_.find(name);
  if (found == symbol_by_name_.end() && scope.dtype_names && dtype_from_name(name)) {
    return data_.pool.add(Op::kString, n.column, {}, data_.pool.intern(name));
  }
  if (found == symbol_by_name_.end() && entry_.was_reported(name)) {
    failed_ = true;
    return kNoExpr;
  }
  if (found == symbol_by_name_.end() || scope.formals_only) {
    Diagnostic& d = report(where,
                           scope.field,
                           "expr.name",
                           fmt::format("'{}' is no name that can be read here", name));
    d.found = name;
    d.expected = scope.formals_only ? "one of the formals" : "an index, a parameter or a let";
    d.hint = name_hint(name, did_you_mean(name, known_names(scope)));
    return kNoExpr;
  }
  const signature::Symbol& symbol = data_.symbols[found->second];
  if (signature::is_tensor(symbol.kind) || symbol.kind == SymbolKind::kOut) {
    Diagnostic& d = report(
        where, scope.field, "expr.tensor", fmt::format("tensor '{}' is read as a value", name));
    d.expected = "an index, a parameter or a let";
    d.hint = fmt::format(
        "write 'present({})' for 'is not None'; name its axes in its shape, and its dtype by an "
        "index",
        name);
    return kNoExpr;
  }
  if (symbol.kind == SymbolKind::kSeqInt && !scope.generator_arguments) {
    report(where,
           scope.field,
           "expr.seq",
           fmt::format("Seq[Int] index '{}' is read outside generator arguments", name));
    return kNoExpr;
  }
  if (symbol.kind == SymbolKind::kParam && !scope.values) {
    const auto& members = data_.param_types[symbol.ordinal].members;
    if (members.empty()) {  // its type was reported
      failed_ = true;
      return kNoExpr;
    }
    const bool only_values =
        std::all_of(members.begin(), members.end(), [](const signature::TypeMember& m) {
          return m.tag == signature::TypeTag::kFloat || m.tag == signature::TypeTag::kNumber ||
                 m.tag == signature::TypeTag::kObject || m.tag == signature::TypeTag::kStr;
        });
    if (only_values) {
      Diagnostic& d =
          report(where,
                 scope.field,
                 "expr.value",
                 fmt::format("parameter '{}' is a Value, which cannot be read here", name));
      d.found = data_.decl.params[symbol.ordinal].type_text;
      d.expected = "shape_rules, the roofline or an interface's call";
      return kNoExpr;
    }
  }
  return data_.pool.add(Op::kSymbol, n.column, {}, found->second);
}

Expr Compiler::resolve_attribute(const Pool& from,
                                 Expr e,
                                 const Text& text,
                                 const ExprScope& scope) {
  const Node& n = from.at(e);
  const Expr base = from.child(e, 0);
  const std::string& attribute = from.text(e);
  if (from.at(base).op == Op::kName) {
    const std::string& name = from.text(base);
    const auto found = symbol_by_name_.find(name);
    const bool formal =
        std::find(scope.formals.begin(), scope.formals.end(), name) != scope.formals.end();
    if (!formal && found != symbol_by_name_.end() &&
        signature::is_tensor(data_.symbols[found->second].kind)) {
      Diagnostic& d = report(text.at(n.column),
                             scope.field,
                             "expr.tensor",
                             fmt::format("'.{}' of tensor '{}'", attribute, name));
      d.expected = "an expression over indices and parameters";
      d.hint = attribute == "shape"
                   ? "declare the shape on the tensor; one shape term for tensors of one shape"
               : attribute == "dtype" ? "declare the dtype on the tensor"
                                      : "name its axes in its shape";
      return kNoExpr;
    }
  }
  const Expr inner = resolve(from, base, text, scope);
  if (inner == kNoExpr) return kNoExpr;
  const std::vector<Expr> kids{inner};
  const Op op = data_.pool.at(inner).op;
  if (attribute == "value" && (op == Op::kSymbol || op == Op::kFormal))
    return data_.pool.add(Op::kPayload, n.column, kids);
  if (op != Op::kSymbol && op != Op::kFormal && op != Op::kPayload) {
    Diagnostic& d = report(text.at(n.column),
                           scope.field,
                           "expr.rejected",
                           fmt::format("attribute '.{}' of an expression", attribute));
    d.expected = ".kind and fields of an ADT, .value of a Maybe";
    return kNoExpr;
  }
  if (attribute == "kind") return data_.pool.add(Op::kKind, n.column, kids);
  return data_.pool.add(Op::kField, n.column, kids, data_.pool.intern(attribute));
}

Expr Compiler::resolve_presence(
    const Pool& from, Expr e, const Text& text, const ExprScope& scope, bool bytes) {
  const Node& n = from.at(e);
  const char* callee = bytes ? "bytes" : "present";
  if (n.count != 1 || from.at(from.child(e, 0)).op != Op::kName) {
    report(
        text.at(n.column), scope.field, "expr.call", fmt::format("{} takes one bare name", callee))
        .expected = fmt::format("{}(name)", callee);
    return kNoExpr;
  }
  const std::string& name = from.text(from.child(e, 0));
  const std::uint32_t column = from.at(from.child(e, 0)).column;
  const auto formal = std::find(scope.formals.begin(), scope.formals.end(), name);
  const auto refuse = [&](std::string why, std::string hint) {
    Diagnostic& d = report(text.at(column), scope.field, "expr.name", std::move(why));
    d.expected = bytes ? "a tensor" : "a tensor, a Maybe parameter, or out";
    d.hint = std::move(hint);
    return kNoExpr;
  };
  if (formal != scope.formals.end() && !bytes) {
    const auto index = static_cast<std::size_t>(formal - scope.formals.begin());
    if (index < scope.formal_kinds.size() && !scope.formal_kinds[index].is(Kind::Tag::kMaybe)) {
      return refuse(fmt::format("'{}' is no Maybe", name), "");
    }
    const std::vector<Expr> kids{
        data_.pool.add(Op::kFormal, column, {}, static_cast<std::int64_t>(index))};
    return data_.pool.add(Op::kPresent, n.column, kids);
  }
  const auto found = symbol_by_name_.find(name);
  if (found == symbol_by_name_.end() && entry_.was_reported(name)) {
    failed_ = true;
    return kNoExpr;
  }
  if (found == symbol_by_name_.end() || scope.formals_only) {
    return refuse(fmt::format("'{}' is no name that can be read here", name),
                  did_you_mean(name, known_names(scope)));
  }
  const signature::Symbol& symbol = data_.symbols[found->second];
  const bool tensor = signature::is_tensor(symbol.kind);
  const bool maybe = symbol.kind == SymbolKind::kParam && data_.param_types[symbol.ordinal].maybe;
  const bool out = symbol.kind == SymbolKind::kOut;
  if (out && !data_.decl.buffered_output())
    return refuse("present(out) where no output is declared buffer: out", "");
  if (!(tensor || (!bytes && (maybe || out))))
    return refuse(fmt::format("{}({}): it is always there", callee, name), "");
  const std::vector<Expr> kids{data_.pool.add(Op::kSymbol, column, {}, found->second)};
  return data_.pool.add(bytes ? Op::kBytes : Op::kPresent, n.column, kids);
}

Expr Compiler::resolve_call(const Pool& from, Expr e, const Text& text, const ExprScope& scope) {
  const std::string& callee = from.text(e);
  if (callee == "present") return resolve_presence(from, e, text, scope, false);
  if (callee == "bytes" && scope.bytes) return resolve_presence(from, e, text, scope, true);
  if (const auto primitive = signature::primitive_index(callee))
    return resolve_primitive(from, e, *primitive, text, scope);
  Diagnostic& d = report(text.at(from.at(e).column),
                         scope.field,
                         "expr.call",
                         fmt::format("'{}' cannot be called here", callee));
  d.found = callee;
  d.expected = "a primitive or present(x)";
  std::vector<std::string> names{"present"};
  for (const signature::Primitive& p : signature::primitives()) names.emplace_back(p.name);
  d.hint =
      callee == "bytes" ? "bytes(t) may stand in the roofline only" : did_you_mean(callee, names);
  return kNoExpr;
}

Expr Compiler::resolve_primitive(
    const Pool& from, Expr e, std::uint32_t primitive, const Text& text, const ExprScope& scope) {
  const signature::Primitive& row = signature::primitives()[primitive];
  const Node& n = from.at(e);
  const auto refuse = [&](std::uint32_t column, std::string why, std::string expected) {
    report(text.at(column), scope.field, "expr.call", std::move(why)).expected =
        std::move(expected);
    return kNoExpr;
  };
  std::vector<Expr> arguments(row.variadic ? 0 : row.formals.size(), kNoExpr);
  std::size_t next = 0;
  for (const Expr kid : from.children(e)) {
    const Node& argument = from.at(kid);
    std::size_t place = next;
    Expr value = kid;
    if (argument.op == Op::kKeyword) {
      const auto formal =
          std::find_if(row.formals.begin(), row.formals.end(), [&](const signature::Formal& f) {
            return f.optional && f.name == from.text(kid);
          });
      if (formal == row.formals.end()) {
        return refuse(argument.column,
                      fmt::format("{} takes no keyword '{}'", row.name, from.text(kid)),
                      "positional arguments");
      }
      place = static_cast<std::size_t>(formal - row.formals.begin());
      value = from.child(kid, 0);
    } else {
      ++next;
    }
    if (from.at(value).op == Op::kEach && (place != 0 || !row.takes_each)) {
      return refuse(from.at(value).column,
                    fmt::format("a comprehension in {}", row.name),
                    "all, sum, max or min");
    }
    const Expr resolved = resolve(from, value, text, scope);
    if (resolved == kNoExpr) return kNoExpr;
    if (row.variadic) {
      arguments.push_back(resolved);
      continue;
    }
    if (place >= arguments.size()) {
      return refuse(
          n.column,
          fmt::format("{} takes at most {} arguments, not {}", row.name, arguments.size(), n.count),
          row.doc.data());
    }
    if (arguments[place] != kNoExpr)
      return refuse(
          argument.column,
          fmt::format("argument '{}' of {} is given twice", row.formals[place].name, row.name),
          "each once");
    arguments[place] = resolved;
  }
  if (row.variadic && arguments.empty())
    return refuse(n.column, fmt::format("{} without arguments", row.name), "at least one shape");
  const signature::Formal* missing = fill_absent(data_.pool, row, n.column, arguments);
  if (missing != nullptr)
    return refuse(n.column,
                  fmt::format("argument '{}' of {} is missing", missing->name, row.name),
                  std::string(row.doc));
  return data_.pool.add(Op::kPrimitive, n.column, arguments, primitive);
}

Expr Compiler::resolve_family(const Pool& from, Expr e, const Text& text, const ExprScope& scope) {
  const std::string& name = from.text(e);
  const Node& n = from.at(e);
  const auto found = family_by_name_.find(name);
  if (found == family_by_name_.end()) {
    std::vector<std::string> names;
    for (const auto& [family, index] : family_by_name_) names.push_back(family);
    Diagnostic& d = report(text.at(n.column),
                           scope.field,
                           "family.unknown",
                           fmt::format("'{}' is no type family", name));
    d.expected = "a shape in brackets, or a type family";
    d.hint = did_you_mean(name, names);
    return kNoExpr;
  }
  std::vector<Expr> arguments;
  bool good = true;
  for (const Expr kid : from.children(e)) {
    arguments.push_back(resolve(from, kid, text, scope));
    good = good && arguments.back() != kNoExpr;
  }
  if (!good) return kNoExpr;
  family_applied_[found->second] = true;
  const std::size_t expected = entry_.families[found->second].formals.size();
  if (arguments.size() != expected) {
    Diagnostic& d = report(
        text.at(n.column),
        scope.field,
        "family.arity",
        fmt::format(
            "type family '{}' takes {} arguments, not {}", name, expected, arguments.size()));
    for (const FamilyFormal& f : entry_.families[found->second].formals)
      d.expected += (d.expected.empty() ? "" : ", ") + f.name;
    return kNoExpr;
  }
  return data_.pool.add(Op::kFamily, n.column, arguments, found->second);
}

}  // namespace tenon::manifest
