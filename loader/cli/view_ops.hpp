// `tenon ops` and `tenon ops show` as text and as JSON.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "console.hpp"
#include "tenon/core/registry.hpp"

namespace tenon::cli {

/// An op in the listing.
struct OpRow {
  std::string op;  ///< as it may be typed: "RMSNormFwdOp", "acme::FooFwdOp"
  std::string family;
  bool implemented = false;
  std::vector<std::string> interfaces;
  std::size_t kernel_types = 0;
  std::vector<std::pair<std::string, std::size_t>> by_kind;  ///< device kind and its kernel types
  std::vector<std::string> targets;                          ///< that serve it
  std::string backward;                                      ///< op of the gradient, or empty
  bool composition = false;
};

/// The name of an op as people type it: without the namespace `tenon`.
[[nodiscard]] std::string short_name(const OpDecl& decl);
/// Every op of the snapshot, by name.
[[nodiscard]] std::vector<OpRow> op_rows(const Snapshot& snapshot);

[[nodiscard]] std::string ops_text(std::span<const OpRow> ops, const Style& style);
[[nodiscard]] std::string ops_json(std::span<const OpRow> ops);

/// A workload of an op, as its manifest has it.
struct WorkloadRow {
  std::string label;
  std::string text;
};

/// One op in reading order: schemas, arguments and effects, flow and interfaces, inference,
/// implementations with what they declare, pairs that are unordered, workloads, backward.
[[nodiscard]] std::string op_text(const OpClass& op,
                                  std::span<const WorkloadRow> workloads,
                                  const Style& style);
[[nodiscard]] std::string op_json(const OpClass& op, std::span<const WorkloadRow> workloads);

/// Pairs of kernel types of one interface between which selection would find no order where both
/// apply: on a common device kind, both or neither general, both or neither reference.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> unordered_pairs(
    const InterfaceTable& table);

}  // namespace tenon::cli
