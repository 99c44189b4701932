// Relations between kinds: union, fits, common, join, ordered, comparable, restrict, exclude.
#include "tenon/manifest/kinds.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tenon::manifest {

using Tag = Kind::Tag;

Kind Kind::dimension() {
  Kind k = of(Tag::kInt);
  k.dim = true;
  return k;
}
Kind Kind::string(std::vector<std::string> literals) {
  Kind k = of(Tag::kStr);
  for (std::string& s : literals) {
    if (std::find(k.names.begin(), k.names.end(), s) == k.names.end())
      k.names.push_back(std::move(s));
  }
  return k;
}
Kind Kind::open_string() {
  Kind k = of(Tag::kStr);
  k.open = true;
  return k;
}
Kind Kind::dtype(DTypeSet set) {
  Kind k = of(Tag::kDType);
  k.dtypes = set;
  return k;
}
Kind Kind::any_dtype() {
  Kind k = of(Tag::kDType);
  k.open = true;
  for (const DType d : all_dtypes()) k.dtypes.insert(d);
  return k;
}
Kind Kind::sequence(Kind item, std::optional<std::size_t> length) {
  Kind k = of(Tag::kSeq);
  k.items.push_back(std::move(item));
  k.length = length;
  return k;
}
Kind Kind::maybe(Kind item) {
  if (item.is(Tag::kMaybe) || item.is(Tag::kNone)) return item;
  Kind k = of(Tag::kMaybe);
  k.items.push_back(std::move(item));
  return k;
}
Kind Kind::algebraic(std::int32_t type) {
  Kind k = of(Tag::kAdt);
  k.adt = type;
  return k;
}

bool operator==(const Kind& a, const Kind& b) {
  return a.tag == b.tag && a.dim == b.dim && a.open == b.open && a.names == b.names &&
         a.dtypes == b.dtypes && a.items == b.items && a.length == b.length && a.adt == b.adt;
}

namespace {

std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += fmt::format("{}'{}'", text.empty() ? "" : " | ", n);
  return text;
}

std::string dtypes_text(const DTypeSet& dtypes) {
  std::string text;
  for (const DType d : all_dtypes()) {
    if (dtypes.contains(d)) text += fmt::format("{}{}", text.empty() ? "" : " | ", name_of(d));
  }
  return text;
}

}  // namespace

std::string print(const Kind& kind, std::span<const signature::AdtType> adts) {
  const auto items = [&](std::string_view separator) {
    std::string text;
    for (const Kind& k : kind.items)
      text += (text.empty() ? "" : std::string(separator)) + print(k, adts);
    return text;
  };
  switch (kind.tag) {
    case Tag::kUnknown:
      return "unknown";
    case Tag::kInt:
      return kind.dim ? "Dim" : "Int";
    case Tag::kBool:
      return "Bool";
    case Tag::kNone:
      return "None";
    case Tag::kValue:
      return "Value";
    case Tag::kAdt:
      return kind.adt >= 0 && static_cast<std::size_t>(kind.adt) < adts.size()
                 ? adts[static_cast<std::size_t>(kind.adt)].name
                 : "an algebraic type";
    case Tag::kMaybe:
      return fmt::format("Maybe[{}]", items(" | "));
    case Tag::kUnion:
      return items(" | ");
    case Tag::kSeq:
      return kind.length ? fmt::format("Seq[{}] of {}", items(", "), *kind.length)
                         : fmt::format("Seq[{}]", items(", "));
    case Tag::kStr:
      return kind.open ? "str" : names_text(kind.names);
    case Tag::kDType:
      return kind.open ? "DType" : fmt::format("DType[{}]", dtypes_text(kind.dtypes));
  }
  return "unknown";
}

