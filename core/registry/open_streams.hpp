// Which streams may be capturing: those that this thread's calls go to, and those that calls inside
// of an open CaptureScope went to, of any thread.
#pragma once

#include <utility>
#include <vector>

#include "tenon/core/device.hpp"

namespace tenon {

/// How many stream scopes this thread is inside of.
inline constinit thread_local int stream_scopes_of_thread = 0;
/// How many capture scopes this thread has open.
inline constinit thread_local int open_captures_of_thread = 0;

namespace detail {

/// The stream scopes that this thread is inside of, the innermost last. At the thread's end only
/// while stream_scopes_of_thread is not 0.
std::vector<std::pair<Device, void*>>& streams_of_thread();

/// A capture scope of this thread was opened or closed. `scope` tells it from others.
void capture_opened(const void* scope, Device device);
void capture_closed(const void* scope);
/// Calls of this thread go to `stream` from here on: what its open capture scopes may capture.
void note_stream(Device device, void* stream);

/// Whether any thread has a capture scope open on the device.
[[nodiscard]] bool any_capture_open(Device device);
/// The streams of the device that may be capturing, as far as they are known. The default stream
/// may be another.
[[nodiscard]] std::vector<void*> streams_that_may_capture(Device device);

}  // namespace detail

}  // namespace tenon
