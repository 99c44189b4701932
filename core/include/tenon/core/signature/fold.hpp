// Folding: what an expression becomes where discriminants are fixed. Type families are expanded on
// the way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/core/signature/plan_data.hpp"
#include "tenon/core/value.hpp"

namespace tenon::signature {

/// A constructor and its finite fields, as a point fixes them.
struct AdtFacts {
  std::string constructor;
  std::vector<std::pair<std::string, Value>> fields;
};

/// What is fixed, by symbol number. A partial one leaves presences unknown (-1) and symbols
/// unfixed.
struct Facts {
  std::vector<std::int8_t> presence;
  std::vector<std::optional<Value>> fixed;
  std::vector<std::optional<AdtFacts>> adts;

  explicit Facts(std::size_t symbol_count = 0)
      : presence(symbol_count, std::int8_t{-1}), fixed(symbol_count), adts(symbol_count) {}
};

/// Why something could not be folded.
struct FoldError {
  enum class Kind : std::uint8_t {
    kEvaluation,  ///< a closed subterm has no value
    kArity,       ///< a family application with the wrong number of arguments
    kNotFinite,   ///< a match that the facts do not decide
    kCases,       ///< no case, or several, match
  };
  Kind kind = Kind::kEvaluation;
  std::string text;
};

/// Folds expressions of a plan into a pool of its own.
class Folder {
 public:
  Folder(const PlanData& data, const Facts& facts, Pool& out)
      : data_(data), facts_(facts), out_(out) {
    lets_.resize(data.lets.size());
  }

  /// kNoExpr where it failed: `error` then says why.
  Expr fold(Expr e) { return fold(e, {}); }
  /// A shape term, families expanded: a kList. kNoExpr where that failed or cannot be decided yet.
  Expr shape(Expr e) { return shape(e, {}); }
  /// Lets, by number, that are replaced by what they stand for: those that nothing evaluates
  /// beforehand.
  void inline_lets(std::vector<bool> lets) { inlined_ = std::move(lets); }
  /// The let, if it folds to a constant here; else kNoExpr.
  Expr constant_let(std::uint32_t let);

  [[nodiscard]] const FoldError& error() const { return error_; }
  [[nodiscard]] bool failed() const { return failed_; }
  void forget_error() {
    failed_ = false;
    error_ = {};
  }

 private:
  using Actuals = std::span<const Expr>;
  Expr fold(Expr e, Actuals actuals);
  Expr shape(Expr e, Actuals actuals);
  Expr symbol(const Node& n);
  Expr access(Expr e, const Node& n, Actuals actuals);
  Expr conditional(Expr e, const Node& n, Actuals actuals);
  Expr logic(Expr e, const Node& n, Actuals actuals);
  Expr presence(Expr e, const Node& n, Actuals actuals);
  Expr general(Expr e, const Node& n, Actuals actuals);
  Expr constant(const Value& value, std::uint32_t column);
  Expr evaluate_closed(Expr e);
  Expr family(Expr e, const Node& n, Actuals actuals);
  std::optional<bool> matches(const PatternData& pattern,
                              Expr key,
                              bool absent,
                              const AdtFacts* adt);
  Expr fail(FoldError::Kind kind, std::string text);

  const PlanData& data_;
  const Facts& facts_;
  Pool& out_;
  struct LetState {
    bool done = false;
    Expr value = kNoExpr;
  };
  std::vector<LetState> lets_;
  std::vector<bool> inlined_;
  FoldError error_;
  bool failed_ = false;
};

/// A Bool constant's value.
[[nodiscard]] std::optional<bool> constant_bool(const Pool& pool, Expr e);

}  // namespace tenon::signature
