// membarrier, where the kernel has it.
#include "runtime/fence.hpp"

#include <mutex>

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tenon {
namespace {

#if defined(__linux__) && !defined(__SANITIZE_THREAD__)
bool command(int what) { return syscall(SYS_membarrier, what, 0, 0) == 0; }
bool register_here() { return command(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED); }
bool fence_everyone() {
  // A process that was forked between the two has its parent's registration; one that lost it asks
  // again.
  return command(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
         (register_here() && command(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}
#else
// The thread sanitizer does not see fences that the kernel makes.
bool register_here() { return false; }
bool fence_everyone() { return false; }
#endif

}  // namespace

void prepare_fences() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (register_here() && fence_everyone())
      fences_on_demand.store(true, std::memory_order_relaxed);
  });
}

bool writer_fence() {
  full_fence();
  return !fences_on_demand.load(std::memory_order_relaxed) || fence_everyone();
}

}  // namespace tenon
