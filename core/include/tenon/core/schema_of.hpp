// The operator schemas of a manifest entry: one per effect branch, printed from the declaration.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/op_decl.hpp"

namespace tenon {

/// What the declaration alone does not say.
struct SchemaContext {
  /// Names of algebraic types in force: a parameter of such a type travels as `str`; any other
  /// unknown name is an object.
  std::span<const std::string> adt_names;
  /// Names that lets, refinements, type families, the roofline or generators read. A Bool parameter
  /// that is read nowhere but in `mutated` conditions only decides what is written, and is left out
  /// of the schemas.
  std::span<const std::string> names_read_elsewhere;
  /// Inputs with `kw_only`.
  std::span<const std::string> keyword_inputs;
};

/// The branches of an entry, and why some of them have no schema.
struct BranchSchemas {
  std::vector<EffectBranch> branches;
  /// Parallel to `branches`; empty where there is a schema: "parameter 'epilogue' of type 'dict'
  /// has no schema type".
  std::vector<std::string> reasons;
};

/// The name in an entry without `schema:`: the op's name without `Op`, split before an upper-case
/// letter that follows a lower-case letter or digit and before the last capital of a run that a
/// lower-case letter follows, joined by `_`, lower case: "RMSNormFwdOp" -> "rms_norm_fwd",
/// "Conv2dFwdOp" -> "conv2d_fwd".
[[nodiscard]] std::string default_schema_name(std::string_view op_name);

/// The sets of inputs that a call may write, as the declaration alone tells: inputs under one
/// `mutated` condition are written together, and different conditions hold independently of each
/// other (from the eighth on they are taken together). The empty set comes first where it is
/// possible. An optional input counts as written where its condition holds, present or not. Who
/// knows the accepted points gives `effect_branches` the sets that really occur.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> written_sets_of(const OpDecl& decl);

/// The effect branches of an entry with their schemas. For each written set (ascending input
/// indices), in order: the call without `out`; with `out`, where an output is buffered. Last, where
/// that output may be the very first input (`may_alias`, in which defaults are filled in already),
/// the in-place schema: `in_place`, no branch of a call. Names    functional: the entry's name and
/// overload; `out` passed: `.out` or `.<OVERLOAD>_out`; the first input alone
///          written: a trailing `_`; any other set: `.mut_<names>` or `.<OVERLOAD>_mut_<names>`,
///          with `_out` too.
/// Inputs   in their order; those with `kw_only` behind the `*`, unless the branch writes them. An
/// input `out`, the
///          result buffer that every call passes, is the last argument and is returned: `.out`.
/// Returns  an output that is a written input is a return only where the notation demands it: in
/// place. There the first
///          argument is always returned, also by an op that returns nothing. A first input that is
///          written beside fresh outputs has no in-place spelling; it gets `.mut_<name>`.
/// Types    int, float, bool, str (enums too), ScalarType, Device, T? for Maybe, T[] for lists;
/// Scalar for Number and
///          int | float; int[1] for an int or a list, int[n] for an int or a tuple of n; str,
///          holding the YAML form, for an ADT and for a union that has no type of its own. A dict
///          or an object has none.
/// Every schema that is printed passes parse and lint of schema.hpp.
[[nodiscard]] BranchSchemas effect_branches(
    const OpDecl& decl,
    std::span<const std::vector<std::uint32_t>> written_sets,
    const SchemaContext& context = {});
/// The same with `written_sets_of(decl)`.
[[nodiscard]] BranchSchemas effect_branches(const OpDecl& decl, const SchemaContext& context = {});

}  // namespace tenon
