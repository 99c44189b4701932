// Flows that can run an op as the stages of its composition, and what flows share.
#pragma once

#include "tenon/core/flow.hpp"

namespace tenon {

/// Tensors are passed as they are declared.
class AsDeclaredFlow : public Flow {
 public:
  [[nodiscard]] bool view_as(const FlowContext& context,
                             std::uint32_t arg,
                             const TensorView& tensor,
                             const Dims& shape,
                             TensorView& view) const override;
};

/// Adjacent axes are passed as one.
class FoldedFlow : public Flow {
 public:
  [[nodiscard]] bool view_as(const FlowContext& context,
                             std::uint32_t arg,
                             const TensorView& tensor,
                             const Dims& shape,
                             TensorView& view) const override;
};

/// A row normalisation of a sum: stages `add` and `norm`.
[[nodiscard]] const Flow& add_row_norm_flow();
/// Attention over runs of keys: stages `partial` and `combine`.
[[nodiscard]] const Flow& attention_flow();

}  // namespace tenon
