// What a change of the manifest breaks: for those who call ops, and for the plugins that serve
// them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/op_decl.hpp"

namespace tenon::manifest {

/// Whom a change hurts.
enum class DiffAffected : std::uint8_t {
  kNobody,   ///< worth knowing
  kCallers,  ///< programs that were written for the older manifest
  kPlugins,  ///< plugins that were built for the older manifest
};
/// "nobody", "callers", "plugins"
[[nodiscard]] std::string_view name_of(DiffAffected affected) noexcept;

/// One change. `is_certain` is false where it depends on the call or cannot be decided from the
/// declarations: a shape that reads differently may mean the same.
struct ManifestChange {
  std::string op;  ///< full name
  DiffAffected affected = DiffAffected::kNobody;
  bool is_certain = true;
  std::string message;   ///< "interface 'add_fwd' is gone"
  SourceLocation where;  ///< in the newer manifest; in the older one for what is gone
};

/// Compares two sets of compiled declarations: ops by full name, schemas of branches by name and
/// overload (compare_schemas), dtypes and layouts of tensors, interfaces by name and contract
/// (match_contract: whether a plugin that was built against the older contract is accepted now).
/// Expressions are compared as text. Refinements, lets and type families are no part of a
/// declaration and are not compared.
/// @returns the changes, by op, those of the interfaces last; empty where nothing differs.
[[nodiscard]] std::vector<ManifestChange> diff(std::span<const OpDecl* const> older,
                                               std::span<const OpDecl* const> newer);

/// A line per change: "tenon::AddFwdOp: breaks callers: input 'x' is never int8 any more
/// (elementwise.yaml:12:7)"; "may break callers" where that is not certain, "breaks nobody" for
/// what is only worth knowing.
[[nodiscard]] std::string to_text(std::span<const ManifestChange> changes);

}  // namespace tenon::manifest