namespace {

void flatten(const Kind& kind, std::vector<Kind>& members, bool& none) {
  if (kind.is(Tag::kNone)) {
    none = true;
  } else if (kind.is(Tag::kMaybe)) {
    none = true;
    flatten(kind.items.front(), members, none);
  } else if (kind.is(Tag::kUnion)) {
    for (const Kind& k : kind.items) flatten(k, members, none);
  } else {
    members.push_back(kind);
  }
}

Kind merge_strings(const Kind& a, const Kind& b) {
  if (a.open || b.open) return Kind::open_string();
  std::vector<std::string> names = a.names;
  names.insert(names.end(), b.names.begin(), b.names.end());
  return Kind::string(std::move(names));
}

Kind merge_dtypes(const Kind& a, const Kind& b) {
  if (a.open || b.open) return Kind::any_dtype();
  DTypeSet set = a.dtypes;
  for (const DType d : all_dtypes()) {
    if (b.dtypes.contains(d)) set.insert(d);
  }
  return Kind::dtype(set);
}

std::span<const Kind> members_of(const Kind& kind) {
  if (kind.is(Tag::kUnion)) return kind.items;
  return {&kind, 1};
}

}  // namespace

Kind unite(std::span<const Kind> kinds) {
  std::vector<Kind> flat;
  bool none = false;
  for (const Kind& k : kinds) flatten(k, flat, none);
  std::vector<Kind> members;
  for (const Kind& k : flat) {
    const auto same_tag =
        std::find_if(members.begin(), members.end(), [&](const Kind& m) { return m.tag == k.tag; });
    if (k.is(Tag::kStr) && same_tag != members.end()) {
      *same_tag = merge_strings(*same_tag, k);
    } else if (k.is(Tag::kDType) && same_tag != members.end()) {
      *same_tag = merge_dtypes(*same_tag, k);
    } else if (k.is(Tag::kInt) && same_tag != members.end()) {
      same_tag->dim = same_tag->dim && k.dim;
    } else if (std::find(members.begin(), members.end(), k) == members.end()) {
      members.push_back(k);
    }
  }
  if (members.empty()) return none ? Kind::none() : Kind::unknown();
  Kind result = members.front();
  if (members.size() > 1) {
    result = {};
    result.tag = Tag::kUnion;
    result.items = std::move(members);
  }
  return none ? Kind::maybe(std::move(result)) : result;
}

bool fits(const Kind& kind, const Kind& expected) {
  if (kind.is(Tag::kUnknown) || expected.is(Tag::kUnknown)) return true;
  if (kind.is(Tag::kUnion)) {
    return std::all_of(
        kind.items.begin(), kind.items.end(), [&](const Kind& k) { return fits(k, expected); });
  }
  if (kind.is(Tag::kMaybe))
    return fits(Kind::none(), expected) && fits(kind.items.front(), expected);
  if (expected.is(Tag::kUnion)) {
    return std::any_of(
        expected.items.begin(), expected.items.end(), [&](const Kind& e) { return fits(kind, e); });
  }
  if (expected.is(Tag::kMaybe)) return kind.is(Tag::kNone) || fits(kind, expected.items.front());
  if (expected.is(Tag::kValue)) return true;
  if (kind.tag != expected.tag) return false;
  switch (kind.tag) {
    case Tag::kStr:
      return expected.open ||
             (!kind.open &&
              std::all_of(kind.names.begin(), kind.names.end(), [&](const std::string& n) {
                return std::find(expected.names.begin(), expected.names.end(), n) !=
                       expected.names.end();
              }));
    case Tag::kDType:
      return expected.open || (kind.dtypes.bits() & ~expected.dtypes.bits()) == 0;
    case Tag::kSeq:
      if (kind.length && expected.length && *kind.length != *expected.length) return false;
      return kind.length == std::size_t{0} || fits(kind.items.front(), expected.items.front());
    case Tag::kAdt:
      return expected.adt < 0 || kind.adt == expected.adt;
    default:
      return true;
  }
}

Kind join(const Kind& a, const Kind& b) {
  if (a == b) return a;
  if (a.is(Tag::kUnknown) || b.is(Tag::kUnknown)) return Kind::unknown();
  if (a.is(Tag::kSeq) && b.is(Tag::kSeq)) {
    // An empty tuple has no items of its own.
    const Kind item = a.length == std::size_t{0}   ? b.items.front()
                      : b.length == std::size_t{0} ? a.items.front()
                                                   : join(a.items.front(), b.items.front());
    return Kind::sequence(item, a.length == b.length ? a.length : std::nullopt);
  }
  const Kind both[] = {a, b};
  return unite(both);
}

