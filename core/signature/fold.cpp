// Folds expressions at a point, and expands type families there.
#include "tenon/core/signature/fold.hpp"

#include <array>

#include <fmt/format.h>

#include "tenon/core/signature/evaluate.hpp"

namespace tenon::signature {

std::optional<bool> constant_bool(const Pool& pool, Expr e) {
  if (e == kNoExpr || pool.at(e).op != Op::kBool) return std::nullopt;
  return pool.at(e).value != 0;
}

Expr Folder::fail(FoldError::Kind kind, std::string text) {
  if (!failed_) error_ = {kind, std::move(text)};
  failed_ = true;
  return kNoExpr;
}

Expr Folder::constant(const Value& value, std::uint32_t column) {
  if (value.is_none()) return out_.add(Op::kNone, column);
  if (const auto* v = value.get_if<bool>()) return out_.add(Op::kBool, column, {}, *v ? 1 : 0);
  if (const auto* v = value.get_if<std::int64_t>()) return out_.add(Op::kInt, column, {}, *v);
  if (const auto* v = value.get_if<double>()) {
    Node node;
    node.op = Op::kFloat;
    node.column = column;
    node.number = *v;
    return out_.add(node);
  }
  if (const auto* v = value.get_if<DType>())
    return out_.add(Op::kString, column, {}, out_.intern(name_of(*v)));
  if (const auto* v = value.get_if<std::string>())
    return out_.add(Op::kString, column, {}, out_.intern(*v));
  if (const auto* v = value.get_if<ValueList>()) {
    std::vector<Expr> items;
    for (const Value& item : v->items) {
      items.push_back(constant(item, column));
      if (items.back() == kNoExpr) return kNoExpr;
    }
    return out_.add(Op::kTuple, column, items);
  }
  return kNoExpr;
}

Expr Folder::evaluate_closed(Expr e) {
  Arena arena(512);
  std::string text;
  Env env;
  env.pool = &out_;
  env.arena = &arena;
  env.error = &text;
  Cell cell;
  if (!evaluate(env, e, cell)) return fail(FoldError::Kind::kEvaluation, text);
  const Expr folded = constant(value_of(cell), out_.at(e).column);
  return folded == kNoExpr ? e : folded;
}

Expr Folder::constant_let(std::uint32_t let) {
  LetState& state = lets_[let];
  if (!state.done) {
    state.done = true;  // a cycle, which the front end refuses, ends here
    const Expr folded = fold(data_.lets[let].root);
    if (folded != kNoExpr && is_constant(out_, folded)) state.value = folded;
  }
  return state.value;
}

Expr Folder::symbol(const Node& n) {
  const auto index = static_cast<std::uint32_t>(n.value);
  if (facts_.fixed[index]) return constant(*facts_.fixed[index], n.column);
  const SymbolKind kind = data_.symbols[index].kind;
  if (kind == SymbolKind::kParam && facts_.presence[index] == 0)
    return out_.add(Op::kNone, n.column);
  if (kind == SymbolKind::kLet) {
    const Expr folded = constant_let(index - data_.first_let);
    if (failed_) return kNoExpr;
    if (folded != kNoExpr) return folded;
    const std::uint32_t let = index - data_.first_let;
    if (let < inlined_.size() && inlined_[let]) return fold(data_.lets[let].root);
  }
  return out_.add(Op::kSymbol, n.column, {}, n.value);
}

/// v.value, x.kind, x.field: fixed by a point for ADTs.
Expr Folder::access(Expr e, const Node& n, Actuals actuals) {
  const Expr base = fold(data_.pool.child(e, 0), actuals);
  if (base == kNoExpr) return kNoExpr;
  Expr root = base;
  if (out_.at(root).op == Op::kPayload) root = out_.child(root, 0);
  if (n.op == Op::kPayload) {
    // Of an absent one it stays, for the checker to refuse: only an arm that is never taken may
    // read it.
    return out_.add(Op::kPayload, n.column, std::array{base});
  }
  if (out_.at(root).op == Op::kSymbol) {
    const auto& facts = facts_.adts[static_cast<std::size_t>(out_.at(root).value)];
    if (facts && n.op == Op::kKind) return constant(Value(facts->constructor), n.column);
    if (facts && n.op == Op::kField) {
      for (const auto& [name, value] : facts->fields) {
        if (name == data_.pool.text(e)) return constant(value, n.column);
      }
    }
  }
  const std::int64_t value = n.op == Op::kField ? out_.intern(data_.pool.text(e)) : n.value;
  return out_.add(n.op, n.column, std::array{base}, value);
}

Expr Folder::presence(Expr e, const Node& n, Actuals actuals) {
  Expr operand = data_.pool.child(e, 0);
  const Pool* pool = &data_.pool;
  if (data_.pool.at(operand).op == Op::kFormal) {
    operand = actuals[static_cast<std::size_t>(data_.pool.at(operand).value)];
    pool = &out_;
    if (pool->at(operand).op == Op::kNone) return out_.add(Op::kBool, n.column, {}, 0);
  }
  if (pool->at(operand).op == Op::kPayload) operand = pool->child(operand, 0);
  if (pool->at(operand).op != Op::kSymbol)
    return out_.add(Op::kBool, n.column, {}, 1);  // a value that is there
  const std::int64_t symbol = pool->at(operand).value;
  const std::int8_t known = facts_.presence[static_cast<std::size_t>(symbol)];
  if (known >= 0) return out_.add(Op::kBool, n.column, {}, known);
  const Expr name = out_.add(Op::kSymbol, n.column, {}, symbol);
  return out_.add(Op::kPresent, n.column, std::array{name});
}

Expr Folder::conditional(Expr e, const Node& n, Actuals actuals) {
  const Expr test = fold(data_.pool.child(e, 0), actuals);
  if (test == kNoExpr) return kNoExpr;
  if (const auto decided = constant_bool(out_, test))
    return fold(data_.pool.child(e, *decided ? 1 : 2), actuals);
  const Expr then = fold(data_.pool.child(e, 1), actuals);
  const Expr otherwise = then == kNoExpr ? kNoExpr : fold(data_.pool.child(e, 2), actuals);
  if (otherwise == kNoExpr) return kNoExpr;
  return out_.add(Op::kCond, n.column, std::array{test, then, otherwise});
}

Expr Folder::logic(Expr e, const Node& n, Actuals actuals) {
  const bool decides = n.op == Op::kOr;
  std::vector<Expr> kept;
  for (std::size_t i = 0; i < n.count; ++i) {
    const Expr operand = fold(data_.pool.child(e, i), actuals);
    if (operand == kNoExpr) return kNoExpr;
    const auto value = constant_bool(out_, operand);
    if (value && *value != decides) continue;
    kept.push_back(operand);
    if (value) break;
  }
  if (kept.empty()) return out_.add(Op::kBool, n.column, {}, decides ? 0 : 1);
  if (kept.size() == 1) return kept.front();
  return out_.add(n.op, n.column, kept);
}

Expr Folder::general(Expr e, const Node& n, Actuals actuals) {
  std::vector<Expr> kids;
  kids.reserve(n.count);
  for (std::size_t i = 0; i < n.count; ++i) {
    kids.push_back(fold(data_.pool.child(e, i), actuals));
    if (kids.back() == kNoExpr) return kNoExpr;
  }
  Node node = n;
  if (n.op == Op::kString) node.value = out_.intern(data_.pool.text(e));
  const Expr result = out_.add(node, kids);
  switch (n.op) {
    case Op::kAbsent:
    case Op::kTuple:
    case Op::kList:
    case Op::kSplice:
    case Op::kSlice:
    case Op::kEach:
    case Op::kPayload:
    case Op::kBytes:
      return result;
    default:
      break;
  }
  if (is_constant(out_, result) || !is_closed(out_, result)) return result;
  return evaluate_closed(result);
}

Expr Folder::fold(Expr e, Actuals actuals) {
  if (failed_) return kNoExpr;
  const Node n = data_.pool.at(e);
  switch (n.op) {
    case Op::kSymbol:
      return symbol(n);
    case Op::kFormal:
      return static_cast<std::size_t>(n.value) < actuals.size()
                 ? actuals[static_cast<std::size_t>(n.value)]
                 : out_.add(Op::kFormal, n.column, {}, n.value);
    case Op::kPayload:
    case Op::kKind:
    case Op::kField:
      return access(e, n, actuals);
    case Op::kPresent:
      return presence(e, n, actuals);
    case Op::kCond:
      return conditional(e, n, actuals);
    case Op::kAnd:
    case Op::kOr:
      return logic(e, n, actuals);
    default:
      return general(e, n, actuals);
  }
}

std::optional<bool> Folder::matches(const PatternData& pattern,
                                    Expr key,
                                    bool absent,
                                    const AdtFacts* adt) {
  if (pattern.kind == PatternData::Kind::kAny) return true;
  if (absent) return false;
  if (pattern.kind == PatternData::Kind::kConstructor) {
    if (adt == nullptr) return std::nullopt;
    if (adt->constructor != pattern.constructor) return false;
    for (const auto& [name, wanted] : pattern.fields) {
      bool found = false;
      for (const auto& [field, value] : adt->fields)
        found = found || (field == name && value == wanted);
      if (!found) return false;
    }
    return true;
  }
  const Node& n = out_.at(key);
  if (const auto* wanted = pattern.value.get_if<bool>())
    return n.op == Op::kBool && (n.value != 0) == *wanted;
  if (const auto* wanted = pattern.value.get_if<std::string>())
    return n.op == Op::kString && out_.text(key) == *wanted;
  return false;
}

Expr Folder::family(Expr e, const Node& n, Actuals actuals) {
  const FamilyData& family = data_.families[static_cast<std::size_t>(n.value)];
  if (n.count != family.formals.size()) {
    return fail(FoldError::Kind::kArity,
                fmt::format("type family '{}' takes {} arguments, not {}",
                            family.name,
                            family.formals.size(),
                            n.count));
  }
  std::vector<Expr> inner;
  for (std::size_t i = 0; i < n.count; ++i) {
    inner.push_back(fold(data_.pool.child(e, i), actuals));
    if (inner.back() == kNoExpr) return kNoExpr;
  }
  struct Key {
    Expr value = kNoExpr;
    bool absent = false;
    const AdtFacts* adt = nullptr;
  };
  std::vector<Key> keys;
  for (const TextExpr& match : family.match) {
    Key key;
    key.value = fold(match.root, inner);
    if (key.value == kNoExpr) return kNoExpr;
    Expr root = key.value;
    if (out_.at(root).op == Op::kPayload) root = out_.child(root, 0);
    key.absent = out_.at(root).op == Op::kNone;
    if (out_.at(root).op == Op::kSymbol) {
      const auto& adt = facts_.adts[static_cast<std::size_t>(out_.at(root).value)];
      if (adt) key.adt = &*adt;
    }
    if (!key.absent && key.adt == nullptr && !is_constant(out_, key.value)) {
      return fail(FoldError::Kind::kNotFinite,
                  fmt::format("'{}', on which type family '{}' decides, is not finite here",
                              print(out_, key.value, data_.symbol_names),
                              family.name));
    }
    keys.push_back(key);
  }
  const FamilyCaseData* chosen = nullptr;
  std::size_t count = 0;
  for (const FamilyCaseData& one : family.cases) {
    bool all = one.when.size() == keys.size();
    for (std::size_t i = 0; all && i < keys.size(); ++i) {
      all = matches(one.when[i], keys[i].value, keys[i].absent, keys[i].adt).value_or(false);
    }
    if (all) {
      chosen = &one;
      ++count;
    }
  }
  if (count != 1) {
    return fail(
        FoldError::Kind::kCases,
        fmt::format(
            "{} cases of type family '{}' match, expected exactly one", count, family.name));
  }
  return shape(chosen->is.root, inner);
}

Expr Folder::shape(Expr e, Actuals actuals) {
  if (failed_) return kNoExpr;
  const Node n = data_.pool.at(e);
  if (n.op == Op::kFamily) return family(e, n, actuals);
  return fold(e, actuals);
}

}  // namespace tenon::signature
