// Flows that can run an op as the stages of its composition.
#pragma once

#include "tenon/core/flow.hpp"

namespace tenon {

/// A row normalisation of a sum: stages `add` and `norm`.
[[nodiscard]] const Flow& add_row_norm_flow();
/// Attention over runs of keys: stages `partial` and `combine`.
[[nodiscard]] const Flow& attention_flow();

}  // namespace tenon
