// A runtime of two devices without hardware, under MACA's names because those need no vendor's
// header: does what the documents of CUDA and HIP say of streams, captures, memory and errors, and
// tells what it was asked.
#pragma once

#include <cstddef>
#include <map>
#include <set>

#include "host/runtime.hpp"

namespace tenon::fake_runtime {

struct StreamState {
  int device = 0;
  bool captures = false;
  bool spoilt = false;  ///< the capture met what it must not
};

struct State {
  int current = 0;
  bool pools = true;
  mcError_t last = mcSuccess;     ///< what the last failing call left
  mcError_t pending = mcSuccess;  ///< what every call answers from here on
  mcError_t launch = mcSuccess;   ///< what the next kernel's launch leaves
  std::map<mcStream_t, StreamState> streams;
  std::set<void*> memory;
  std::size_t asked_of_dead_streams = 0;
  int copied_on = -1;  ///< the device of the stream of the last copy
};

/// The one state of the process.
State& state();
/// Begins anew.
void reset();
/// As a kernel's launch does.
void launch_kernel();
inline mcError_t code(int number) { return static_cast<mcError_t>(number); }

}  // namespace tenon::fake_runtime
