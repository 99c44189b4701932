// Compiles types: parameter types, formals, algebraic types, type families and their patterns.
#include <algorithm>

#include <fmt/format.h>

#include "compiler.hpp"
#include "tenon/core/nearest.hpp"

namespace tenon::manifest {

using signature::Expr;
using signature::TypeTag;

signature::ParamType Compiler::param_type(const TypeText& text) {
  using Atom = TypeMember::Atom;
  signature::ParamType type;
  const auto member = [&](TypeTag tag) -> signature::TypeMember& {
    for (signature::TypeMember& m : type.members) {
      if (m.tag == tag && (tag == TypeTag::kEnum || tag == TypeTag::kDType)) return m;
    }
    type.members.push_back({});
    type.members.back().tag = tag;
    return type.members.back();
  };
  for (const TypeMember& m : text.members) {
    switch (m.atom) {
      case Atom::kInt:
      case Atom::kDim:
        member(TypeTag::kInt);
        break;
      case Atom::kBool:
        member(TypeTag::kBool);
        break;
      case Atom::kStr:
        member(TypeTag::kStr);
        break;
      case Atom::kNone:
        type.maybe = true;
        break;
      case Atom::kFloat:
        member(TypeTag::kFloat);
        break;
      case Atom::kNumber:
        member(TypeTag::kNumber);
        break;
      case Atom::kDict:
      case Atom::kTensor:
      case Atom::kDotted:
        member(TypeTag::kObject);
        break;
      case Atom::kLiteral: {
        auto& names = member(TypeTag::kEnum).names;
        if (std::find(names.begin(), names.end(), m.text) == names.end()) names.push_back(m.text);
        break;
      }
      case Atom::kDType:
        member(TypeTag::kDType).dtypes.insert(m.dtype);
        break;
      case Atom::kAnyDType:
        for (const DType d : all_dtypes()) member(TypeTag::kDType).dtypes.insert(d);
        break;
      case Atom::kShape:
      case Atom::kSeqInt:
      case Atom::kList:
      case Atom::kTuple: {
        signature::TypeMember& seq = member(TypeTag::kSeq);
        seq.is_tuple = m.atom == Atom::kTuple;
        seq.variable = m.variable || m.atom == Atom::kShape || m.atom == Atom::kSeqInt;
        seq.optional_items = m.optional_items;
        if (seq.optional_items.empty() && seq.variable) seq.optional_items.push_back(false);
        break;
      }
      case Atom::kName: {
        const auto found = adt_by_name_.find(m.text);
        if (found == adt_by_name_.end()) {
          failed_ = true;  // the reader has said so
          break;
        }
        member(TypeTag::kAdt).adt = static_cast<std::uint32_t>(found->second);
        break;
      }
    }
  }
  return type;
}

Kind Compiler::formal_kind(const TypeText& text) const {
  using Atom = TypeMember::Atom;
  std::vector<Kind> kinds;
  for (const TypeMember& m : text.members) {
    switch (m.atom) {
      case Atom::kInt:
        kinds.push_back(Kind::integer());
        break;
      case Atom::kDim:
        kinds.push_back(Kind::dimension());
        break;
      case Atom::kBool:
        kinds.push_back(Kind::boolean());
        break;
      case Atom::kShape:
        kinds.push_back(Kind::shape());
        break;
      case Atom::kSeqInt:
        kinds.push_back(Kind::sequence(Kind::integer()));
        break;
      case Atom::kLiteral:
        kinds.push_back(Kind::string({m.text}));
        break;
      case Atom::kStr:
        kinds.push_back(Kind::open_string());
        break;
      case Atom::kNone:
        kinds.push_back(Kind::none());
        break;
      case Atom::kDType:
        kinds.push_back(Kind::dtype({m.dtype}));
        break;
      case Atom::kAnyDType:
        kinds.push_back(Kind::any_dtype());
        break;
      case Atom::kList:
      case Atom::kTuple: {
        const bool none = std::find(m.optional_items.begin(), m.optional_items.end(), true) !=
                          m.optional_items.end();
        kinds.push_back(
            Kind::sequence(none ? Kind::maybe(Kind::integer()) : Kind::integer(),
                           m.variable ? std::nullopt : std::optional(m.optional_items.size())));
        break;
      }
      case Atom::kName: {
        const auto found = adt_by_name_.find(m.text);
        kinds.push_back(found == adt_by_name_.end() ? Kind::unknown()
                                                    : Kind::algebraic(found->second));
        break;
      }
      default:
        kinds.push_back(Kind::value());
        break;
    }
  }
  return unite(kinds);
}

namespace {

signature::AdtFieldType adt_field(const AdtField& f) {
  signature::AdtFieldType field;
  field.name = f.name;
  for (const TypeMember& m : f.type.members) {
    if (m.atom == TypeMember::Atom::kBool) field.tag = TypeTag::kBool;
    if (m.atom == TypeMember::Atom::kDim) field.is_dim = true;
    if (m.atom != TypeMember::Atom::kLiteral) continue;
    field.tag = TypeTag::kEnum;
    field.names.push_back(m.text);
  }
  return field;
}

// Kinds whose values are finitely many, or not known yet.
bool can_match(const Kind& kind) {
  using Tag = Kind::Tag;
  return kind.is(Tag::kBool) || kind.is(Tag::kAdt) || kind.is(Tag::kUnknown) ||
         (kind.is(Tag::kStr) && !kind.open);
}

std::vector<signature::PatternData> pattern_data(const std::vector<Pattern>& patterns) {
  std::vector<signature::PatternData> all;
  all.reserve(patterns.size());
  for (const Pattern& p : patterns) {
    signature::PatternData& pattern = all.emplace_back();
    pattern.kind = static_cast<signature::PatternData::Kind>(p.kind);
    pattern.value = p.value;
    pattern.constructor = p.constructor;
    pattern.fields = p.fields;
  }
  return all;
}

// Of a Bool or enum field.
bool field_takes(const signature::AdtFieldType& field, const Value& value) {
  if (field.tag == TypeTag::kBool) return value.get_if<bool>() != nullptr;
  const auto* text = value.get_if<std::string>();
  return text != nullptr &&
         std::find(field.names.begin(), field.names.end(), *text) != field.names.end();
}

// A Bool on Bool, or a member of an enum.
bool value_fits(const Value& value, const Kind& kind) {
  using Tag = Kind::Tag;
  if (kind.is(Tag::kBool) && value.get_if<bool>() != nullptr) return true;
  const auto* text = value.get_if<std::string>();
  return kind.is(Tag::kStr) && text != nullptr &&
         (kind.open || std::find(kind.names.begin(), kind.names.end(), *text) != kind.names.end());
}

}  // namespace

void Compiler::declare_adts() {
  for (const AdtDecl& decl : adt_decls_) {
    signature::AdtType type;
    type.name = decl.name;
    for (const AdtConstructor& c : decl.constructors) {
      signature::AdtConstructorType constructor;
      constructor.name = c.name;
      ExprScope scope;
      scope.field = "adts." + decl.name + "." + c.name + ".invariant";
      scope.formals_only = true;
      for (const AdtField& f : c.fields) {
        scope.formals.push_back(f.name);
        scope.formal_kinds.push_back(formal_kind(f.type));
        constructor.fields.push_back(adt_field(f));
      }
      constructor.invariant = expression(c.invariant, Grammar::kExpression, scope);
      if (constructor.invariant.given()) {
        checker(c.invariant, scope)
            .expect(constructor.invariant.root, Kind::boolean(), "the invariant");
      }
      type.constructors.push_back(std::move(constructor));
    }
    adt_by_name_[decl.name] = static_cast<std::int32_t>(data_.adts.size());
    data_.adts.push_back(std::move(type));
  }
}

void Compiler::declare_families() {
  for (std::size_t i = 0; i < entry_.families.size(); ++i) {
    family_by_name_[entry_.families[i].name] = static_cast<std::uint32_t>(i);
    std::vector<Kind> kinds;
    for (const FamilyFormal& f : entry_.families[i].formals) kinds.push_back(formal_kind(f.type));
    family_formals_.push_back(std::move(kinds));
  }
  family_applied_.assign(entry_.families.size(), false);
  for (std::size_t i = 0; i < entry_.families.size(); ++i) {
    const FamilyDecl& decl = entry_.families[i];
    signature::FamilyData family;
    family.name = decl.name;
    family.where = decl.where;
    ExprScope scope;
    scope.formals_only = true;
    scope.formal_kinds = family_formals_[i];
    for (const FamilyFormal& f : decl.formals) {
      family.formals.push_back(f.name);
      scope.formals.push_back(f.name);
    }
    const std::string field = "signature.types." + decl.name;
    for (std::size_t k = 0; k < decl.match.size(); ++k) {
      scope.field = field + ".match";
      family.match.push_back(expression(decl.match[k], Grammar::kExpression, scope));
      if (!family.match.back().given()) continue;
      const Kind kind = checker(decl.match[k], scope).check(family.match.back().root);
      const Kind plain = kind.is(Kind::Tag::kMaybe) ? kind.items.front() : kind;
      if (!can_match(plain)) {
        report(decl.match[k].where,
               scope.field,
               "family.match",
               fmt::format("a match on {}", print(kind, data_.adts)))
            .expected = "Bool, an enum or an algebraic type";
      }
      check_patterns(decl, k, plain, field);
    }
    for (std::size_t c = 0; c < decl.cases.size(); ++c) {
      const FamilyCase& one = decl.cases[c];
      scope.field = fmt::format("{}.cases[{}].is", field, c);
      signature::FamilyCaseData out;
      out.is = expression(one.is, Grammar::kShape, scope);
      if (out.is.given()) {
        checker(one.is, scope).check(out.is.root);
      }
      out.when = pattern_data(one.when);
      family.cases.push_back(std::move(out));
    }
    data_.families.push_back(std::move(family));
  }
  check_family_cycles();
}

void Compiler::check_patterns(const FamilyDecl& decl,
                              std::size_t place,
                              const Kind& kind,
                              const std::string& field) {
  using Tag = Kind::Tag;
  for (const FamilyCase& one : decl.cases) {
    if (place >= one.when.size() || kind.is(Tag::kUnknown)) continue;
    const Pattern& pattern = one.when[place];
    const auto refuse = [&](std::string text, std::string expected) {
      report(pattern.where, field + ".cases", "family.pattern", std::move(text)).expected =
          std::move(expected);
    };
    if (pattern.kind == Pattern::Kind::kAny) continue;
    if (pattern.kind == Pattern::Kind::kValue) {
      if (!value_fits(pattern.value, kind))
        refuse(fmt::format("pattern {} on {}", pattern.value.to_string(), print(kind, data_.adts)),
               print(kind, data_.adts));
      continue;
    }
    if (!kind.is(Tag::kAdt) || kind.adt < 0) {
      refuse(fmt::format("a constructor pattern on {}", print(kind, data_.adts)),
             "an algebraic type");
      continue;
    }
    const signature::AdtType& type = data_.adts[static_cast<std::size_t>(kind.adt)];
    const auto constructor =
        std::find_if(type.constructors.begin(), type.constructors.end(), [&](const auto& c) {
          return c.name == pattern.constructor;
        });
    if (constructor == type.constructors.end()) {
      refuse(fmt::format("{} has no constructor '{}'", type.name, pattern.constructor),
             "one of its constructors");
      continue;
    }
    for (const auto& [name, value] : pattern.fields) {
      const auto known = std::find_if(constructor->fields.begin(),
                                      constructor->fields.end(),
                                      [&n = name](const auto& f) { return f.name == n; });
      if (known == constructor->fields.end()) {
        refuse(fmt::format("constructor '{}' has no field '{}'", pattern.constructor, name),
               "one of its fields");
      } else if (known->tag == TypeTag::kInt) {
        refuse(fmt::format("field '{}' is not finite: it cannot be matched on", name),
               "a Bool or enum field");
      } else if (!field_takes(*known, value)) {
        refuse(fmt::format("{} is no value of field '{}'", value.to_string(), name),
               "one of its values");
      }
    }
  }
}

void Compiler::check_family_cycles() {
  // Families that reach only finished ones are finished; what remains applies itself.
  std::vector<bool> done(data_.families.size(), false);
  const auto applies_open = [&](const auto& self, Expr e) -> bool {
    const signature::Node& n = data_.pool.at(e);
    if (n.op == signature::Op::kFamily && !done[static_cast<std::size_t>(n.value)]) return true;
    for (const Expr kid : data_.pool.children(e)) {
      if (self(self, kid)) return true;
    }
    return false;
  };
  bool progress = true;
  while (progress) {
    progress = false;
    for (std::size_t i = 0; i < data_.families.size(); ++i) {
      const auto& cases = data_.families[i].cases;
      if (done[i] || std::any_of(cases.begin(), cases.end(), [&](const auto& c) {
            return c.is.given() && applies_open(applies_open, c.is.root);
          }))
        continue;
      done[i] = true;
      progress = true;
    }
  }
  for (std::size_t i = 0; i < done.size(); ++i) {
    if (!done[i])
      report(data_.families[i].where,
             "signature.types." + data_.families[i].name,
             "family.cycle",
             fmt::format("type family '{}' applies itself", data_.families[i].name));
  }
}

}  // namespace tenon::manifest
