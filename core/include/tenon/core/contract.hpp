// Contracts of kernel interfaces: their canonical text and hash, and what a plugin's older or newer
// one means.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/error.hpp"
#include "tenon/core/op_decl.hpp"
#include "tenon/core/value.hpp"

namespace tenon {

/// FNV-1a, 64 bits.
/// Source: http://www.isthe.com/chongo/tech/comp/fnv/ (offset basis 14695981039346656037, prime
/// 1099511628211).
[[nodiscard]] std::uint64_t fnv1a64(std::string_view bytes) noexcept;

/// Call fields and arguments of an interface as text, one a line; dtypes and enum members sorted,
/// so that only a change of meaning changes it. Expressions, defaults and shapes are no part of it.
[[nodiscard]] std::string contract_text(const InterfaceDecl& interface);
/// The same text from what a plugin handed over.
[[nodiscard]] std::string contract_text(const tenon_contract& contract);
/// fnv1a64 of the canonical text: tenon_contract.hash.
[[nodiscard]] std::uint64_t contract_hash(const InterfaceDecl& interface);

/// "int", "enum", "list": a TENON_VALUE_* or TENON_FIELD_* number as contracts print it; empty for
/// an unknown one.
[[nodiscard]] std::string_view contract_kind_name(std::uint32_t kind) noexcept;

/// How a plugin's contract lies over the host's interface, made once per kernel type when it
/// registers.
class ContractMatch {
 public:
  /// True where both are the same: fields and arguments need no translation, and no call is too
  /// new.
  [[nodiscard]] bool exact() const { return exact_; }
  /// For each field of the plugin, in its order, the host's field.
  [[nodiscard]] std::span<const std::uint32_t> fields() const { return fields_; }
  /// For each argument of the plugin, in its order, the host's argument.
  [[nodiscard]] std::span<const std::uint32_t> args() const { return args_; }

  /// What of a call the plugin's contract does not list.
  struct Newer {
    std::string attribute;  ///< name of the field or argument
    std::int32_t arg = -1;  ///< index of the plugin's argument where it has one
    std::string text;       ///< one sentence
  };
  /// Nothing where the plugin can be asked about the call. All spans in the host's order;
  /// `dtypes[i]` is that of argument i, ignored where it is absent. Costs nothing where the match
  /// is exact.
  [[nodiscard]] std::optional<Newer> newer(const InterfaceDecl& host,
                                           std::span<const tenon_value> fields,
                                           std::span<const tenon_arg_facts> args,
                                           std::span<const tenon_dtype> dtypes) const;

  /// Host order to plugin order. `plugin_*` have as many places as fields() and args(). Rewrites
  /// alias_of to the plugin's numbering, -1 where the plugin does not list the argument that it
  /// names.
  void project(std::span<const tenon_value> fields,
               std::span<const tenon_arg_facts> args,
               std::span<tenon_value> plugin_fields,
               std::span<tenon_arg_facts> plugin_args) const;

 private:
  friend class ContractMatcher;
  struct FieldWatch {
    std::uint32_t host = 0;
    bool unlisted = false;  ///< the plugin lacks the field: it must be at `expected`
    Value expected;
    bool none_unlisted =
        false;  ///< the host may pass none, the plugin does not list it as optional
    bool some_unlisted = false;        ///< the enum has grown:
    std::vector<std::string> members;  ///< those the plugin lists
  };
  struct ArgWatch {
    std::uint32_t host = 0;
    std::int32_t plugin = -1;  ///< -1: the plugin lacks the argument, which must be absent
    bool absent_unlisted =
        false;  ///< the host may leave it out, the plugin does not list it as optional
    bool some_unlisted = false;       ///< the host has more dtypes:
    std::vector<tenon_dtype> dtypes;  ///< those the plugin lists
  };
  [[nodiscard]] static std::optional<Newer> newer_field(const FieldWatch& watch,
                                                        const CallFieldDecl& host,
                                                        const tenon_value& got);
  [[nodiscard]] static std::optional<Newer> newer_arg(const ArgWatch& watch,
                                                      const InterfaceArgDecl& host,
                                                      bool present,
                                                      std::span<const tenon_dtype> dtypes);

  bool exact_ = false;
  std::vector<std::uint32_t> fields_;
  std::vector<std::uint32_t> args_;
  std::vector<FieldWatch> field_watches_;
  std::vector<ArgWatch> arg_watches_;
};

/// Lays a plugin's contract over the host's interface. Everything the plugin lists must exist with
/// the same kind and role; what only the host has must be optional or have a default. Equal hashes
/// and counts are taken as equal. The contract's memory must be readable (the loader has checked
/// that).
/// @errors PluginRejected naming the field or argument at fault; its fields: "what", "name",
/// "expected", "found".
[[nodiscard]] Result<ContractMatch> match_contract(const tenon_contract& plugin,
                                                   const InterfaceDecl& host);

}  // namespace tenon
