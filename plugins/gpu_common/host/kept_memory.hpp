// Memory that was let go while its stream captured a graph, until it can be given back.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "host/runtime.hpp"

namespace tenon::gpu {

/// One piece, and the stream behind whose work it is free.
struct Kept {
  void* memory = nullptr;
  std::uint64_t size_bytes = 0;
  std::uint32_t memory_kind = 0;
  Stream stream = nullptr;
};

/// The pieces of one device.
/// Threads  [any-thread]
class KeptMemory {
 public:
  /// Whether there may be anything: one load, for those who ask at every call.
  [[nodiscard]] bool any() const { return count_.load(std::memory_order_relaxed) != 0; }

  void keep(const Kept& piece) {
    const std::lock_guard lock(mutex_);
    pieces_.push_back(piece);
    count_.store(pieces_.size(), std::memory_order_relaxed);
  }

  /// Takes out the pieces of which wanted(piece) holds; the runtime is not called under the lock.
  template <class Wanted>
  [[nodiscard]] std::vector<Kept> take(Wanted wanted) {
    const std::lock_guard lock(mutex_);
    const auto begin = std::stable_partition(
        pieces_.begin(), pieces_.end(), [&](const Kept& piece) { return !wanted(piece); });
    std::vector<Kept> taken(begin, pieces_.end());
    pieces_.erase(begin, pieces_.end());
    count_.store(pieces_.size(), std::memory_order_relaxed);
    return taken;
  }

  /// The streams that pieces wait for.
  [[nodiscard]] std::vector<Stream> streams() {
    const std::lock_guard lock(mutex_);
    std::vector<Stream> out;
    for (const Kept& piece : pieces_) {
      if (std::find(out.begin(), out.end(), piece.stream) == out.end()) out.push_back(piece.stream);
    }
    return out;
  }

 private:
  std::mutex mutex_;
  std::vector<Kept> pieces_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace tenon::gpu
