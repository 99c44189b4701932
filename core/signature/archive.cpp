// Writes and reads plan data: one description of every struct serves both directions.
#include "tenon/core/signature/archive.hpp"

#include <array>
#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include "tenon/core/signature/primitives.hpp"

namespace tenon::signature {
namespace {

/// Changes with every change of a struct below.
constexpr std::uint32_t kFormat = 1;
constexpr std::string_view kMagic = "tenonpln";

class Writer {
 public:
  static constexpr bool kReads = false;
  std::string bytes;

  void number(std::uint64_t v) {  // seven bits a byte, the lowest first
    while (v >= 0x80) {
      bytes += static_cast<char>(v | 0x80);
      v >>= 7;
    }
    bytes += static_cast<char>(v);
  }
  void text(const std::string& v) {
    number(v.size());
    bytes += v;
  }
  void raw(std::uint64_t v) {
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(v >> (8 * i));
  }
};

class Reader {
 public:
  static constexpr bool kReads = true;
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool good = true;

  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }
  std::uint64_t number() {
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) break;
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      v |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return v;
    }
    good = false;
    return 0;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > left()) {
      good = false;
      return {};
    }
    std::string v(bytes_.substr(at_, size));
    at_ += size;
    return v;
  }
  std::uint64_t raw() {
    if (left() < 8) {
      good = false;
      return 0;
    }
    std::uint64_t v = 0;
    for (unsigned i = 0; i < 8; ++i)
      v |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[at_++])) << (8 * i);
    return v;
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

// ---- Scalars
// ------------------------------------------------------------------------------------------

std::uint64_t zigzag(std::int64_t v) {
  return (static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63);
}
std::int64_t unzigzag(std::uint64_t v) {
  return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
}

template <class A, class T>
requires std::is_integral_v<T> || std::is_enum_v<T>
void archive(A& a, T& v) {
  if constexpr (A::kReads) {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      v = static_cast<T>(unzigzag(a.number()));
    } else {
      v = static_cast<T>(a.number());
    }
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    a.number(zigzag(v));
  } else {
    a.number(static_cast<std::uint64_t>(v));
  }
}

template <class A>
void archive(A& a, double& v) {
  if constexpr (A::kReads) {
    v = std::bit_cast<double>(a.raw());
  } else {
    a.raw(std::bit_cast<std::uint64_t>(v));
  }
}

template <class A>
void archive(A& a, std::string& v) {
  if constexpr (A::kReads) {
    v = a.text();
  } else {
    a.text(v);
  }
}

template <class A>
void archive(A& a, DTypeSet& v) {
  std::uint32_t bits = v.bits();
  archive(a, bits);
  if constexpr (A::kReads) {
    v = {};
    for (const DType d : all_dtypes()) {
      if ((bits >> static_cast<unsigned>(d)) & 1u) v.insert(d);
    }
  }
}

// Every overload is declared before the templates over containers use them.
template <class A>
void archive(A& a, Value& v);
template <class A>
void archive(A& a, SourceLocation& v);
template <class A>
void archive(A& a, ListBounds& v);
template <class A>
void archive(A& a, ToleranceDecl& v);
template <class A>
void archive(A& a, ParamDecl& v);
template <class A>
void archive(A& a, TensorDecl& v);
template <class A>
void archive(A& a, CallFieldDecl& v);
template <class A>
void archive(A& a, InterfaceArgDecl& v);
template <class A>
void archive(A& a, InterfaceDecl& v);
template <class A>
void archive(A& a, StepDecl& v);
template <class A>
void archive(A& a, StageDecl& v);
template <class A>
void archive(A& a, EffectBranch& v);
template <class A>
void archive(A& a, Node& v);
template <class A>
void archive(A& a, TextExpr& v);
template <class A>
void archive(A& a, Symbol& v);
template <class A>
void archive(A& a, TypeMember& v);
template <class A>
void archive(A& a, ParamType& v);
template <class A>
void archive(A& a, AdtFieldType& v);
template <class A>
void archive(A& a, AdtConstructorType& v);
template <class A>
void archive(A& a, AdtType& v);
template <class A>
void archive(A& a, PatternData& v);
template <class A>
void archive(A& a, FamilyCaseData& v);
template <class A>
void archive(A& a, FamilyData& v);
template <class A>
void archive(A& a, MetadataCall& v);
template <class A>
void archive(A& a, TensorData& v);
template <class A>
void archive(A& a, Discriminant& v);
template <class A>
void archive(A& a, ArgData& v);
template <class A>
void archive(A& a, InterfaceData& v);
template <class A>
void archive(A& a, ComboRow& v);
template <class A, class T>
void archive(A& a, std::vector<T>& v);
template <class A>
void archive(A& a, std::vector<bool>& v);
template <class A, class T>
void archive(A& a, std::optional<T>& v);
template <class A, class T, class U>
void archive(A& a, std::pair<T, U>& v);