std::optional<Kind> common(const Kind& a, const Kind& b) {
  if (a == b) return a;
  if (a.is(Tag::kUnknown) || b.is(Tag::kUnknown)) return Kind::unknown();
  const auto optional = [](const Kind& k) { return k.is(Tag::kNone) || k.is(Tag::kMaybe); };
  if (optional(a) || optional(b)) {
    const Kind x = a.is(Tag::kMaybe) ? a.items.front() : a;
    const Kind y = b.is(Tag::kMaybe) ? b.items.front() : b;
    if (x.is(Tag::kNone)) return Kind::maybe(y);
    if (y.is(Tag::kNone)) return Kind::maybe(x);
    const auto inner = common(x, y);
    if (!inner) return std::nullopt;
    return Kind::maybe(*inner);
  }
  const bool joins = a.is(Tag::kInt) || a.is(Tag::kSeq) || a.is(Tag::kStr) || a.is(Tag::kDType);
  if (a.tag == b.tag && joins) return join(a, b);
  return std::nullopt;
}

bool ordered(const Kind& a, const Kind& b) {
  if (a.is(Tag::kUnknown) || b.is(Tag::kUnknown) || a.is(Tag::kValue) || b.is(Tag::kValue))
    return true;
  for (const Kind& x : members_of(a)) {
    for (const Kind& y : members_of(b)) {
      const bool good = (x.is(Tag::kInt) && y.is(Tag::kInt)) ||
                        (x.is(Tag::kSeq) && y.is(Tag::kSeq)) || x.is(Tag::kValue) ||
                        y.is(Tag::kValue);
      if (!good) return false;
    }
  }
  return true;
}

namespace {

DTypeSet dtypes_named(const Kind& kind) {
  DTypeSet set = kind.dtypes;
  for (const std::string& n : kind.names) {
    if (const auto d = dtype_from_name(n)) set.insert(*d);
  }
  return set;
}

bool meet(const Kind& x, const Kind& y) {
  if (x.is(Tag::kUnknown) || y.is(Tag::kUnknown) || x.is(Tag::kValue) || y.is(Tag::kValue))
    return true;
  const auto named = [](const Kind& k) { return k.is(Tag::kStr) || k.is(Tag::kDType); };
  if (named(x) && named(y)) {
    if ((x.is(Tag::kStr) && x.open) || (y.is(Tag::kStr) && y.open)) return true;
    if (x.is(Tag::kStr) && y.is(Tag::kStr)) {
      return std::any_of(x.names.begin(), x.names.end(), [&](const std::string& n) {
        return std::find(y.names.begin(), y.names.end(), n) != y.names.end();
      });
    }
    return (dtypes_named(x).bits() & dtypes_named(y).bits()) != 0;
  }
  if (x.is(Tag::kMaybe)) return y.is(Tag::kNone) || comparable(x.items.front(), y);
  if (y.is(Tag::kMaybe)) return x.is(Tag::kNone) || comparable(x, y.items.front());
  return x.tag == y.tag;
}

}  // namespace

bool comparable(const Kind& a, const Kind& b) {
  for (const Kind& x : members_of(a)) {
    for (const Kind& y : members_of(b)) {
      if (meet(x, y)) return true;
    }
  }
  return false;
}

