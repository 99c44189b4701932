// Which composite ops this thread is inside of, so that their sub-calls report to them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/instance.hpp"

namespace tenon {

/// One running composition of this thread, the innermost first.
struct CompositeFrame {
  CompositeFrame* parent = nullptr;
  const Op::Instance* instance = nullptr;
  /// The sub-op that Composition::run is calling; null between two stages.
  const Op::Instance* expected = nullptr;
  /// The first sub-op that was called past Composition::run.
  std::string unfiled;
  /// A call that succeeded inside the outermost composition, which may fail yet.
  struct Pending {
    Op::Instance* instance = nullptr;
    ThreadState* state = nullptr;
    std::uint64_t generation = 0;  ///< of the binding that it ran under
    std::uint64_t published = 0;   ///< of the binding that it made; 0: an earlier call did
  };
  std::vector<Pending>* pending = nullptr;  ///< of the outermost one only

  CompositeFrame& outermost() {
    CompositeFrame* at = this;
    while (at->parent != nullptr) at = at->parent;
    return *at;
  }
};

/// What composite ops do to the instances that they call.
struct CompositeCalls {
  /// A sub-call begins. @errors Internal where it comes past Composition::run.
  static Result<void> enter(CompositeFrame& caller, const Op::Instance& instance);
  /// Undoes the bindings that pending calls made, and forgets those calls.
  static void undo(std::vector<CompositeFrame::Pending>& pending, std::size_t from);
  /// What is pending has succeeded.
  static void complete(std::vector<CompositeFrame::Pending>& pending);
};

/// Runs the stages of a composite op; leaves their records in state.stage_traces. Where it fails
/// and `bound_here`, what its sub-calls bound is undone.
Result<void> run_composition(Op::Instance& instance,
                             ThreadState& state,
                             const CallArgs& args,
                             const DeviceEntry& device,
                             void* stream,
                             bool bound_here);
/// Explains the stages of a composite op, whose outputs `state` holds.
void explain_composition(Op::Instance& instance,
                         ThreadState& state,
                         const CallArgs& args,
                         std::span<const DeviceFacts> assumed,
                         Explanation& explanation);

/// The innermost composition that runs on this thread, or null.
inline constinit thread_local CompositeFrame* innermost_composition = nullptr;

}  // namespace tenon
