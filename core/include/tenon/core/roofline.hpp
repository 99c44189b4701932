// Rooflines that are functions: what an entry's `roofline: {func: NAME}` names.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/error.hpp"
#include "tenon/core/plan.hpp"
#include "tenon/core/value.hpp"

namespace tenon {

/// A tensor of the call: construction-time, input or output.
struct RooflineTensor {
  std::string name;
  bool present = false;
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;  ///< of one tensor; of a list: of its first element
  std::uint64_t bytes = 0;          ///< of all elements of a list
  /// What a metadata input holds (one with `values` in its entry), where the host may read it: it
  /// is in host memory, or a workload row generated it.
  std::optional<std::vector<std::int64_t>> contents;
};

/// A checked call as a roofline function sees it. Lookups of a name that is not there give null.
struct RooflineCall {
  std::string op;                   ///< "RMSNormFwdOp"
  std::vector<NamedValue> params;   ///< every parameter, defaults filled in
  std::vector<NamedValue> indices;  ///< solved indices and reached lets
  std::vector<RooflineTensor> tensors;

  [[nodiscard]] const Value* param(std::string_view name) const noexcept;
  [[nodiscard]] const Value* index(std::string_view name) const noexcept;
  [[nodiscard]] const RooflineTensor* tensor(std::string_view name) const noexcept;
  /// An index as a number; 0 where it is not there or no int.
  [[nodiscard]] std::int64_t size(std::string_view name) const noexcept;
};

/// Gives flops and bytes, or says why there are none. Called from any thread.
using RooflineFunction = std::function<Result<Cost>(const RooflineCall& call)>;

/// Where TileOPs keeps its formulas, and where it kept them before; a name under either is the same
/// function.
inline constexpr std::string_view kRooflinePrefix = "tileops.perf.formulas.";
inline constexpr std::string_view kRooflinePrivatePrefix = "tileops._perf.formulas.";

/// True for what an entry may name: at least two identifiers, joined by dots.
[[nodiscard]] bool is_roofline_name(std::string_view name) noexcept;

/// Makes a function known in this process, for every entry that names it, also those read before.
/// It stays. [any-thread]
/// @errors UsageError: no dotted name (is_roofline_name), one that is taken, no function.
Result<void> register_roofline(std::string_view name, RooflineFunction function);

/// The function, or null; under either prefix. [any-thread]
[[nodiscard]] const RooflineFunction* find_roofline(std::string_view name);

}  // namespace tenon