namespace {

// Of a str or a DType: the members that the literals name.
void keep_named(const Kind& member, std::span<const Kind> literals, std::vector<Kind>& kept) {
  std::vector<std::string> names;
  DTypeSet dtypes;
  const auto listed = [&](const std::string& n) {
    return member.open ||
           std::find(member.names.begin(), member.names.end(), n) != member.names.end();
  };
  for (const Kind& literal : literals) {
    if (!literal.is(Tag::kStr)) continue;
    for (const std::string& n : literal.names) {
      const auto d = dtype_from_name(n);
      if (member.is(Tag::kStr) && listed(n)) names.push_back(n);
      if (member.is(Tag::kDType) && d && member.dtypes.contains(*d)) dtypes.insert(*d);
    }
  }
  if (!names.empty()) kept.push_back(Kind::string(std::move(names)));
  if (!dtypes.empty()) kept.push_back(Kind::dtype(dtypes));
}

bool names_it(std::span<const Kind> literals, std::string_view name) {
  return std::any_of(literals.begin(), literals.end(), [&](const Kind& l) {
    return l.is(Tag::kStr) && std::find(l.names.begin(), l.names.end(), name) != l.names.end();
  });
}

std::vector<std::string> names_without(const std::vector<std::string>& names,
                                       std::span<const Kind> literals) {
  std::vector<std::string> kept;
  for (const std::string& n : names) {
    if (!names_it(literals, n)) kept.push_back(n);
  }
  return kept;
}

DTypeSet dtypes_without(const DTypeSet& dtypes, std::span<const Kind> literals) {
  DTypeSet kept;
  for (const DType d : all_dtypes()) {
    if (dtypes.contains(d) && !names_it(literals, name_of(d))) kept.insert(d);
  }
  return kept;
}

}  // namespace

Kind restrict(const Kind& kind, std::span<const Kind> literals) {
  std::vector<Kind> kept;
  for (const Kind& member : members_of(kind)) {
    if (member.is(Tag::kStr) || member.is(Tag::kDType)) {
      keep_named(member, literals, kept);
    } else if (member.is(Tag::kValue) ||
               std::any_of(literals.begin(), literals.end(), [&](const Kind& l) {
                 return l.tag == member.tag;
               })) {
      kept.push_back(member);
    }
  }
  return kept.empty() ? kind : unite(kept);
}

Kind exclude(const Kind& kind, std::span<const Kind> literals) {
  std::vector<Kind> kept;
  for (const Kind& member : members_of(kind)) {
    if (member.is(Tag::kStr) && !member.open) {
      std::vector<std::string> names = names_without(member.names, literals);
      if (!names.empty()) kept.push_back(Kind::string(std::move(names)));
    } else if (member.is(Tag::kDType)) {
      const DTypeSet dtypes = dtypes_without(member.dtypes, literals);
      if (!dtypes.empty()) kept.push_back(Kind::dtype(dtypes));
    } else {
      kept.push_back(member);
    }
  }
  return kept.empty() ? kind : unite(kept);
}

Kind kind_of(const signature::ParamType& type) {
  using signature::TypeTag;
  std::vector<Kind> kinds;
  for (const signature::TypeMember& m : type.members) {
    switch (m.tag) {
      case TypeTag::kInt:
        kinds.push_back(Kind::integer());
        break;
      case TypeTag::kBool:
        kinds.push_back(Kind::boolean());
        break;
      case TypeTag::kEnum:
        kinds.push_back(Kind::string(m.names));
        break;
      case TypeTag::kStr:
        kinds.push_back(Kind::open_string());
        break;
      case TypeTag::kDType:
        kinds.push_back(m.dtypes == Kind::any_dtype().dtypes ? Kind::any_dtype()
                                                             : Kind::dtype(m.dtypes));
        break;
      case TypeTag::kAdt:
        kinds.push_back(Kind::algebraic(static_cast<std::int32_t>(m.adt)));
        break;
      case TypeTag::kSeq: {
        const bool none = std::find(m.optional_items.begin(), m.optional_items.end(), true) !=
                          m.optional_items.end();
        Kind item = none ? Kind::maybe(Kind::integer()) : Kind::integer();
        kinds.push_back(Kind::sequence(
            std::move(item), m.variable ? std::nullopt : std::optional(m.optional_items.size())));
        break;
      }
      default:
        kinds.push_back(Kind::value());
        break;
    }
  }
  if (type.maybe) kinds.push_back(Kind::none());
  return unite(kinds);
}

}  // namespace tenon::manifest
