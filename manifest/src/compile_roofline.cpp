// The roofline, and what else holds for the entry as a whole: list counts, the `device` parameter.
#include <algorithm>

#include <fmt/format.h>

#include "compiler.hpp"
#include "tenon/core/signature/fold.hpp"

namespace tenon::manifest {

using signature::Expr;
using signature::kNoExpr;
using signature::Op;
using signature::SymbolKind;

void Compiler::declare_roofline() {
  const auto declare = [&](const Text& text, const char* key, signature::TextExpr& out) {
    ExprScope scope;
    scope.field = std::string("roofline.") + key;
    scope.values = true;
    scope.bytes = true;
    out = expression(text, Grammar::kExpression, scope);
    if (!out.given()) return;
    const Kind members[] = {Kind::integer(), Kind::value()};
    checker(text, scope).expect(out.root, unite(members), key);
  };
  declare(entry_.roofline.flops, "flops", data_.flops);
  declare(entry_.roofline.bytes, "bytes", data_.bytes);
  data_.roofline_func = entry_.roofline.func.text;
}

namespace {

/// The first tensor whose size is taken although it is absent.
std::optional<std::uint32_t> absent_bytes(const signature::Pool& pool,
                                          Expr e,
                                          const signature::Facts& facts) {
  const signature::Node& n = pool.at(e);
  if (n.op == Op::kBytes) {
    const auto symbol = static_cast<std::uint32_t>(pool.at(pool.child(e, 0)).value);
    return facts.presence[symbol] == 0 ? std::optional(symbol) : std::nullopt;
  }
  for (const Expr kid : pool.children(e)) {
    if (const auto found = absent_bytes(pool, kid, facts)) return found;
  }
  return std::nullopt;
}

}  // namespace

/// Folded at the point: it has a value as far as that is known, and sizes no tensor that is absent.
void Compiler::check_branch_roofline(const signature::Branch& branch) {
  const auto visit = [&](const signature::TextExpr& source, const char* key) {
    if (!source.given()) return;
    const std::string field = std::string("roofline.") + key;
    signature::Pool pool;
    signature::Folder folder(data_, branch.facts, pool);
    folder.inline_lets(std::vector<bool>(data_.lets.size(), true));
    const Expr e = folder.fold(source.root);
    if (e == kNoExpr) {
      report(source.where,
             field,
             "expr.value",
             fmt::format("{} ({})", folder.error().text, describe(branch.choices)));
      return;
    }
    const auto absent = absent_bytes(pool, e, branch.facts);
    if (!absent) return;
    const std::string& name = data_.symbols[*absent].name;
    Diagnostic& d = report(
        source.where,
        field,
        "roofline.absent",
        fmt::format("bytes({}) where '{}' is absent ({})", name, name, describe(branch.choices)));
    d.expected = "the size of a tensor that is there";
    d.hint = fmt::format("write 'bytes({0}) if present({0}) else 0'", name);
  };
  visit(data_.flops, "flops");
  visit(data_.bytes, "bytes");
}

/// A list's length is known before any call: it may read parameters alone, also through lets.
void Compiler::check_list_counts() {
  for (std::size_t i = 0; i < data_.outputs.size(); ++i) {
    const signature::TextExpr& count = data_.outputs[i].list_count;
    if (!count.given()) continue;
    std::vector<std::uint32_t> names;
    signature::collect_symbols(data_.pool, count.root, names, true);
    for (std::size_t k = 0; k < names.size(); ++k) {  // grows by what the lets read
      const signature::Symbol& symbol = data_.symbols[names[k]];
      if (symbol.kind == SymbolKind::kParam) continue;
      if (symbol.kind == SymbolKind::kLet) {
        const signature::TextExpr& let = data_.lets[symbol.ordinal];
        if (let.given()) signature::collect_symbols(data_.pool, let.root, names, true);
        continue;
      }
      Diagnostic& d = report(
          count.where,
          "signature.outputs." + data_.decl.outputs[i].name + ".list",
          "list.count",
          fmt::format("the number of tensors reads '{}', which is no parameter", symbol.name));
      d.found = count.text;
      d.expected = "an expression over parameters";
      break;
    }
  }
}

/// Where a call-time tensor says where the call lives, a parameter cannot.
void Compiler::check_device_param() {
  if (data_.decl.inputs.empty()) return;
  const auto found =
      std::find_if(data_.decl.params.begin(), data_.decl.params.end(), [](const ParamDecl& p) {
        return p.name == "device" && p.type_text.find("torch.device") != std::string::npos;
      });
  if (found == data_.decl.params.end()) return;
  Diagnostic& d = report(found->where,
                         "signature.params.device",
                         "param.device",
                         "a device parameter beside call-time tensor inputs");
  d.found = found->type_text;
  d.expected = "no input, or no device parameter";
  d.hint = "remove it: the call runs where its tensors are";
}

}  // namespace tenon::manifest
