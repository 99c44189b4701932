// Memory for what a stream captures into a graph.
#pragma once

#include <cstddef>
#include <memory>

#include "tenon/core/engine.hpp"
#include "tenon/core/error.hpp"

namespace tenon {

class CapturePool;

/// Where calls take outputs and workspaces from while a stream captures. A graph that was captured
/// writes to the same addresses at every replay, so they must belong to nobody else as long as the
/// graph lives: from open() to close() the calls that this thread makes on the device take memory
/// that the scope keeps.
///
///     auto scope = CaptureScope::open(runtime.engine(), device).value();
///     begin_capture(stream);
///     Tensor y = on_stream(device, stream, [&] { return rms_norm(x, w); }).value();
///     Graph graph = end_capture(stream);
///     scope.close().value();
///     replay(graph);                   // y holds the result, each time
///
/// Owner    owned. Hold it as long as the graph is replayed; its memory is given back when it and
///          every output made in it are gone, after the device has passed what was enqueued.
/// Threads  open and close on one thread; scopes of a thread nest, the innermost of a device
/// counts.
class CaptureScope {
 public:
  /// Opens one, before the capture begins. @errors DeviceError.
  static Result<CaptureScope> open(Engine& engine, Device device);

  CaptureScope(CaptureScope&&) noexcept;
  CaptureScope& operator=(CaptureScope&&) noexcept;
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;
  ~CaptureScope();

  /// Calls allocate as usual again. Waits until the memory is usable: after the capture has ended,
  /// before the first replay. A second one does nothing. @errors DeviceError, late ones as well.
  Result<void> close();
  /// What calls have taken so far, in bytes.
  [[nodiscard]] std::size_t size_bytes() const;

 private:
  explicit CaptureScope(std::shared_ptr<CapturePool> pool);
  std::shared_ptr<CapturePool> pool_;
};

}  // namespace tenon