template <class A, class T>
void archive(A& a, std::vector<T>& v) {
  if constexpr (A::kReads) {
    const std::uint64_t count = a.number();
    if (count > a.left()) {  // every item takes a byte at least
      a.good = false;
      return;
    }
    v.clear();
    v.reserve(count);
    for (std::uint64_t i = 0; i < count && a.good; ++i) archive(a, v.emplace_back());
  } else {
    a.number(v.size());
    for (T& item : v) archive(a, item);
  }
}

template <class A>
void archive(A& a, std::vector<bool>& v) {
  std::vector<std::uint8_t> items(v.begin(), v.end());
  archive(a, items);
  if constexpr (A::kReads) v.assign(items.begin(), items.end());
}

template <class A, class T>
void archive(A& a, std::optional<T>& v) {
  bool given = v.has_value();
  archive(a, given);
  if constexpr (A::kReads) {
    v.reset();
    if (given) v.emplace();
  }
  if (given) archive(a, *v);
}

template <class A, class T, class U>
void archive(A& a, std::pair<T, U>& v) {
  archive(a, v.first);
  archive(a, v.second);
}

template <class A, class... T>
void each(A& a, T&... fields) {
  (archive(a, fields), ...);
}

// ---- Values
// -------------------------------------------------------------------------------------------

template <class T, class A>
void alternative(A& a, Value& v) {
  T item{};
  if constexpr (!A::kReads) item = *v.get_if<T>();
  if constexpr (std::is_same_v<T, ValueList>) {
    each(a, item.items, item.is_tuple);
  } else if constexpr (std::is_same_v<T, AdtValue>) {
    each(a, item.constructor, item.fields);
  } else if constexpr (std::is_same_v<T, OpaqueValue>) {
    archive(a, item.text);
  } else {
    archive(a, item);
  }
  if constexpr (A::kReads) v = Value(std::move(item));
}

template <class A>
void archive(A& a, Value& v) {
  auto kind = static_cast<std::uint32_t>(v.data().index());
  archive(a, kind);
  switch (kind) {
    case 0:
      if constexpr (A::kReads) v = {};
      return;
    case 1:
      return alternative<bool>(a, v);
    case 2:
      return alternative<std::int64_t>(a, v);
    case 3:
      return alternative<double>(a, v);
    case 4:
      return alternative<DType>(a, v);
    case 5:
      return alternative<std::string>(a, v);
    case 6:
      return alternative<ValueList>(a, v);
    case 7:
      return alternative<AdtValue>(a, v);
    case 8:
      return alternative<OpaqueValue>(a, v);
    default:
      if constexpr (A::kReads) a.good = false;
  }
}

// ---- Declarations
// -------------------------------------------------------------------------------------

