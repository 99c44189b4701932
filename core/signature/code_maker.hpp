// Turns expressions into instructions: what an expression reads lies in cells, and so does every
// value on the way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "signature/program.hpp"
#include "tenon/core/signature/evaluate.hpp"

namespace tenon::signature {

/// Knows the language; what its names stand for, those who derive know.
class CodeMaker {
 public:
  CodeMaker(const CodeMaker&) = delete;
  CodeMaker& operator=(const CodeMaker&) = delete;
  virtual ~CodeMaker() = default;

 protected:
  /// Jumps whose target is not known yet, by instruction.
  using Patches = std::vector<std::size_t>;

  /// New cells are numbered from `first_cell` on.
  CodeMaker(const Pool& pool, std::size_t first_cell);

  // A leaf is a symbol, a formal or a presence.
  [[nodiscard]] virtual bool is_known(Expr leaf) const = 0;  ///< before any call
  [[nodiscard]] virtual bool is_int_leaf(Expr leaf) const = 0;
  [[nodiscard]] virtual bool is_ints_leaf(Expr leaf) const = 0;   ///< a sequence of ints
  [[nodiscard]] virtual bool is_dtype_leaf(Expr leaf) const = 0;  ///< an index of kind DType
  [[nodiscard]] virtual std::uint16_t leaf_cell(Expr leaf) = 0;

  Instruction& emit(Code code,
                    std::size_t a = 0,
                    std::size_t b = 0,
                    std::size_t c = 0,
                    std::int64_t imm = 0,
                    std::size_t axis = 0);
  std::uint16_t new_cell() { return static_cast<std::uint16_t>(program_.cell_count++); }
  /// Consecutive cells.
  std::uint16_t new_cells(std::size_t count);
  void land(const Patches& patches);
  /// True where the program fits the widths of an instruction and nothing was left out.
  [[nodiscard]] bool fits() const;

  [[nodiscard]] bool is_leaf(Expr e) const;
  [[nodiscard]] bool is_literal(Expr e) const { return pool_.at(e).op == Op::kInt; }
  [[nodiscard]] std::int64_t literal_value(Expr e) const { return pool_.at(e).value; }
  /// True where no call changes the value.
  [[nodiscard]] bool settled(Expr e) const;
  [[nodiscard]] bool is_int(Expr e) const;
  [[nodiscard]] bool is_ints(Expr e) const;

  /// The cell that holds a value; instructions that compute it are emitted.
  std::uint16_t cell(Expr e);
  /// The same of an int: only the int itself need be read.
  std::uint16_t int_cell(Expr e);
  /// The same of a sequence of ints.
  std::uint16_t ints_cell(Expr e);
  /// The same of a dtype, which may be written as a string.
  std::uint16_t dtype_cell(Expr e);
  /// Computes a value into a cell that nothing else writes.
  void into(Expr e, std::uint16_t target);
  std::uint16_t hoist(Expr e, Hoist::Want want);
  /// Emits a jump for where `e` has the truth value `when`; otherwise execution goes on.
  void jump_if(Expr e, bool when, Patches& out);

  const Pool& pool_;
  Program program_;

 private:
  /// The variable of a comprehension, by depth.
  struct Bound {
    std::uint16_t cell = 0;
    bool is_active = false;
    bool is_int = false;
  };

  bool make_int(Expr e, std::uint16_t target);
  void arithmetic(Op op, Expr left, Expr right, std::uint16_t target);
  void make(Expr e, std::uint16_t target);
  void truth(Expr e, std::uint16_t target);
  void conditional(Expr e, std::uint16_t target);
  void primitive(Expr e, std::uint16_t target);
  void each(Expr e, std::uint16_t target);
  /// Consecutive cells with the values of these; the first of them.
  std::uint16_t row(std::span<const Expr> items);
  void compare(Expr e, bool when, Patches& out);
  void link(Expr e, std::size_t i, bool when, Patches& out);
  void int_link(Expr left, Expr right, CompareOp op, Patches& out);
  void divides(Expr left, CompareOp op, Patches& out);
  bool dtype_compare(Expr e, bool when, Patches& out);

  std::array<Bound, kMaxBound> bound_{};
  bool incomplete_ = false;
};

}  // namespace tenon::signature
