// Predicates: what a metadata tensor's contents must satisfy (`requires`). Checked on workload
// rows, never on calls.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tenon/core/error.hpp"
#include "tenon/manifest/generators.hpp"

namespace tenon::manifest {

/// What the language needs to know of a predicate before it runs.
struct PredicateInfo {
  std::string_view name;
  std::span<const FormalArg> formals;  ///< as written, without the tensor itself
  std::int32_t rank = 1;               ///< of the tensor; -1: any
  std::string_view doc;
};

/// Every predicate, by name.
[[nodiscard]] std::span<const PredicateInfo> all_predicates() noexcept;
/// By name; null where there is none.
[[nodiscard]] const PredicateInfo* find_predicate(std::string_view name) noexcept;

/// Whether a tensor's contents satisfy a predicate.
/// Errors  ManifestInvalid: unknown name (nearest names), wrong rank, wrong number or kinds of
///         arguments, a layout that is none.
[[nodiscard]] Result<bool> holds(std::string_view name,
                                 const GeneratedTensor& tensor,
                                 std::span<const CallArg> args);

}  // namespace tenon::manifest