template <class A>
void archive(A& a, SourceLocation& v) {
  auto& [file, line, column] = v;
  each(a, file, line, column);
}
template <class A>
void archive(A& a, ListBounds& v) {
  auto& [min, max] = v;
  each(a, min, max);
}
template <class A>
void archive(A& a, ToleranceDecl& v) {
  auto& [reason, by_dtype] = v;
  each(a, reason, by_dtype);
}
template <class A>
void archive(A& a, ParamDecl& v) {
  auto& [name, type_text, default_value, kw_only, where] = v;
  each(a, name, type_text, default_value, kw_only, where);
}
template <class A>
void archive(A& a, TensorDecl& v) {
  auto& [name,
         role,
         dtype_text,
         shape_text,
         optional,
         optional_text,
         mutated,
         mutated_text,
         write_only,
         contiguous,
         on_cpu,
         buffer_out,
         alias,
         may_alias,
         list,
         list_count_text,
         values_text,
         requires_texts,
         dtypes,
         where] = v;
  each(a,
       name,
       role,
       dtype_text,
       shape_text,
       optional,
       optional_text,
       mutated,
       mutated_text,
       write_only,
       contiguous,
       on_cpu,
       buffer_out,
       alias,
       may_alias,
       list,
       list_count_text,
       values_text,
       requires_texts,
       dtypes,
       where);
}
template <class A>
void archive(A& a, CallFieldDecl& v) {
  auto& [name, kind, optional, members, from_flow, text, default_value] = v;
  each(a, name, kind, optional, members, from_flow, text, default_value);
}
template <class A>
void archive(A& a, InterfaceArgDecl& v) {
  auto& [name, source, index, role, dtypes, optional, list, shape_text, dtype_text] = v;
  each(a, name, source, index, role, dtypes, optional, list, shape_text, dtype_text);
}
template <class A>
void archive(A& a, InterfaceDecl& v) {
  auto& [name, step, when_text, fields, args, contract_text, contract_hash, where] = v;
  each(a, name, step, when_text, fields, args, contract_text, contract_hash, where);
}
template <class A>
void archive(A& a, StepDecl& v) {
  auto& [name, optional] = v;
  each(a, name, optional);
}
template <class A>
void archive(A& a, StageDecl& v) {
  auto& [name, op, kernel, optional] = v;
  each(a, name, op, kernel, optional);
}
template <class A>
void archive(A& a, EffectBranch& v) {
  auto& [written_inputs, has_out, in_place, returned_outputs, schema] = v;
  each(a, written_inputs, has_out, in_place, returned_outputs, schema);
}
template <class A>
void archive(A& a, OpDecl& v) {
  auto& [ns,
         name,
         family,
         implemented,
         ref_api,
         flow,
         schema_name,
         schema_overload,
         error_model,
         tolerance,
         backward_op,
         backward_saved,
         params,
         construction_tensors,
         inputs,
         outputs,
         constructor_order,
         steps,
         interfaces,
         stages,
         branches,
         where] = v;
  each(a,
       ns,
       name,
       family,
       implemented,
       ref_api,
       flow,
       schema_name,
       schema_overload,
       error_model,
       tolerance,
       backward_op,
       backward_saved,
       params,
       construction_tensors,
       inputs,
       outputs,
       constructor_order,
       steps,
       interfaces,
       stages,
       branches,
       where);
}

// ---- Plan data ----

