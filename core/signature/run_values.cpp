// Instructions on ints, on values of any kind, and jumps.
#include <algorithm>
#include <span>

#include "signature/operations.hpp"
#include "signature/run.hpp"

namespace tenon::signature {
namespace {

/// `relation`: bit 0 for less, 1 for equal, 2 for greater.
bool compare(unsigned relation, std::int64_t a, std::int64_t b) {
  const unsigned found = (a < b ? 1u : 0u) | (a == b ? 2u : 0u) | (a > b ? 4u : 0u);
  return (found & relation) != 0;
}

}  // namespace

// ---- Ints
// ---------------------------------------------------------------------------------------------

bool Plan::Machine::add(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return !__builtin_add_overflow(cells[i->b].i, cells[i->c].i, &cells[i->a].i) &&
         next(i, cells, sizes, rank, run);
}

bool Plan::Machine::sub(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return !__builtin_sub_overflow(cells[i->b].i, cells[i->c].i, &cells[i->a].i) &&
         next(i, cells, sizes, rank, run);
}

bool Plan::Machine::mul(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return !__builtin_mul_overflow(cells[i->b].i, cells[i->c].i, &cells[i->a].i) &&
         next(i, cells, sizes, rank, run);
}

bool Plan::Machine::floor_div_cells(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return floor_div(cells[i->b].i, cells[i->c].i, cells[i->a].i) && next(i, cells, sizes, rank, run);
}

bool Plan::Machine::mod_cells(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return floor_mod(cells[i->b].i, cells[i->c].i, cells[i->a].i) && next(i, cells, sizes, rank, run);
}

bool Plan::Machine::add_imm(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return !__builtin_add_overflow(cells[i->b].i, i->imm, &cells[i->a].i) &&
         next(i, cells, sizes, rank, run);
}

bool Plan::Machine::mul_imm(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return !__builtin_mul_overflow(cells[i->b].i, i->imm, &cells[i->a].i) &&
         next(i, cells, sizes, rank, run);
}

bool Plan::Machine::floor_div_imm(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return floor_div(cells[i->b].i, i->imm, cells[i->a].i) && next(i, cells, sizes, rank, run);
}

bool Plan::Machine::mod_imm(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return floor_mod(cells[i->b].i, i->imm, cells[i->a].i) && next(i, cells, sizes, rank, run);
}

bool Plan::Machine::length(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  cells[i->a].i = cells[i->b].count;
  return next(i, cells, sizes, rank, run);
}

bool Plan::Machine::item(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  if (i->c >= cells[i->b].count) return false;
  cells[i->a].i = cells[i->b].ints[i->c];
  return next(i, cells, sizes, rank, run);
}
bool Plan::Machine::product(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  const Cell& sequence = cells[i->b];
  std::int64_t total = 1;
  for (std::uint32_t k = 0; k < sequence.count; ++k) {
    if (__builtin_mul_overflow(total, sequence.ints[k], &total)) return false;
  }
  cells[i->a].i = total;
  return next(i, cells, sizes, rank, run);
}

// ---- Values of any kind
// -----------------------------------------------------------------------------

bool Plan::Machine::arithmetic_cells(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return arithmetic(*run->env, static_cast<Op>(i->imm), cells[i->b], cells[i->c], cells[i->a]) &&
         next(i, cells, sizes, rank, run);
}

bool Plan::Machine::negate_cell(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return negate(*run->env, cells[i->b], cells[i->a]) && next(i, cells, sizes, rank, run);
}

bool Plan::Machine::truth(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  cells[i->a] = Cell::boolean(i->axis != 0);
  return next(i, cells, sizes, rank, run);
}

bool Plan::Machine::primitive(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return run_primitive(
             *run->env, static_cast<std::size_t>(i->imm), {cells + i->b, i->c}, cells[i->a]) &&
         next(i, cells, sizes, rank, run);
}

/// The items are copied: in a comprehension their cells change.
bool Plan::Machine::tuple(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  Cell* items = run->env->arena->cells(i->c);
  std::copy_n(cells + i->b, i->c, items);
  cells[i->a] = sequence_of(*run->env, items, i->c);
  return next(i, cells, sizes, rank, run);
}

bool Plan::Machine::subscript_cell(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return subscript(*run->env, cells[i->b], cells[i->c], cells[i->a]) &&
         next(i, cells, sizes, rank, run);
}

bool Plan::Machine::slice_cell(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return slice(
             *run->env, cells[i->b], std::span<const Cell, 3>(cells + i->b + 1, 3), cells[i->a]) &&
         next(i, cells, sizes, rank, run);
}

bool Plan::Machine::payload(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return payload_of(*run->env, cells[i->b], cells[i->a]) && next(i, cells, sizes, rank, run);
}

bool Plan::Machine::kind(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return kind_of(*run->env, cells[i->b], cells[i->a]) && next(i, cells, sizes, rank, run);
}

bool Plan::Machine::field(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return field_of(*run->env,
                  cells[i->b],
                  run->pool->strings[static_cast<std::size_t>(i->imm)],
                  cells[i->a]) &&
         next(i, cells, sizes, rank, run);
}

bool Plan::Machine::each(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  const Cell source = cells[i->b];
  if (!source.is_sequence()) return false;
  const std::size_t body = run->code[i->c - 1].a;  // the kReturn says where its value is
  Cell* items = run->env->arena->cells(source.count);
  for (std::size_t k = 0; k < source.count; ++k) {
    cells[i->imm] = source.item(k);
    if (!next(i, cells, sizes, rank, run)) return false;
    items[k] = cells[body];
  }
  cells[i->a] = sequence_of(*run->env, items, source.count);
  return start(run->code + i->c, cells, sizes, rank, run);
}

bool Plan::Machine::end(At, Cell*, Extents, std::size_t, Run*) { return true; }

bool Plan::Machine::to_dtype(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  const Cell& from = cells[i->b];
  Cell& to = cells[i->a];
  to = from;
  if (from.tag == Tag::kStr) {
    const auto dtype = dtype_from_name(from.str());
    if (!dtype) return false;
    to = Cell::dtype_of(*dtype);
  }
  return to.tag == Tag::kDType && next(i, cells, sizes, rank, run);
}

bool Plan::Machine::expect_int(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return cells[i->a].tag == Tag::kInt && next(i, cells, sizes, rank, run);
}

bool Plan::Machine::expect_ints(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  Cell& cell = cells[i->a];
  if (cell.tag == Tag::kList) cell = sequence_of(*run->env, cell.cells, cell.count);
  return cell.tag == Tag::kInts && next(i, cells, sizes, rank, run);
}

bool Plan::Machine::move(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  cells[i->a] = cells[i->b];
  return next(i, cells, sizes, rank, run);
}

// ---- Jumps
// --------------------------------------------------------------------------------------------

bool Plan::Machine::jump_compare(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return jump(compare(i->axis, cells[i->a].i, cells[i->b].i), i, cells, sizes, rank, run);
}

bool Plan::Machine::jump_compare_imm(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return jump(compare(i->axis, cells[i->a].i, i->imm), i, cells, sizes, rank, run);
}

bool Plan::Machine::jump_divides(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  const std::int64_t a = cells[i->a].i;
  const std::int64_t b = cells[i->b].i;
  if (b == 0) return false;
  // Extents are small and positive: the short division is several times as fast.
  const bool small = ((a | b) >> 32) == 0;
  const bool divides = small ? static_cast<std::uint32_t>(a) % static_cast<std::uint32_t>(b) == 0
                             : b == -1 || a % b == 0;
  return jump(divides == (i->axis == 0), i, cells, sizes, rank, run);
}

bool Plan::Machine::jump_divides_imm(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return jump((cells[i->a].i % i->imm == 0) == (i->axis == 0), i, cells, sizes, rank, run);
}

bool Plan::Machine::jump_bits(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return jump(((cells[i->a].i & i->imm) == 0) == (i->axis == 0), i, cells, sizes, rank, run);
}

bool Plan::Machine::jump_in(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return jump(((i->imm >> cells[i->a].i) & 1) != i->axis, i, cells, sizes, rank, run);
}

bool Plan::Machine::jump_in_cell(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return jump(((cells[i->b].i >> cells[i->a].i) & 1) != i->axis, i, cells, sizes, rank, run);
}
bool Plan::Machine::jump_truth(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  const Cell& cell = cells[i->a];
  return cell.tag == Tag::kBool && jump(cell.i == i->axis, i, cells, sizes, rank, run);
}

bool Plan::Machine::jump_relation(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  bool holds = false;
  if (!compare_pair(*run->env, static_cast<CompareOp>(i->imm), cells[i->a], cells[i->b], holds))
    return false;
  return jump(holds == (i->axis != 0), i, cells, sizes, rank, run);
}

bool Plan::Machine::jump_always(At i, Cell* cells, Extents sizes, std::size_t rank, Run* run) {
  return jump(true, i, cells, sizes, rank, run);
}

}  // namespace tenon::signature
