// Forward flows: the control flow that ops share, from declared tensors to what a kernel receives.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/core/plan.hpp"

namespace tenon {

class Composition;

/// What a flow may read of a call: the declaration, parameters, shapes and presence; never a
/// tensor's contents.
struct FlowContext {
  const SignaturePlan& plan;
  const InterfaceDecl& interface;
  const Construction& construction;
  const CallArgs& args;
  const CallFrame& frame;
  /// Room for lists that flow values point to; sized by the caller, at least 2 * kMaxRank.
  std::span<std::int64_t> scratch;
};

/// One control flow. Stateless; one object per name.
class Flow {
 public:
  virtual ~Flow() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;

  /// Values of the fields declared `flow.<kind>`, in field order. False where the entry asks for
  /// one that this flow does not compute.
  [[nodiscard]] virtual bool flow_values(const FlowContext& context,
                                         std::span<tenon_value> values) const;

  /// The view of `tensor` that stands for argument `arg`, which the interface declares with
  /// `shape`. False where there is none: then a dense copy stands in. Reads no element.
  [[nodiscard]] virtual bool view_as(const FlowContext& context,
                                     std::uint32_t arg,
                                     const TensorView& tensor,
                                     const Dims& shape,
                                     TensorView& view) const = 0;

  /// What stands in the innermost elements that are added for a kernel type which declares an
  /// alignment: the neutral element of what kernels do along that axis.
  [[nodiscard]] virtual double pad_value() const { return 0; }

  /// Whether its kernels multiply and sum, as matrix units do.
  [[nodiscard]] virtual bool contracts() const { return false; }

  /// Whether the flow can run an op as the stages of its composition.
  [[nodiscard]] virtual bool composes() const { return false; }
  /// Runs the stages. Called where the op has no kernel of its own for the call.
  /// @pre composes
  [[nodiscard]] virtual Result<void> compose(Composition& composition) const;
};

/// By the manifest's name, or null.
[[nodiscard]] const Flow* find_flow(std::string_view name);
/// Every name, sorted.
[[nodiscard]] std::vector<std::string_view> flow_names();

/// `tensor` with another shape of as many elements, where its strides allow it without a copy.
[[nodiscard]] bool reshape_view(const TensorView& tensor,
                                std::span<const std::int64_t> shape,
                                TensorView& view);
/// `tensor` broadcast to `shape`: right-aligned, axes of size 1 get stride 0.
[[nodiscard]] bool expand_view(const TensorView& tensor,
                               std::span<const std::int64_t> shape,
                               TensorView& view);

}  // namespace tenon
