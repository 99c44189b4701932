// Infers kinds over expressions, and narrows them behind guards.
#include <algorithm>

#include <fmt/format.h>

#include "tenon/core/nearest.hpp"
#include "tenon/core/signature/primitives.hpp"
#include "tenon/manifest/kinds.hpp"

namespace tenon::manifest {

using signature::CompareOp;
using signature::Expr;
using signature::FormalKind;
using signature::Node;
using signature::Op;
using signature::ResultKind;
using Tag = Kind::Tag;

Kind KindChecker::fault(Expr at, std::string text, std::string expected, std::string hint) {
  report_({at, std::move(text), std::move(expected), std::move(hint)});
  return Kind::unknown();
}

template <class Body>
Kind KindChecker::under(const FactMap& facts, Body&& body) {
  const FactMap kept = facts_;
  for (const auto& [subject, kind] : facts) facts_[subject] = kind;
  Kind result = body();
  facts_ = kept;
  return result;
}

Kind KindChecker::subject_kind(const Subject& subject) const {
  if (const auto fact = facts_.find(subject); fact != facts_.end()) return fact->second;
  const auto& kinds = subject.formal ? formals_ : symbols_;
  const auto index = static_cast<std::size_t>(subject.number);
  Kind kind = index < kinds.size() ? kinds[index] : Kind::unknown();
  if (!subject.payload) return kind;
  Subject base = subject;
  base.payload = false;
  if (const auto fact = facts_.find(base); fact != facts_.end()) kind = fact->second;
  return kind.is(Tag::kMaybe) ? kind.items.front() : kind;
}

std::optional<KindChecker::Subject> KindChecker::subject_of(Expr e) const {
  const Node& n = pool_.at(e);
  if (n.op == Op::kSymbol || n.op == Op::kFormal)
    return Subject{n.op == Op::kFormal, false, n.value};
  if (n.op != Op::kPayload) return std::nullopt;
  auto base = subject_of(pool_.child(e, 0));
  if (base) base->payload = true;
  return base;
}

Kind KindChecker::symbol(Expr e) {
  const auto index = static_cast<std::size_t>(pool_.at(e).value);
  if (index >= symbols_.size()) return Kind::unknown();
  return subject_kind({false, false, pool_.at(e).value});
}

Kind KindChecker::formal(Expr e) {
  const auto index = static_cast<std::size_t>(pool_.at(e).value);
  if (index >= formals_.size()) return Kind::unknown();
  return subject_kind({true, false, pool_.at(e).value});
}

Kind KindChecker::payload(Expr e) {
  const Expr base = pool_.child(e, 0);
  if (pool_.at(base).op == Op::kNone)
    return fault(e, "'.value' of a parameter that is None here", "a guard: present(x)");
  const auto subject = subject_of(base);
  if (!subject)
    return fault(e, "'.value' of something that is no Maybe", "a Maybe parameter's name");
  const auto& kinds = subject->formal ? formals_ : symbols_;
  const auto index = static_cast<std::size_t>(subject->number);
  const Kind declared = index < kinds.size() ? kinds[index] : Kind::unknown();
  Kind now = subject_kind(*subject);
  const std::string name = signature::print(pool_, base, names_);
  if (now.is(Tag::kUnknown)) return now;
  if (now.is(Tag::kNone))
    return fault(
        e, fmt::format("'{}.value' where {} is None", name, name), "a place where it is present");
  if (!declared.is(Tag::kMaybe) && !at_point_) {
    return fault(
        e,
        fmt::format("'.value' of '{}', which is {} and no Maybe", name, print(declared, adts_)),
        "the name itself");
  }
  Subject inner = *subject;
  inner.payload = true;
  return subject_kind(inner);
}

namespace {

void add_field_kind(const signature::AdtFieldType& field, std::vector<Kind>& kinds) {
  if (field.tag == signature::TypeTag::kBool) kinds.push_back(Kind::boolean());
  if (field.tag == signature::TypeTag::kEnum) kinds.push_back(Kind::string(field.names));
  if (field.tag == signature::TypeTag::kInt)
    kinds.push_back(field.is_dim ? Kind::dimension() : Kind::integer());
}

// The dtypes that the first argument has, integers as the float that they become.
Kind first_dtype(const Kind& argument) {
  if (!argument.is(Tag::kDType) || argument.open) return Kind::any_dtype();
  DTypeSet set;
  for (const DType d : all_dtypes()) {
    if (!argument.dtypes.contains(d)) continue;
    set.insert(info_of(d).category == DTypeCategory::kInt ? DType::kFloat32 : d);
  }
  return Kind::dtype(set);
}

Kind reduced_item(const std::vector<Kind>& arguments) {
  if (!arguments.front().is(Tag::kSeq)) return Kind::unknown();
  const Kind& item = arguments.front().items.front();
  if (item.is(Tag::kValue)) return item;
  // An empty `max` has its default's kind; an empty product and sum are no negative number.
  const bool fallback = arguments.size() > 1 && !arguments[1].is(Tag::kNone) &&
                        !(arguments[1].is(Tag::kInt) && arguments[1].dim);
  const bool dim = item.is(Tag::kInt) && item.dim && !fallback;
  return dim ? Kind::dimension() : Kind::integer();
}

}  // namespace

Kind KindChecker::adt_access(Expr e) {
  const Expr base = pool_.child(e, 0);
  Kind kind = check(base);
  if (kind.is(Tag::kUnknown)) return kind;
  const bool is_kind = pool_.at(e).op == Op::kKind;
  const std::string field = is_kind ? "kind" : pool_.text(e);
  if (!kind.is(Tag::kAdt) || kind.adt < 0) {
    return fault(e,
                 fmt::format("'.{}' of {}", field, print(kind, adts_)),
                 "an algebraic type",
                 field == "shape" ? "declare the shape on the tensor" : "");
  }
  const signature::AdtType& type = adts_[static_cast<std::size_t>(kind.adt)];
  const auto subject = subject_of(base);
  const auto known = subject && !subject->formal
                         ? constructors_.find(static_cast<std::uint32_t>(subject->number))
                         : constructors_.end();
  std::vector<Kind> kinds;
  std::vector<std::string> names;
  for (const signature::AdtConstructorType& c : type.constructors) {
    if (known != constructors_.end() && c.name != known->second) continue;
    if (is_kind) {
      kinds.push_back(Kind::string({c.name}));
      continue;
    }
    for (const signature::AdtFieldType& f : c.fields) {
      names.push_back(f.name);
      if (f.name == field) add_field_kind(f, kinds);
    }
  }
  if (kinds.empty()) {
    return fault(
        e,
        known != constructors_.end()
            ? fmt::format(
                  "constructor '{}' of {} has no field '{}'", known->second, type.name, field)
            : fmt::format("{} has no field '{}'", type.name, field),
        "a field of its constructor",
        did_you_mean(field, names));
  }
  // Which constructor it is, the points tell: there each access is checked again.
  return unite(kinds);
}

Kind KindChecker::arithmetic(Expr e) {
  const Op op = pool_.at(e).op;
  const Expr right_expr = pool_.child(e, op == Op::kNeg ? 0 : 1);
  const Kind left = check(pool_.child(e, 0));
  const Kind right = op == Op::kNeg ? left : check(right_expr);
  for (const auto& [kind, at] :
       {std::pair(left, pool_.child(e, 0)), std::pair(right, right_expr)}) {
    if (kind.is(Tag::kInt) || kind.is(Tag::kValue) || kind.is(Tag::kUnknown)) continue;
    return fault(at,
                 fmt::format("arithmetic with {}", print(kind, adts_)),
                 "Int or Value",
                 kind.is(Tag::kBool) ? "write '1 if ... else 0'" : "");
  }
  if (left.is(Tag::kUnknown) || right.is(Tag::kUnknown)) return Kind::unknown();
  if (left.is(Tag::kValue) || right.is(Tag::kValue)) return Kind::value();
  const bool dims = left.dim && right.dim;
  const Node& divisor = pool_.at(right_expr);
  const bool literal = divisor.op == Op::kInt && divisor.value > 0;
  const bool dim = ((op == Op::kAdd || op == Op::kMul) && dims) ||
                   ((op == Op::kFloorDiv || op == Op::kMod) && left.dim && literal);
  return dim ? Kind::dimension() : Kind::integer();
}

Kind KindChecker::compare(Expr e) {
  const std::size_t count = pool_.at(e).count;
  std::vector<Kind> kinds;
  for (std::size_t i = 0; i < count; ++i) {
    const Expr operand = pool_.child(e, i);
    if (pool_.at(operand).op == Op::kNone) {
      return fault(operand,
                   "a comparison with None",
                   "present(x)",
                   "write 'not present(t)' for 't is None' or 't == None'");
    }
    kinds.push_back(check(operand));
  }
  for (std::size_t i = 1; i < count; ++i) {
    const CompareOp op = pool_.compare_op(e, i - 1);
    const Kind& a = kinds[i - 1];
    const Kind& b = kinds[i];
    if (a.is(Tag::kUnknown) || b.is(Tag::kUnknown)) continue;
    if (op == CompareOp::kIn || op == CompareOp::kNotIn) {
      if (!b.is(Tag::kSeq)) {
        fault(pool_.child(e, i), fmt::format("'in' {}", print(b, adts_)), "a sequence");
      } else if (b.length != std::size_t{0} && !comparable(a, b.items.front())) {
        fault(pool_.child(e, i - 1),
              fmt::format("{} can never be in {}", print(a, adts_), print(b, adts_)),
              "kinds that can meet");
      }
    } else if (op == CompareOp::kEq || op == CompareOp::kNe) {
      if (comparable(a, b)) continue;
      const bool dtypes = a.is(Tag::kDType) || b.is(Tag::kDType);
      fault(e,
            fmt::format("{} compared with {}", print(a, adts_), print(b, adts_)),
            "kinds that can be equal",
            dtypes ? "is the dtype spelt right, and in the declared set?" : "");
    } else if (!ordered(a, b)) {
      fault(e,
            fmt::format("{} and {} have no order", print(a, adts_), print(b, adts_)),
            "Int with Int, or Seq with Seq");
    }
  }
  return Kind::boolean();
}

void KindChecker::truth(Expr e) {
  const Kind kind = check(e);
  if (kind.is(Tag::kBool) || kind.is(Tag::kUnknown)) return;
  const bool value = kind.is(Tag::kValue);
  fault(e,
        fmt::format("{} is not a truth value", print(kind, adts_)),
        "Bool",
        value                  ? "compare it"
        : kind.is(Tag::kMaybe) ? "write present(x)"
                               : "");
}

Kind KindChecker::logic(Expr e) {
  const bool conjunction = pool_.at(e).op == Op::kAnd;
  FactMap facts;
  for (std::size_t i = 0; i < pool_.at(e).count; ++i) {
    const Expr operand = pool_.child(e, i);
    under(facts, [&] {
      truth(operand);
      const Guards g = guards(operand);
      for (const auto& [subject, kind] : conjunction ? g.when_true : g.when_false)
        facts[subject] = kind;
      return Kind::boolean();
    });
  }
  return Kind::boolean();
}

Kind KindChecker::conditional(Expr e) {
  truth(pool_.child(e, 0));
  const Guards g = guards(pool_.child(e, 0));
  const Kind then = under(g.when_true, [&] { return check(pool_.child(e, 1)); });
  const Kind otherwise = under(g.when_false, [&] { return check(pool_.child(e, 2)); });
  const auto kind = common(then, otherwise);
  if (kind) return *kind;
  return fault(
      e,
      fmt::format(
          "the arms of a conditional are {} and {}", print(then, adts_), print(otherwise, adts_)),
      "arms of a common kind");
}

Kind KindChecker::tuple(Expr e) {
  const std::size_t count = pool_.at(e).count;
  if (count == 0) return Kind::sequence(Kind::unknown(), 0);
  Kind item = check(pool_.child(e, 0));
  for (std::size_t i = 1; i < count; ++i) item = join(item, check(pool_.child(e, i)));
  return Kind::sequence(std::move(item), count);
}

Kind KindChecker::subscript(Expr e) {
  Kind sequence = check(pool_.child(e, 0));
  expect(pool_.child(e, 1), Kind::integer(), "an index");
  if (sequence.is(Tag::kUnknown)) return sequence;
  if (!sequence.is(Tag::kSeq))
    return fault(e, fmt::format("a subscript of {}", print(sequence, adts_)), "a sequence");
  const Node& index = pool_.at(pool_.child(e, 1));
  if (index.op == Op::kInt && sequence.length &&
      index.value >= static_cast<std::int64_t>(*sequence.length)) {
    return fault(e,
                 fmt::format("index {} of {} items", index.value, *sequence.length),
                 "an index within the sequence");
  }
  return sequence.items.front();
}

Kind KindChecker::slice(Expr e) {
  Kind sequence = check(pool_.child(e, 0));
  for (std::size_t i = 1; i < 4; ++i) {
    if (pool_.at(pool_.child(e, i)).op != Op::kAbsent)
      expect(pool_.child(e, i), Kind::integer(), "a slice bound");
  }
  if (sequence.is(Tag::kUnknown)) return sequence;
  if (!sequence.is(Tag::kSeq))
    return fault(e, fmt::format("a slice of {}", print(sequence, adts_)), "a sequence");
  return Kind::sequence(sequence.items.front());
}

Kind KindChecker::each(Expr e) {
  const Kind source = check(pool_.child(e, 1));
  Kind item = Kind::unknown();
  if (source.is(Tag::kSeq)) {
    item = source.items.front();
  } else if (!source.is(Tag::kUnknown)) {
    fault(pool_.child(e, 1),
          fmt::format("a comprehension over {}", print(source, adts_)),
          "a sequence");
  }
  const auto depth = static_cast<std::size_t>(pool_.at(e).value);
  if (bound_.size() <= depth) bound_.resize(depth + 1);
  const Kind kept = bound_[depth];
  bound_[depth] = item;
  Kind body = check(pool_.child(e, 0));
  bound_[depth] = kept;
  return Kind::sequence(std::move(body), source.is(Tag::kSeq) ? source.length : std::nullopt);
}

Kind KindChecker::list(Expr e) {
  for (std::size_t i = 0; i < pool_.at(e).count; ++i) {
    const Expr axis = pool_.child(e, i);
    if (pool_.at(axis).op == Op::kSplice) {
      expect(pool_.child(axis, 0), Kind::sequence(Kind::integer()), "a splice");
    } else {
      expect(axis, Kind::integer(), "an axis");
    }
  }
  return Kind::shape();
}

Kind KindChecker::family(Expr e) {
  const auto index = static_cast<std::size_t>(pool_.at(e).value);
  for (std::size_t i = 0; i < pool_.at(e).count; ++i) {
    if (index < families_.size() && i < families_[index].size()) {
      expect(pool_.child(e, i), families_[index][i], "an argument of a type family");
    }
  }
  return Kind::shape();
}

Kind KindChecker::expect(Expr e, const Kind& expected, std::string_view what) {
  Kind kind = check(e);
  if (fits(kind, expected)) return kind;
  return fault(e,
               fmt::format("{} is {}", what, print(kind, adts_)),
               print(expected, adts_),
               kind.is(Tag::kMaybe) ? "guard it with present(...)" : "");
}

namespace {

Kind formal_kind(FormalKind kind) {
  const auto axes = [](Kind item) {
    const Kind members[] = {Kind::integer(), Kind::sequence(std::move(item)), Kind::none()};
    return unite(members);
  };
  switch (kind) {
    case FormalKind::kShape:
      return Kind::sequence(Kind::integer());
    case FormalKind::kInt:
      return Kind::integer();
    case FormalKind::kBool:
      return Kind::boolean();
    case FormalKind::kAxes:
      return axes(Kind::integer());
    case FormalKind::kPerAxis:
      return axes(Kind::maybe(Kind::integer()));
    case FormalKind::kMaybeInt:
      return Kind::maybe(Kind::integer());
    case FormalKind::kDType:
      return Kind::any_dtype();
    case FormalKind::kMaybeDType:
      return Kind::maybe(Kind::any_dtype());
    case FormalKind::kValue:
      return Kind::value();
    case FormalKind::kSeq:
      return Kind::sequence(Kind::value());
    case FormalKind::kSeqInt:
      return Kind::sequence(Kind::integer());
    case FormalKind::kSeqBool:
      return Kind::sequence(Kind::boolean());
    case FormalKind::kReduceMode:
      return Kind::string({"full", "noop", "reject"});
    case FormalKind::kAdt:
      return Kind::algebraic(-1);
    case FormalKind::kSeqShape:
      return Kind::sequence(Kind::sequence(Kind::integer()));
  }
  return Kind::unknown();
}

/// A string that names a dtype stands for it.
bool is_dtype_literal(const signature::Pool& pool, Expr e) {
  return pool.at(e).op == Op::kString && dtype_from_name(pool.text(e)).has_value();
}

}  // namespace

Kind KindChecker::primitive(Expr e) {
  const auto& row = signature::primitives()[static_cast<std::size_t>(pool_.at(e).value)];
  std::vector<Kind> kinds;
  for (std::size_t i = 0; i < pool_.at(e).count; ++i) {
    const Expr argument = pool_.child(e, i);
    if (pool_.at(argument).op == Op::kAbsent) {
      kinds.push_back(Kind::none());
      continue;
    }
    const signature::Formal& formal = row.formals[row.variadic ? 0 : i];
    const bool dtype = formal.kind == FormalKind::kDType || formal.kind == FormalKind::kMaybeDType;
    if (dtype && is_dtype_literal(pool_, argument)) {
      kinds.push_back(Kind::dtype({*dtype_from_name(pool_.text(argument))}));
      continue;
    }
    const std::string what = fmt::format("argument '{}' of {}", formal.name, row.name);
    Kind kind = check(argument);
    const bool values = formal.kind == FormalKind::kSeqInt && kind.is(Tag::kSeq) &&
                        kind.items.front().is(Tag::kValue);
    if (!values && !fits(kind, formal_kind(formal.kind))) {
      kind = fault(argument,
                   fmt::format("{} is {}", what, print(kind, adts_)),
                   print(formal_kind(formal.kind), adts_),
                   kind.is(Tag::kMaybe) ? "guard it with present(...)" : "");
    }
    kinds.push_back(std::move(kind));
  }
  return primitive_result(e, kinds);
}

Kind KindChecker::primitive_result(Expr e, const std::vector<Kind>& arguments) {
  const auto& row = signature::primitives()[static_cast<std::size_t>(pool_.at(e).value)];
  switch (row.result) {
    case ResultKind::kInt:
      return Kind::integer();
    case ResultKind::kDim:
      return Kind::dimension();
    case ResultKind::kDimOfDims:
      return std::all_of(arguments.begin(),
                         arguments.end(),
                         [](const Kind& k) { return k.is(Tag::kInt) && k.dim; })
                 ? Kind::dimension()
                 : Kind::integer();
    case ResultKind::kBool:
      return Kind::boolean();
    case ResultKind::kShape:
      return Kind::shape();
    case ResultKind::kSeqInt:
      return Kind::sequence(Kind::integer());
    case ResultKind::kDType:
      return Kind::any_dtype();
    case ResultKind::kFirstDType:
      return first_dtype(arguments.front());
    case ResultKind::kJoinDTypes: {
      const Kind first = arguments[0].is(Tag::kMaybe) ? arguments[0].items.front() : arguments[0];
      if (first.is(Tag::kNone)) return arguments[1];
      if (first.is(Tag::kUnknown) || arguments[1].is(Tag::kUnknown)) return Kind::unknown();
      return join(first, arguments[1]);
    }
    case ResultKind::kCategory:
      return Kind::string({"bool", "int", "float", "complex"});
    case ResultKind::kItems:
      return reduced_item(arguments);
  }
  return Kind::unknown();
}

Kind KindChecker::check(Expr e) {
  const Node& n = pool_.at(e);
  switch (n.op) {
    case Op::kAbsent:
    case Op::kNone:
      return Kind::none();
    case Op::kBool:
      return Kind::boolean();
    case Op::kInt:
      return n.value >= 0 ? Kind::dimension() : Kind::integer();
    case Op::kFloat:
      return Kind::value();
    case Op::kString:
      return Kind::string({pool_.text(e)});
    case Op::kTuple:
      return tuple(e);
    case Op::kSymbol:
      return symbol(e);
    case Op::kFormal:
      return formal(e);
    case Op::kBound: {
      const auto depth = static_cast<std::size_t>(n.value);
      return depth < bound_.size() ? bound_[depth] : Kind::unknown();
    }
    case Op::kPayload:
      return payload(e);
    case Op::kKind:
    case Op::kField:
      return adt_access(e);
    case Op::kPresent:
      return Kind::boolean();
    case Op::kBytes:
      return Kind::dimension();
    case Op::kPrimitive:
      return primitive(e);
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kFloorDiv:
    case Op::kMod:
    case Op::kNeg:
      return arithmetic(e);
    case Op::kCompare:
      return compare(e);
    case Op::kAnd:
    case Op::kOr:
      return logic(e);
    case Op::kNot:
      truth(pool_.child(e, 0));
      return Kind::boolean();
    case Op::kCond:
      return conditional(e);
    case Op::kSubscript:
      return subscript(e);
    case Op::kSlice:
      return slice(e);
    case Op::kEach:
      return each(e);
    case Op::kList:
      return list(e);
    case Op::kFamily:
      return family(e);
    default:
      return Kind::unknown();
  }
}

// ---- Guards
// -------------------------------------------------------------------------------------------

std::optional<std::vector<Kind>> KindChecker::literals_of(Expr e, bool of_tuple) const {
  const Node& n = pool_.at(e);
  const auto literal = [&](Expr x) -> std::optional<Kind> {
    switch (pool_.at(x).op) {
      case Op::kString:
        return Kind::string({pool_.text(x)});
      case Op::kInt:
        return Kind::integer();
      case Op::kBool:
        return Kind::boolean();
      case Op::kFloat:
        return Kind::value();
      case Op::kTuple:
        return Kind::sequence(Kind::unknown(), pool_.at(x).count);
      default:
        return std::nullopt;
    }
  };
  std::vector<Kind> kinds;
  if (!of_tuple) {
    const auto kind = literal(e);
    if (!kind) return std::nullopt;
    kinds.push_back(*kind);
    return kinds;
  }
  if (n.op != Op::kTuple) return std::nullopt;
  for (const Expr item : pool_.children(e)) {
    const auto kind = literal(item);
    if (!kind) return std::nullopt;
    kinds.push_back(*kind);
  }
  return kinds;
}

KindChecker::Guards KindChecker::compare_guards(Expr e) {
  Guards g;
  if (pool_.at(e).count != 2) return g;
  const CompareOp op = pool_.compare_op(e, 0);
  const bool equality = op == CompareOp::kEq || op == CompareOp::kNe;
  if (!equality && op != CompareOp::kIn && op != CompareOp::kNotIn) return g;
  auto subject = subject_of(pool_.child(e, 0));
  auto literals = literals_of(pool_.child(e, 1), !equality);
  if ((!subject || !literals) && equality) {
    subject = subject_of(pool_.child(e, 1));
    literals = literals_of(pool_.child(e, 0), false);
  }
  if (!subject || !literals) return g;
  const Kind kind = subject_kind(*subject);
  if (kind.is(Tag::kUnknown)) return g;
  const bool positive = op == CompareOp::kEq || op == CompareOp::kIn;
  (positive ? g.when_true : g.when_false)[*subject] = restrict(kind, *literals);
  (positive ? g.when_false : g.when_true)[*subject] = exclude(kind, *literals);
  return g;
}

KindChecker::Guards KindChecker::guards(Expr e) {
  const Node& n = pool_.at(e);
  Guards g;
  switch (n.op) {
    case Op::kNot: {
      g = guards(pool_.child(e, 0));
      std::swap(g.when_true, g.when_false);
      return g;
    }
    case Op::kPresent: {
      const auto subject = subject_of(pool_.child(e, 0));
      if (!subject) return g;
      const Kind kind = subject_kind(*subject);
      if (!kind.is(Tag::kMaybe)) return g;
      g.when_true[*subject] = kind.items.front();
      g.when_false[*subject] = Kind::none();
      return g;
    }
    case Op::kAnd:
    case Op::kOr: {
      // Collects what is true of `and`, what is false of `or`, each under the facts so far.
      FactMap collected;
      const FactMap kept = facts_;
      for (const Expr operand : pool_.children(e)) {
        const Guards one = guards(operand);
        for (const auto& [subject, kind] : n.op == Op::kAnd ? one.when_true : one.when_false) {
          collected[subject] = kind;
          facts_[subject] = kind;
        }
      }
      facts_ = kept;
      (n.op == Op::kAnd ? g.when_true : g.when_false) = std::move(collected);
      return g;
    }
    case Op::kCompare:
      return compare_guards(e);
    default:
      return g;
  }
}

}  // namespace tenon::manifest
