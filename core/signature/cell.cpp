// Cells: conversion to and from values, comparison, printing; the arena.
#include "tenon/core/signature/cell.hpp"

#include <algorithm>
#include <cmath>
#include <new>

#include <fmt/format.h>

namespace tenon::signature {

void Arena::grow(std::size_t at_least) {
  const std::size_t size_bytes = std::max<std::size_t>(at_least, 4096);
  blocks_.push_back({std::make_unique<std::byte[]>(size_bytes), size_bytes});
}

void* Arena::take(std::size_t size_bytes) {
  size_bytes = (size_bytes + 15) & ~std::size_t{15};
  while (block_ < blocks_.size()) {
    if (used_ + size_bytes <= blocks_[block_].size_bytes) {
      void* memory = blocks_[block_].memory.get() + used_;
      used_ += size_bytes;
      return memory;
    }
    ++block_;
    used_ = 0;
  }
  grow(size_bytes);
  used_ = size_bytes;
  return blocks_[block_].memory.get();
}

Cell* Arena::cells(std::size_t n) {
  auto* memory = static_cast<Cell*>(take(n * sizeof(Cell)));
  for (std::size_t i = 0; i < n; ++i) new (memory + i) Cell();
  return memory;
}

tenon_value* Arena::values(std::size_t n) {
  auto* memory = static_cast<tenon_value*>(take(n * sizeof(tenon_value)));
  std::fill_n(memory, n, tenon_value{});
  return memory;
}

namespace {

Cell copy_string(const std::string& text, Arena& arena) {
  char* memory = arena.bytes(text.size());
  std::copy(text.begin(), text.end(), memory);
  return Cell::string({memory, text.size()});
}

Cell copy_list(const ValueList& list, Arena& arena) {
  const auto& items = list.items;
  const bool all_ints = std::all_of(items.begin(), items.end(), [](const Value& v) {
    return v.get_if<std::int64_t>() != nullptr;
  });
  Cell cell;
  if (all_ints) {
    std::int64_t* memory = arena.ints(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) memory[i] = *items[i].get_if<std::int64_t>();
    cell = Cell::int_list(memory, items.size());
  } else {
    Cell* memory = arena.cells(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) memory[i] = cell_of(items[i], arena);
    cell = Cell::list(memory, items.size());
  }
  cell.is_tuple = list.is_tuple;
  return cell;
}

Cell copy_adt(const AdtValue& adt, Arena& arena) {
  const std::size_t count = 1 + 2 * adt.fields.size();
  Cell* memory = arena.cells(count);
  memory[0] = copy_string(adt.constructor, arena);
  for (std::size_t i = 0; i < adt.fields.size(); ++i) {
    memory[1 + 2 * i] = copy_string(adt.fields[i].first, arena);
    memory[2 + 2 * i] = cell_of(adt.fields[i].second, arena);
  }
  return Cell::list(memory, count, Tag::kAdt);
}

}  // namespace

Cell cell_of(const Value& value, Arena& arena) {
  if (value.is_none()) return Cell::none();
  if (const auto* v = value.get_if<bool>()) return Cell::boolean(*v);
  if (const auto* v = value.get_if<std::int64_t>()) return Cell::integer(*v);
  if (const auto* v = value.get_if<double>()) return Cell::real(*v);
  if (const auto* v = value.get_if<DType>()) return Cell::dtype_of(*v);
  if (const auto* v = value.get_if<std::string>()) return copy_string(*v, arena);
  if (const auto* v = value.get_if<ValueList>()) return copy_list(*v, arena);
  if (const auto* v = value.get_if<AdtValue>()) return copy_adt(*v, arena);
  Cell cell;
  cell.opaque = &value;
  cell.tag = Tag::kOpaque;
  return cell;
}

Value value_of(const Cell& cell) {
  switch (cell.tag) {
    case Tag::kUnset:
    case Tag::kNone:
      return {};
    case Tag::kBool:
      return cell.i != 0;
    case Tag::kInt:
      return cell.i;
    case Tag::kFloat:
      return cell.f;
    case Tag::kDType:
      return cell.dtype();
    case Tag::kStr:
      return cell.str();
    case Tag::kInts:
    case Tag::kList: {
      std::vector<Value> items;
      items.reserve(cell.count);
      for (std::size_t i = 0; i < cell.count; ++i) items.push_back(value_of(cell.item(i)));
      return Value::list(std::move(items), cell.is_tuple);
    }
    case Tag::kAdt: {
      AdtValue adt;
      adt.constructor = std::string(cell.cells[0].str());
      for (std::size_t i = 1; i + 1 < cell.count; i += 2) {
        adt.fields.emplace_back(std::string(cell.cells[i].str()), value_of(cell.cells[i + 1]));
      }
      return adt;
    }
    case Tag::kOpaque:
      return *cell.opaque;
  }
  return {};
}

tenon_value abi_value_of(const Cell& cell, Arena& arena) {
  tenon_value value{};
  switch (cell.tag) {
    case Tag::kUnset:
    case Tag::kOpaque:
    case Tag::kNone:
      value.kind = TENON_VALUE_NONE;
      break;
    case Tag::kBool:
      value.kind = TENON_VALUE_BOOL;
      value.i = cell.i;
      break;
    case Tag::kInt:
      value.kind = TENON_VALUE_INT;
      value.i = cell.i;
      break;
    case Tag::kFloat:
      value.kind = TENON_VALUE_FLOAT;
      value.f = cell.f;
      break;
    case Tag::kDType: {
      const tenon_dtype abi = to_abi(cell.dtype());
      value.kind = TENON_VALUE_DTYPE;
      value.i = static_cast<std::int64_t>(abi.code) | static_cast<std::int64_t>(abi.bits) << 8 |
                static_cast<std::int64_t>(abi.lanes) << 16;
      break;
    }
    case Tag::kStr:
      value.kind = TENON_VALUE_STR;
      value.count = cell.count;
      value.data = cell.text;
      break;
    case Tag::kInts:
      value.kind = TENON_VALUE_INTS;
      value.count = cell.count;
      value.data = cell.ints;
      break;
    case Tag::kList: {
      tenon_value* items = arena.values(cell.count);
      for (std::size_t i = 0; i < cell.count; ++i) items[i] = abi_value_of(cell.cells[i], arena);
      value.kind = TENON_VALUE_LIST;
      value.count = cell.count;
      value.data = items;
      break;
    }
    case Tag::kAdt: {
      const std::size_t fields = (cell.count - 1) / 2;
      tenon_value* items = arena.values(1 + fields);
      items[0] = abi_value_of(cell.cells[0], arena);
      for (std::size_t i = 0; i < fields; ++i)
        items[1 + i] = abi_value_of(cell.cells[2 + 2 * i], arena);
      value.kind = TENON_VALUE_LIST;
      value.count = 1 + fields;
      value.data = items;
      break;
    }
  }
  return value;
}

std::string print(const Cell& cell) { return value_of(cell).to_string(); }

namespace {

/// Whether an int is below, equal to or above a finite double, without rounding the int.
Order order_int_real(std::int64_t a, double b) {
  if (std::isnan(b)) return Order::kUnordered;
  if (b >= 9223372036854775808.0) return Order::kLess;
  if (b < -9223372036854775808.0) return Order::kGreater;
  const double whole = std::floor(b);
  const auto truncated = static_cast<std::int64_t>(whole);
  if (a < truncated) return Order::kLess;
  if (a > truncated) return Order::kGreater;
  return whole < b ? Order::kLess : Order::kEqual;
}

Order mirrored(Order order) {
  if (order == Order::kLess) return Order::kGreater;
  if (order == Order::kGreater) return Order::kLess;
  return order;
}

}  // namespace

Order order_numbers(const Cell& a, const Cell& b) {
  const bool a_real = a.tag == Tag::kFloat;
  const bool b_real = b.tag == Tag::kFloat;
  if (a_real && b_real) {
    if (std::isnan(a.f) || std::isnan(b.f)) return Order::kUnordered;
    if (a.f == b.f) return Order::kEqual;
    return a.f < b.f ? Order::kLess : Order::kGreater;
  }
  if (b_real) return order_int_real(a.i, b.f);
  if (a_real) return mirrored(order_int_real(b.i, a.f));
  if (a.i == b.i) return Order::kEqual;
  return a.i < b.i ? Order::kLess : Order::kGreater;
}

namespace {

bool equal_sequences(const Cell& a, const Cell& b) {
  if (a.count != b.count) return false;
  if (a.tag == Tag::kInts && b.tag == Tag::kInts)
    return std::equal(a.ints, a.ints + a.count, b.ints);
  for (std::size_t i = 0; i < a.count; ++i) {
    if (!equal(a.item(i), b.item(i))) return false;
  }
  return true;
}

}  // namespace

bool equal(const Cell& a, const Cell& b) {
  if (a.is_number() && b.is_number()) return order_numbers(a, b) == Order::kEqual;
  if (a.is_sequence() && b.is_sequence()) return equal_sequences(a, b);
  const auto name = [](const Cell& c) {
    return c.tag == Tag::kDType ? name_of(c.dtype()) : c.str();
  };
  const auto named = [](const Cell& c) { return c.tag == Tag::kDType || c.tag == Tag::kStr; };
  if (named(a) && named(b)) {
    if (a.tag == Tag::kDType && b.tag == Tag::kDType) return a.i == b.i;
    return name(a) == name(b);
  }
  if (a.tag != b.tag) return false;
  if (a.tag == Tag::kNone) return true;
  if (a.tag == Tag::kOpaque) return *a.opaque == *b.opaque;
  if (a.tag != Tag::kAdt || a.count != b.count) return false;
  for (std::size_t i = 0; i < a.count; ++i) {
    if (!equal(a.cells[i], b.cells[i])) return false;
  }
  return true;
}

}  // namespace tenon::signature
