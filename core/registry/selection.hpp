// Selection: in rounds, the one kernel type of an interface that serves a call, or why there is
// none.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flows/stand_ins.hpp"
#include "tenon/core/engine.hpp"
#include "tenon/core/explain.hpp"
#include "tenon/core/registry.hpp"

namespace tenon {

/// A copy of arguments is asked for by a bit per argument; interfaces with more arguments get no
/// round 2.
inline constexpr std::size_t kMaxCopiedArgs = 64;

struct SelectionQuery {
  const InterfaceDecl& interface;
  const InterfaceTable& table;
  std::span<const tenon_value> fields;
  std::span<const tenon_arg_facts> facts;    ///< of the call as it is
  std::span<const tenon_dtype> dtypes;       ///< per argument; ignored where absent
  std::span<const std::uint8_t> dense_wide;  ///< per argument: would a dense copy be wide?
  DeviceKind kind;
  const DeviceFacts& device;
  bool copies_allowed = true;  ///< round 2
  bool deterministic = false;
  std::span<const std::string> prefer;
  std::string_view forced;  ///< "plugin:key": nothing else is considered
  std::string_view forced_by;
  std::span<const std::pair<std::string, std::string>>
      disabled;                         ///< "plugin:key" and the setting that did it
  bool any_target = true;               ///< false: a table target of another kind (never asked)
  std::span<const ArgSize> sizes = {};  ///< per argument
  /// Whether the device kind has a kernel that copies (equal dtypes) or casts; null: none.
  std::function<bool(DType from, DType to)> converts = nullptr;
};

enum class SelectionOutcome : std::uint8_t { kChosen, kNone, kNoneForDevice, kAmbiguous };

struct SelectionResult {
  SelectionOutcome outcome = SelectionOutcome::kNone;
  const KernelType* winner = nullptr;
  std::uint32_t round = 0;
  std::uint64_t copied_args = 0;  ///< bit i: argument i goes as a dense copy, cast or padded too
  std::vector<std::string> tied;  ///< of an ambiguity
  /// Kernel types whose refuse function failed, which is neither yes nor no, and what they said.
  std::vector<std::pair<const KernelType*, std::string>> failed;
};

/// Pure: reads facts only, calls the plugins' refuse. `report`, where given, gets every candidate
/// with its verdict.
[[nodiscard]] SelectionResult select(const SelectionQuery& query,
                                     std::vector<CandidateReport>* report = nullptr);

/// The facts of an argument that stands in as a dense copy.
[[nodiscard]] tenon_arg_facts dense_facts(const tenon_arg_facts& facts, bool wide);
/// The facts of a call in which the arguments of `copied` are dense copies.
void facts_with_copies(std::span<const tenon_arg_facts> facts,
                       std::span<const std::uint8_t> dense_wide,
                       std::uint64_t copied,
                       std::span<tenon_arg_facts> out);

/// The same as `type` gets them: what is padded may be wide for it.
void facts_for(const KernelType& type,
               std::span<const tenon_arg_facts> facts,
               std::span<const std::uint8_t> dense_wide,
               std::span<const ArgSize> sizes,
               std::uint64_t copied,
               std::span<tenon_arg_facts> out);

/// Layout, alignment and width of one view; alias_of is -1.
[[nodiscard]] tenon_arg_facts facts_of(const TensorView& view);
[[nodiscard]] std::string_view layout_name(std::uint32_t layout) noexcept;

}  // namespace tenon
