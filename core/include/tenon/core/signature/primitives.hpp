// The table of primitives: name, argument kinds, result kind, implementation, one line of
// documentation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tenon/core/signature/evaluate.hpp"

namespace tenon::signature {

/// Kinds as the table needs them; the front end's kind checker reads them.
enum class FormalKind : std::uint8_t {
  kShape,
  kInt,
  kBool,
  kAxes,     ///< Int | Seq[Int] | None
  kPerAxis,  ///< Int | Seq[Maybe[Int]] | None
  kMaybeInt,
  kDType,
  kMaybeDType,
  kValue,
  kSeq,  ///< of anything
  kSeqInt,
  kSeqBool,
  kReduceMode,  ///< 'full' | 'noop' | 'reject'
  kAdt,
  kSeqShape,  ///< Seq[Shape]
};
enum class ResultKind : std::uint8_t {
  kInt,
  kDim,
  kDimOfDims,  ///< Dim where every argument is a Dim, else Int
  kBool,
  kShape,
  kSeqInt,
  kDType,
  kFirstDType,  ///< the set of the argument, ints replaced by float32
  kJoinDTypes,  ///< the union of both arguments' sets
  kCategory,    ///< 'bool' | 'int' | 'float' | 'complex'
  kItems,       ///< Int, or Dim where the sequence holds Dims
};

/// One argument that a primitive takes.
struct Formal {
  std::string_view name;
  FormalKind kind;
  bool optional = false;  ///< may be left out; only these may be given by keyword
};

/// One row of the table of primitives.
struct Primitive {
  std::string_view name;
  std::span<const Formal> formals;
  bool variadic = false;         ///< the only formal repeats, at least once
  bool takes_each = false;       ///< the first argument may be a comprehension
  bool value_primitive = false;  ///< a workload row may write it over integer literals
  ResultKind result;
  /// Arguments in formal order, kUnset where not given.
  bool (*run)(Env& env, std::span<const Cell> arguments, Cell& out);
  std::string_view doc;
};

/// The table, and the row of a name in it.
[[nodiscard]] std::span<const Primitive> primitives() noexcept;
[[nodiscard]] std::optional<std::uint32_t> primitive_index(std::string_view name) noexcept;

/// An axis as it wraps: rank 0 takes 0 and -1. False where it does not wrap.
[[nodiscard]] bool wrap_axis(std::int64_t axis, std::int64_t rank, std::int64_t& out) noexcept;
/// "[-3, 2] at rank 3": the axes that wrap.
[[nodiscard]] std::string axis_range(std::int64_t rank);
/// Right-aligned broadcast of two shapes, as the primitive does it. False where sizes disagree;
/// `axis` is then the axis of the result, counted from the right.
[[nodiscard]] bool broadcast_pair(std::span<const std::int64_t> a,
                                  std::span<const std::int64_t> b,
                                  std::int64_t* out,
                                  std::uint32_t& rank,
                                  std::uint32_t& axis_from_right) noexcept;

}  // namespace tenon::signature
