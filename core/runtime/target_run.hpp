// A call that a builder target serves as a whole.
#pragma once

#include "runtime/instance.hpp"

namespace tenon {

/// Works on one thread's scratch, as StepRun does for a step.
class TargetRun {
 public:
  TargetRun(Op::Instance& instance,
            ThreadState& state,
            const CallArgs& args,
            const BuilderTarget& target)
      : instance_(instance), state_(state), args_(args), target_(target) {}

  /// Fills state.key: target, device, and each input's presence, dtype and shape.
  void make_key();
  /// Builds for the key. @errors OpNotAvailable where the target has no builder for this op:
  /// nothing else is tried.
  Result<std::shared_ptr<const CallEntry>> miss(const DeviceEntry& device, bool& built);
  /// Launches on the entry's inputs, construction-time tensors and outputs, as the caller passed
  /// them.
  Result<void> launch(const CallEntry& entry, const DeviceEntry& device, void* stream);

 private:
  /// The entry's tensors in manifest order, one entry per tensor, null where absent.
  void lay_out(bool with_outputs, const DeviceEntry& device, bool with_memory);

  Op::Instance& instance_;
  ThreadState& state_;
  const CallArgs& args_;
  const BuilderTarget& target_;
  std::size_t n_args_ = 0;
};

}  // namespace tenon
