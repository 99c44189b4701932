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

// ---- Containers

// Overloads may call later ones: `a` is of this namespace, so a call looks in it once more where
// the template is used.

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

/// Writes or reads a struct field by field. It names them all, in their order: a struct that gains
/// or loses one does not compile until its row here does so too, which is the time to raise
/// kFormat. A macro, because no function can name a structured binding for its caller.
#define TENON_ARCHIVE(Type, ...) \
  template <class A>             \
  void archive(A& a, Type& v) {  \
    auto& [__VA_ARGS__] = v;     \
    each(a, __VA_ARGS__);        \
  }

TENON_ARCHIVE(SourceLocation, file, line, column)
TENON_ARCHIVE(ListBounds, min, max)
TENON_ARCHIVE(ToleranceDecl, reason, by_dtype)
TENON_ARCHIVE(ParamDecl, name, type_text, default_value, kw_only, where)
TENON_ARCHIVE(TensorDecl,
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
              where)
TENON_ARCHIVE(CallFieldDecl, name, kind, optional, members, from_flow, text, default_value)
TENON_ARCHIVE(
    InterfaceArgDecl, name, source, index, role, dtypes, optional, list, shape_text, dtype_text)
TENON_ARCHIVE(
    InterfaceDecl, name, step, when_text, fields, args, contract_text, contract_hash, where)
TENON_ARCHIVE(StepDecl, name, optional)
TENON_ARCHIVE(StageDecl, name, op, kernel, optional)
TENON_ARCHIVE(EffectBranch, written_inputs, has_out, in_place, returned_outputs, schema)
TENON_ARCHIVE(OpDecl,
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
              where)

// ---- Plan data ----

TENON_ARCHIVE(Node, op, column, first, count, value, number)
TENON_ARCHIVE(Pool, nodes, kids, strings)
TENON_ARCHIVE(TextExpr, root, text, where)
TENON_ARCHIVE(Symbol, name, kind, ordinal, dtypes, where)
TENON_ARCHIVE(TypeMember, tag, names, dtypes, is_tuple, variable, optional_items, adt)
TENON_ARCHIVE(ParamType, members, maybe)
TENON_ARCHIVE(AdtFieldType, name, tag, is_dim, names)
TENON_ARCHIVE(AdtConstructorType, name, fields, invariant)
TENON_ARCHIVE(AdtType, name, constructors)
TENON_ARCHIVE(PatternData, kind, value, constructor, fields)
TENON_ARCHIVE(FamilyCaseData, when, is)
TENON_ARCHIVE(FamilyData, name, formals, match, cases, where)
TENON_ARCHIVE(MetadataCall, name, args, contents, known, text, where)
TENON_ARCHIVE(TensorData, dtype, shape, optional, mutated, list_count, values, requirements)
TENON_ARCHIVE(Discriminant, kind, symbol, names, adt, maybe)
TENON_ARCHIVE(ArgData, shape, dtype)
TENON_ARCHIVE(InterfaceData, when, fields, args)
TENON_ARCHIVE(ComboRow, assignment)
TENON_ARCHIVE(PlanData,
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
              out_symbol)

#undef TENON_ARCHIVE

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
