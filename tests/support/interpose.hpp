// Counts what a hit must not do: heap memory, locks. Include in exactly one file of a test
// executable. Interposes malloc, free, calloc, realloc, aligned_alloc and the pthread locks of the
// whole process.
#pragma once

#include <cstddef>
#include <dlfcn.h>
#include <pthread.h>

namespace tenon::test {

struct Counts {
  long allocations = 0;
  long frees = 0;
  long locks = 0;
};
/// Of this thread, while counting.
inline thread_local Counts counts;
inline thread_local bool counting = false;

}  // namespace tenon::test

extern "C" {

// glibc's own names behind malloc and free (malloc/malloc.c); without them dlsym would need memory
// to start.
void* __libc_malloc(std::size_t);                 // NOLINT(bugprone-reserved-identifier)
void __libc_free(void*);                          // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(std::size_t, std::size_t);    // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void*, std::size_t);         // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(std::size_t, std::size_t);  // NOLINT(bugprone-reserved-identifier)

void* malloc(std::size_t size) noexcept {
  if (tenon::test::counting) ++tenon::test::counts.allocations;
  return __libc_malloc(size);
}
void free(void* memory) noexcept {
  if (tenon::test::counting) ++tenon::test::counts.frees;
  __libc_free(memory);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  if (tenon::test::counting) ++tenon::test::counts.allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) noexcept {
  if (tenon::test::counting) ++tenon::test::counts.allocations;
  return __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t align, std::size_t size) noexcept {
  if (tenon::test::counting) ++tenon::test::counts.allocations;
  return __libc_memalign(align, size);
}
int posix_memalign(void** out, std::size_t align, std::size_t size) noexcept {
  if (tenon::test::counting) ++tenon::test::counts.allocations;
  *out = __libc_memalign(align, size);
  return *out == nullptr ? 12 : 0;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto kReal = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  if (tenon::test::counting) ++tenon::test::counts.locks;
  return kReal(mutex);
}
int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  using Lock = int (*)(pthread_rwlock_t*);
  static const auto kReal = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_rwlock_rdlock"));
  if (tenon::test::counting) ++tenon::test::counts.locks;
  return kReal(lock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  using Lock = int (*)(pthread_rwlock_t*);
  static const auto kReal = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_rwlock_wrlock"));
  if (tenon::test::counting) ++tenon::test::counts.locks;
  return kReal(lock);
}

}  // extern "C"
