// A call whose memory is watched: guards around it, poison in its outputs, inputs that must stay.
#pragma once

#include <vector>

#include "guards.hpp"
#include "run_call.hpp"
#include "view_run.hpp"

namespace tenon::cli {

/// What a watched call left, and what it did that no kernel may do.
struct WatchedCall {
  CalledOnce called;
  std::vector<RunFault> faults;
};

/// Calls the op on copies of `host` in guarded memory. Where an element of an output still holds
/// what was put there before the launch, the op is called once more on other contents, since a
/// kernel may write those very bits.
/// @errors those of the call.
[[nodiscard]] Result<WatchedCall> watched_call(const Session& session,
                                               Op& op,
                                               const PreparedCall& call,
                                               const NamedTensors& host,
                                               GuardedMemory& memory);

}  // namespace tenon::cli
