// The call spec and the shapes of arguments as programs: nothing of them is walked at a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "signature/program.hpp"

namespace tenon::signature {

/// How a call gives a field.
struct FieldSlot {
  enum class From : std::uint8_t {
    kFlow,      ///< the flow's next value
    kConstant,  ///< evaluated once for an instance
    kInt,       ///< the int in the cell
    kDType,     ///< the dtype in the cell
    kCell,      ///< whatever is in the cell
  };
  From from = From::kCell;
  std::uint16_t field = 0;
  std::uint16_t cell = 0;
  Expr expr = kNoExpr;  ///< of a constant
};

/// The fields of an interface on a branch.
struct CallProgram {
  Program program;
  std::vector<FieldSlot> slots;  ///< in the order of the fields, constants left out
  std::vector<FieldSlot> constants;
};

/// `exprs` are folded for the branch; kNoExpr where the flow computes the field. Cells are numbered
/// from `first_cell` on.
[[nodiscard]] CallProgram make_call_program(const PlanData& data,
                                            const Prefix& prefix,
                                            const Branch& branch,
                                            const InterfaceDecl& decl,
                                            std::span<const Expr> exprs,
                                            std::size_t first_cell);

/// One axis of an argument's shape, or several.
struct ShapeItem {
  enum class From : std::uint8_t {
    kField,        ///< an int field
    kFieldSplice,  ///< a field that is a list of ints
    kConstant,
    kCell,
    kCellSplice,
  };
  From from = From::kField;
  std::uint16_t index = 0;  ///< field or cell
  std::int64_t value = 0;
};

/// The shape of an argument over the call's fields. The cells are those of the fields, of the
/// element, then the program's own.
struct ShapeProgram {
  struct Load {
    std::uint16_t field = 0;
    bool is_int = false;  ///< the program relies on it
  };

  Program program;
  std::vector<ShapeItem> items;
  std::vector<Load> loads;  ///< the fields whose cells the program reads
  std::vector<Cell> cells;  ///< as they start, constants in their places
};

/// Compiles the shape of an argument of `interface`. Constants are kept in `arena`.
[[nodiscard]] ShapeProgram make_shape_program(const PlanData& data,
                                              std::uint32_t interface,
                                              std::uint32_t arg,
                                              Arena& arena);

}  // namespace tenon::signature
