// The boundary to frameworks that trace: one op is one opaque node, called by its instance's key.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/core/engine.hpp"
#include "tenon/core/op.hpp"
#include "tenon/core/op_decl.hpp"
#include "tenon/core/plan.hpp"

namespace tenon {

/// Whether an op has a boundary: a call-time tensor input and no composition.
[[nodiscard]] bool has_boundary(const OpDecl& decl);

/// What is registered with a framework for an effect branch:
/// "tenon_boundary::rms_norm_fwd(int instance, Tensor x, Tensor? weight=None) -> Tensor".
/// The tensors and effects of the contract schema; its parameters belong to the instance.
/// @errors OpNotAvailable for an op without a boundary, or a branch without a schema.
[[nodiscard]] Result<std::string> boundary_schema(const OpDecl& decl, const EffectBranch& branch);

/// Calls an instance by its key, positional arguments in manifest order, absent ones included; the
/// outputs are put into `outputs`, as Op::call_into does, or written to `out`. The framework keeps
/// the instance for as long as its graphs may call it: the table of keys owns nothing. No lock once
/// this thread has called the instance.
/// @errors UsageError where no instance has the key; what the call says.
Result<void> call_by_key(Engine& engine,
                         std::uint64_t key,
                         std::span<const TensorArg> inputs,
                         const TensorView* out,
                         std::span<Tensor> outputs);

/// The meta call by key: the whole signature check and the outputs' specs; selects and runs
/// nothing. Its record is kept apart: Op::last_call() skips it, Op::last_meta() gives it.
Result<std::vector<OutputSpec>> meta_by_key(Engine& engine,
                                            std::uint64_t key,
                                            std::span<const std::optional<TensorSpec>> inputs,
                                            const TensorSpec* out = nullptr);
/// The same where sizes are known as ranges only.
Result<RangedOutputs> meta_by_key(Engine& engine,
                                  std::uint64_t key,
                                  std::span<const std::optional<RangedTensor>> inputs,
                                  bool with_out = false);

}  // namespace tenon
