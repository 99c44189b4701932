// Kinds: what an expression may be, and how kinds fit, join and narrow.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/core/dtype.hpp"
#include "tenon/core/signature/expr.hpp"
#include "tenon/core/signature/plan_data.hpp"

namespace tenon::manifest {

/// A kind of the language. Compared structurally.
struct Kind {
  enum class Tag : std::uint8_t {
    kUnknown,  ///< reported already: fits everything
    kInt,      ///< `dim`: known not to be negative
    kBool,
    kStr,    ///< a set of literals, or open
    kDType,  ///< a set of dtypes; open: all registered ones
    kSeq,    ///< items[0]; `length` where fixed
    kMaybe,  ///< items[0]
    kUnion,  ///< items: two or more
    kAdt,    ///< `adt`, or any
    kNone,
    kValue,
  };
  Tag tag = Tag::kUnknown;
  bool dim = false;
  bool open = false;
  std::vector<std::string> names;
  DTypeSet dtypes;
  std::vector<Kind> items;
  std::optional<std::size_t> length;
  std::int32_t adt = -1;  ///< number of the type; -1: any

  static Kind unknown() { return {}; }
  static Kind integer() { return of(Tag::kInt); }
  static Kind dimension();
  static Kind boolean() { return of(Tag::kBool); }
  static Kind none() { return of(Tag::kNone); }
  static Kind value() { return of(Tag::kValue); }
  static Kind string(std::vector<std::string> literals);
  static Kind open_string();
  static Kind dtype(DTypeSet set);
  static Kind any_dtype();
  static Kind sequence(Kind item, std::optional<std::size_t> length = std::nullopt);
  static Kind shape() { return sequence(dimension()); }
  static Kind maybe(Kind item);
  static Kind algebraic(std::int32_t type);

  [[nodiscard]] bool is(Tag t) const { return tag == t; }
  friend bool operator==(const Kind&, const Kind&);

 private:
  static Kind of(Tag tag) {
    Kind k;
    k.tag = tag;
    return k;
  }
};

/// "Int", "Dim", "'a' | 'b'", "DType[float16 | float32]", "Seq[Dim]", "Maybe[Int]", "Value".
[[nodiscard]] std::string print(const Kind& kind, std::span<const signature::AdtType> adts = {});

// How kinds relate.
[[nodiscard]] Kind unite(std::span<const Kind> kinds);
[[nodiscard]] bool fits(const Kind& kind, const Kind& expected);
/// The kind of a conditional with these arms; nothing where they have none in common.
[[nodiscard]] std::optional<Kind> common(const Kind& a, const Kind& b);
[[nodiscard]] Kind join(const Kind& a, const Kind& b);
[[nodiscard]] bool ordered(const Kind& a, const Kind& b);
[[nodiscard]] bool comparable(const Kind& a, const Kind& b);
/// What remains of a kind where the value equals one of the literals; the kind itself where nothing
/// would.
[[nodiscard]] Kind restrict(const Kind& kind, std::span<const Kind> literals);
/// What remains where it equals none of the strings.
[[nodiscard]] Kind exclude(const Kind& kind, std::span<const Kind> literals);

/// The kind of a parameter's declared type.
[[nodiscard]] Kind kind_of(const signature::ParamType& type);

/// A fault of kind checking: where in the expression, and what.
struct KindError {
  signature::Expr at = signature::kNoExpr;
  std::string text;
  std::string expected;
  std::string hint;
};

/// Infers the kinds of resolved expressions. One per scope: symbols have kinds, formals may have.
class KindChecker {
 public:
  using Report = std::function<void(const KindError&)>;
  KindChecker(const signature::Pool& pool,
              std::vector<Kind> symbols,
              std::span<const signature::AdtType> adts,
              std::span<const std::string> symbol_names,
              Report report)
      : pool_(pool),
        symbols_(std::move(symbols)),
        adts_(adts),
        names_(symbol_names),
        report_(std::move(report)) {}

  void set_formals(std::vector<Kind> formals) { formals_ = std::move(formals); }
  /// Kinds of each type family's formals.
  void set_families(std::vector<std::vector<Kind>> families) { families_ = std::move(families); }
  /// Expressions are folded at a point: what is present there has lost its Maybe.
  void set_at_point() { at_point_ = true; }
  /// At a point: which constructor an ADT symbol has, so that its fields are known.
  void set_constructors(std::map<std::uint32_t, std::string> constructors) {
    constructors_ = std::move(constructors);
  }

  Kind check(signature::Expr e);
  /// Checks, and reports where the kind does not fit.
  Kind expect(signature::Expr e, const Kind& expected, std::string_view what);

 private:
  /// A name, or the payload of one, and what guards leave of its kind.
  struct Subject {
    bool formal = false;
    bool payload = false;
    std::int64_t number = 0;
    friend auto operator<=>(const Subject&, const Subject&) = default;
  };
  using FactMap = std::map<Subject, Kind>;
  struct Guards {
    FactMap when_true;
    FactMap when_false;
  };

  Kind fault(signature::Expr at,
             std::string text,
             std::string expected = {},
             std::string hint = {});
  Kind subject_kind(const Subject& subject) const;
  Kind symbol(signature::Expr e);
  Kind formal(signature::Expr e);
  Kind payload(signature::Expr e);
  Kind adt_access(signature::Expr e);
  Kind arithmetic(signature::Expr e);
  Kind compare(signature::Expr e);
  Kind logic(signature::Expr e);
  Kind conditional(signature::Expr e);
  Kind tuple(signature::Expr e);
  Kind subscript(signature::Expr e);
  Kind slice(signature::Expr e);
  Kind each(signature::Expr e);
  Kind primitive(signature::Expr e);
  Kind primitive_result(signature::Expr e, const std::vector<Kind>& arguments);
  Kind list(signature::Expr e);
  Kind family(signature::Expr e);
  void truth(signature::Expr e);

  Guards guards(signature::Expr e);
  Guards compare_guards(signature::Expr e);
  std::optional<Subject> subject_of(signature::Expr e) const;
  std::optional<std::vector<Kind>> literals_of(signature::Expr e, bool of_tuple) const;
  /// Runs `body` with the facts added.
  template <class Body>
  Kind under(const FactMap& facts, Body&& body);

  const signature::Pool& pool_;
  std::vector<Kind> symbols_;
  std::vector<Kind> formals_;
  std::vector<Kind> bound_;
  std::vector<std::vector<Kind>> families_;
  bool at_point_ = false;
  std::span<const signature::AdtType> adts_;
  std::span<const std::string> names_;
  std::map<std::uint32_t, std::string> constructors_;
  FactMap facts_;
  Report report_;
};

}  // namespace tenon::manifest