template <class A>
void archive(A& a, Node& v) {
  auto& [op, column, first, count, value, number] = v;
  each(a, op, column, first, count, value, number);
}
template <class A>
void archive(A& a, Pool& v) {
  auto& [nodes, kids, strings] = v;
  each(a, nodes, kids, strings);
}
template <class A>
void archive(A& a, TextExpr& v) {
  auto& [root, text, where] = v;
  each(a, root, text, where);
}
template <class A>
void archive(A& a, Symbol& v) {
  auto& [name, kind, ordinal, dtypes, where] = v;
  each(a, name, kind, ordinal, dtypes, where);
}
template <class A>
void archive(A& a, TypeMember& v) {
  auto& [tag, names, dtypes, is_tuple, variable, optional_items, adt] = v;
  each(a, tag, names, dtypes, is_tuple, variable, optional_items, adt);
}
template <class A>
void archive(A& a, ParamType& v) {
  auto& [members, maybe] = v;
  each(a, members, maybe);
}
template <class A>
void archive(A& a, AdtFieldType& v) {
  auto& [name, tag, is_dim, names] = v;
  each(a, name, tag, is_dim, names);
}
template <class A>
void archive(A& a, AdtConstructorType& v) {
  auto& [name, fields, invariant] = v;
  each(a, name, fields, invariant);
}
template <class A>
void archive(A& a, AdtType& v) {
  auto& [name, constructors] = v;
  each(a, name, constructors);
}
template <class A>
void archive(A& a, PatternData& v) {
  auto& [kind, value, constructor, fields] = v;
  each(a, kind, value, constructor, fields);
}
template <class A>
void archive(A& a, FamilyCaseData& v) {
  auto& [when, is] = v;
  each(a, when, is);
}
template <class A>
void archive(A& a, FamilyData& v) {
  auto& [name, formals, match, cases, where] = v;
  each(a, name, formals, match, cases, where);
}
template <class A>
void archive(A& a, MetadataCall& v) {
  auto& [name, args, contents, known, text, where] = v;
  each(a, name, args, contents, known, text, where);
}
template <class A>
void archive(A& a, TensorData& v) {
  auto& [dtype, shape, optional, mutated, list_count, values, requirements] = v;
  each(a, dtype, shape, optional, mutated, list_count, values, requirements);
}
template <class A>
void archive(A& a, Discriminant& v) {
  auto& [kind, symbol, names, adt, maybe] = v;
  each(a, kind, symbol, names, adt, maybe);
}
template <class A>
void archive(A& a, ArgData& v) {
  auto& [shape, dtype] = v;
  each(a, shape, dtype);
}
template <class A>
void archive(A& a, InterfaceData& v) {
  auto& [when, fields, args] = v;
  each(a, when, fields, args);
}
template <class A>
void archive(A& a, ComboRow& v) {
  auto& [assignment] = v;
  each(a, assignment);
}
template <class A>
void archive(A& a, PlanData& v) {
  auto& [decl,
         pool,
         symbols,
         symbol_names,
         param_types,
         adts,
         families,
         construction_tensors,
         inputs,
         outputs,
         lets,
         refinements,
         discriminants,
         combos,
         combos_where,
         interfaces,
         flops,
         bytes,
         roofline_func,
         first_param,
         first_let,
         first_construction,
         first_input,
         first_output,
         out_symbol] = v;
  each(a,
       decl,
       pool,
       symbols,
       symbol_names,
       param_types,
       adts,
       families,
       construction_tensors,
       inputs,
       outputs,
       lets,
       refinements,
       discriminants,
       combos,
       combos_where,
       interfaces,
       flops,
       bytes,
       roofline_func,
       first_param,
       first_let,
       first_construction,
       first_input,
       first_output,
       out_symbol);
}

/// FNV-1a over the payload: a changed byte is found before anything is believed.
std::uint64_t digest(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037ull;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return hash;
}

}  // namespace

std::string write_plan(const PlanData& data) {
  PlanData copy = data;  // the one description takes everything by reference
  Writer payload;
  archive(payload, copy);
  Writer out;
  out.bytes = kMagic;
  out.number(kFormat);
  out.raw(digest(payload.bytes));
  out.text(payload.bytes);
  return std::move(out.bytes);
}

Result<PlanData> read_plan(std::string_view bytes) {
  const auto bad = [](std::string_view why) {
    return fail(
        Error(ErrorCode::kManifestInvalid, fmt::format("a compiled plan cannot be read: {}", why)));
  };
  if (!bytes.starts_with(kMagic)) return bad("it does not begin as one");
  Reader head(bytes.substr(kMagic.size()));
  const std::uint64_t format = head.number();
  if (!head.good || format != kFormat)
    return bad(fmt::format("its format is {}, this build reads {}", format, kFormat));
  const std::uint64_t expected = head.raw();
  const std::string payload = head.text();
  if (!head.good) return bad("it is cut off");
  if (digest(payload) != expected) return bad("its bytes have changed");
  PlanData data;
  Reader body(payload);
  archive(body, data);
  if (!body.good || body.left() != 0) return bad("its structure is broken");
  return data;
}

}  // namespace tenon::signature
