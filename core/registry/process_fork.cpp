// A handler that the C library runs in forked children.
#include "registry/process_fork.hpp"

#include <mutex>
#include <pthread.h>

namespace tenon {
namespace {

void count_in_child() {
  forks_seen.fetch_add(1, std::memory_order_relaxed);
  devices_taken.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void watch_forks() {
  static std::once_flag once;
  // Without memory for the handler nothing is counted, and the driver's own errors remain.
  std::call_once(once, [] { (void)pthread_atfork(nullptr, nullptr, count_in_child); });
}

}  // namespace tenon
