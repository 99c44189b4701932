// Values of which only a range is known, and expressions over them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/core/plan.hpp"
#include "tenon/core/signature/cell.hpp"
#include "tenon/core/signature/evaluate.hpp"
#include "tenon/core/signature/expr.hpp"

namespace tenon::signature {

/// What is known of a value: the value itself, an interval, sizes of intervals, or that it is a
/// Bool.
struct Ranged {
  enum class Kind : std::uint8_t { kUnknown, kExact, kInterval, kSizes, kBool };
  Kind kind = Kind::kUnknown;
  Cell exact;
  SizeRange interval;            ///< of kInterval
  std::vector<SizeRange> sizes;  ///< of kSizes

  static Ranged of(const Cell& cell);
  static Ranged of(SizeRange range);
  static Ranged of(std::vector<SizeRange> sizes);
  static Ranged open_bool() { return with(Kind::kBool); }
  static Ranged unknown() { return {}; }

  [[nodiscard]] bool is_exact() const { return kind == Kind::kExact; }
  /// An int as an interval; nothing for anything else.
  [[nodiscard]] std::optional<SizeRange> as_interval() const;
  /// A sequence of ints as intervals.
  [[nodiscard]] std::optional<std::vector<SizeRange>> as_sizes() const;
  /// A Bool where it is known.
  [[nodiscard]] std::optional<bool> as_bool() const;

 private:
  static Ranged with(Kind kind) {
    Ranged r;
    r.kind = kind;
    return r;
  }
};

/// Evaluates over ranges: the result covers every value that the expression takes for values within
/// the ranges.
class RangeEvaluator {
 public:
  RangeEvaluator(const Pool& pool, std::vector<Ranged>& symbols, Arena& arena)
      : pool_(pool), symbols_(symbols), arena_(arena) {}

  Ranged evaluate(Expr e);
  /// True where some part had no value for exact operands: no call can pass.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  /// Parts that have no value for some operands in the ranges: a zero divisor, sizes that do not
  /// broadcast. Empties the list.
  [[nodiscard]] std::vector<Expr> take_open() { return std::exchange(open_, {}); }

 private:
  Ranged exact(Expr e, const std::vector<Ranged>& kids);
  Ranged arithmetic(Op op, const Ranged& a, const Ranged& b);
  Ranged compare(Expr e);
  /// Of a part that may never be reached: what fails there leaves `whole` open.
  Ranged tentative(Expr e, Expr whole);
  void leave_open(Expr e);
  Ranged logic(Expr e, bool decides);
  Ranged conditional(Expr e);
  Ranged subscript(Expr e);
  Ranged slice(Expr e);
  Ranged each(Expr e);
  Ranged primitive(Expr e);
  Ranged window(Expr e, const std::vector<Ranged>& arguments);
  Ranged fold(Expr e, const std::vector<Ranged>& arguments);
  Ranged broadcast(Expr e, const std::vector<Ranged>& arguments);
  Ranged reduced(const std::vector<Ranged>& arguments);
  Ranged gather(const std::vector<Ranged>& items);
  Ranged run(Expr e, std::vector<Cell> arguments);

  const Pool& pool_;
  std::vector<Ranged>& symbols_;
  Arena& arena_;
  std::vector<Ranged> bound_ = std::vector<Ranged>(kMaxBound);
  std::string failure_;
  std::vector<Expr> open_;
  bool overflowed_ = false;  ///< an end of the last arithmetic does not fit 64 bits
};

[[nodiscard]] SizeRange hull(SizeRange a, SizeRange b);

}  // namespace tenon::signature
