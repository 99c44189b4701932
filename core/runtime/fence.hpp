// A fence that costs readers nothing: what replaces a table pays for both sides.
#pragma once

#include <atomic>

namespace tenon {

/// True once prepare_fences has found that the kernel fences other threads on demand.
inline constinit std::atomic<bool> fences_on_demand{false};

/// Asks the kernel for fences on demand (Linux: membarrier, private and expedited), once per
/// process. To be called before anything that uses reader_fence is shared. [any-thread]
void prepare_fences();

/// A fence of this thread.
#if defined(__SANITIZE_THREAD__)
// The thread sanitizer knows no fences. Writes to one word have an order, and carry what was before
// them, as well.
inline constinit std::atomic<unsigned> fence_word{0};
inline void full_fence() { fence_word.fetch_add(1, std::memory_order_seq_cst); }
#else
inline void full_fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
#endif

/// Between announcing what is read and reading again whether it still is.
inline void reader_fence() {
  if (fences_on_demand.load(std::memory_order_relaxed)) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    full_fence();
  }
}

/// Between replacing something and asking who still reads it. False where no fence could be had:
/// then nothing may be concluded from what is not announced.
[[nodiscard]] bool writer_fence();

}  // namespace tenon
