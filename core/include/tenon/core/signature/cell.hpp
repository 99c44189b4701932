// Cells: values during evaluation, borrowed and trivially copyable; and the arena that holds what
// they point to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/dtype.hpp"
#include "tenon/core/value.hpp"
#include "tenon/plugin.h"

namespace tenon::signature {

/// What a cell holds.
enum class Tag : std::uint8_t {
  kUnset,  ///< not known (yet)
  kNone,
  kBool,
  kInt,
  kFloat,
  kDType,
  kStr,
  kInts,    ///< a sequence of ints
  kList,    ///< any other sequence
  kAdt,     ///< cells: constructor name, then per field its name and its value
  kOpaque,  ///< an object: compared only
};

/// A value that somebody else keeps.
struct Cell {
  union {
    std::int64_t i = 0;
    double f;
    const std::int64_t* ints;
    const Cell* cells;
    const char* text;
    const Value* opaque;
  };
  std::uint32_t count = 0;  ///< of a sequence or string
  Tag tag = Tag::kUnset;
  bool is_tuple = false;

  static Cell none() { return of_tag(Tag::kNone, 0); }
  static Cell boolean(bool v) { return of_tag(Tag::kBool, v ? 1 : 0); }
  static Cell integer(std::int64_t v) { return of_tag(Tag::kInt, v); }
  static Cell dtype_of(DType v) { return of_tag(Tag::kDType, static_cast<std::int64_t>(v)); }
  static Cell real(double v) {
    Cell c;
    c.f = v;
    c.tag = Tag::kFloat;
    return c;
  }
  static Cell string(std::string_view v) {
    Cell c;
    c.text = v.data();
    c.count = static_cast<std::uint32_t>(v.size());
    c.tag = Tag::kStr;
    return c;
  }
  static Cell int_list(const std::int64_t* v, std::size_t n) {
    Cell c;
    c.ints = v;
    c.count = static_cast<std::uint32_t>(n);
    c.tag = Tag::kInts;
    return c;
  }
  static Cell list(const Cell* v, std::size_t n, Tag tag = Tag::kList) {
    Cell c;
    c.cells = v;
    c.count = static_cast<std::uint32_t>(n);
    c.tag = tag;
    return c;
  }
  [[nodiscard]] bool is_sequence() const { return tag == Tag::kInts || tag == Tag::kList; }
  [[nodiscard]] bool is_number() const {
    return tag == Tag::kInt || tag == Tag::kFloat || tag == Tag::kBool;
  }
  [[nodiscard]] DType dtype() const { return static_cast<DType>(i); }
  [[nodiscard]] std::string_view str() const { return {text, count}; }
  /// Item of a sequence.
  [[nodiscard]] Cell item(std::size_t n) const {
    return tag == Tag::kInts ? integer(ints[n]) : cells[n];
  }

 private:
  static Cell of_tag(Tag tag, std::int64_t v) {
    Cell c;
    c.i = v;
    c.tag = tag;
    return c;
  }
};

/// Bump memory. `reset` keeps what was reserved, so a steady load allocates nothing.
class Arena {
 public:
  explicit Arena(std::size_t first_bytes = 0) {
    if (first_bytes != 0) grow(first_bytes);
  }
  [[nodiscard]] std::int64_t* ints(std::size_t n) {
    return static_cast<std::int64_t*>(take(n * sizeof(std::int64_t)));
  }
  [[nodiscard]] Cell* cells(std::size_t n);
  [[nodiscard]] tenon_value* values(std::size_t n);
  [[nodiscard]] char* bytes(std::size_t n) { return static_cast<char*>(take(n)); }
  void reset() {
    block_ = 0;
    used_ = 0;
  }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    std::size_t size_bytes = 0;
  };
  void* take(std::size_t size_bytes);
  void grow(std::size_t at_least);
  std::vector<Block> blocks_;
  std::size_t block_ = 0;
  std::size_t used_ = 0;
};

/// A cell for `value`; what it points to is copied into the arena (objects stay borrowed from
/// `value`).
[[nodiscard]] Cell cell_of(const Value& value, Arena& arena);
[[nodiscard]] Value value_of(const Cell& cell);
/// As it crosses to plugins; lists are laid out in the arena.
[[nodiscard]] tenon_value abi_value_of(const Cell& cell, Arena& arena);
/// "[2, 3]", "'tanh'", "None".
[[nodiscard]] std::string print(const Cell& cell);

/// Python's ==: an int and a double compare exactly, a string and a dtype by name, sequences
/// element by element.
[[nodiscard]] bool equal(const Cell& a, const Cell& b);
/// Three-way order of two ints or doubles; unordered where one is NaN.
enum class Order : std::uint8_t { kLess, kEqual, kGreater, kUnordered };
[[nodiscard]] Order order_numbers(const Cell& a, const Cell& b);

}  // namespace tenon::signature
