// What every way of going through a composition's stages has in common.
#pragma once

#include <algorithm>
#include <string>

#include "runtime/instance.hpp"
#include "tenon/core/composition.hpp"

namespace tenon {

/// The op that is composed, its arguments and its sub-ops.
class StageCalls : public Composition {
 public:
  StageCalls(Op::Instance& instance, ThreadState& state, const CallArgs& args)
      : instance_(instance), state_(state), args_(args) {}
  StageCalls(const StageCalls&) = delete;
  StageCalls& operator=(const StageCalls&) = delete;

  [[nodiscard]] const OpDecl& decl() const final { return instance_.decl(); }
  [[nodiscard]] const TensorView* input(std::string_view name) const final;
  [[nodiscard]] const TensorView* output(std::string_view name) const final;
  [[nodiscard]] Value param(std::string_view name) const final;
  Result<Delegate> delegate_for(std::string_view stage,
                                std::span<const std::int64_t> identity,
                                const Params& params) final;

 protected:
  ~StageCalls() = default;
  [[nodiscard]] const std::string& stage_name(const Delegate& delegate) const {
    return decl().stages[delegate.stage].name;
  }

  Op::Instance& instance_;
  ThreadState& state_;
  const CallArgs& args_;
};

}  // namespace tenon
