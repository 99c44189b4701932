// What posix_spawn does, and besides: the child ends with its parent. Between clone and exec it
// runs in this process's memory on a stack of its own, so only system calls are made there, and
// not through functions of the C library of which a sanitizer keeps account.
#include "tenon/loader/child_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
// The thread sanitizer takes every call of clone for a fork, and then forgets, in the memory that
// both share, who waited for whom. It does not know the C library's other name of it.
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...);
#endif

namespace tenon::loader {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr auto kClone = __clone;
#else
constexpr auto kClone = clone;
#endif
constexpr int kLowestKept = 10;              // above what the child gets anew
constexpr std::size_t kKernelMaskBytes = 8;  // of the system calls; the C library's is larger
constexpr std::size_t kStackBytes = std::size_t{64} * 1024;

/// What the child needs, made before it is there.
struct Birth {
  const char* program;
  char* const* arguments;
  char* const* environment;
  std::array<int, 4> descriptors;  // by their number in the child; -1: none
  pid_t parent;
  int error;
};

// No sanitizer knows that a second process runs in this memory.
#define TENON_UNWATCHED __attribute__((no_sanitize("address", "thread", "undefined")))

TENON_UNWATCHED int place_descriptors(const std::array<int, 4>& wanted) {
  std::array<int, 4> kept{-1, -1, -1, -1};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] < 0) continue;
    kept[i] = static_cast<int>(syscall(SYS_fcntl, wanted[i], F_DUPFD_CLOEXEC, kLowestKept));
    if (kept[i] < 0) return errno;
  }
  unsigned first_closed = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] < 0) continue;
    if (syscall(SYS_dup3, kept[i], static_cast<int>(i), 0) < 0) return errno;
    first_closed = static_cast<unsigned>(i) + 1;
  }
  (void)syscall(SYS_close_range, first_closed, ~0U, 0U);  // of the child: the table is a copy
  return 0;
}

TENON_UNWATCHED int be_born(void* argument) {
  auto& birth = *static_cast<Birth*>(argument);
  // Exec leaves handlers behind, but not what is ignored. Zeros are SIG_DFL, and an empty mask.
  constexpr std::array<unsigned long, 8> kZeros{};
  for (int number = 1; number < NSIG; ++number)
    (void)syscall(SYS_rt_sigaction, number, kZeros.data(), nullptr, kKernelMaskBytes);
  (void)setpgid(0, 0);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have ended before that took hold.
  if (getppid() != birth.parent) _exit(1);
  birth.error = place_descriptors(birth.descriptors);
  if (birth.error != 0) _exit(1);
  (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, kZeros.data(), nullptr, kKernelMaskBytes);
  (void)execve(birth.program, birth.arguments, birth.environment);
  birth.error = errno;
  _exit(1);
}

}  // namespace

int ChildProcess::start(const ChildSpec& spec) {
  const Descriptor input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (input.get() < 0) return errno;
  std::vector<std::string> texts{spec.program};
  texts.insert(texts.end(), spec.arguments.begin(), spec.arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  Birth birth{spec.program.c_str(),
              pointers.data(),
              environ,
              {input.get(), spec.output, spec.errors, spec.record},
              getpid(),
              0};
  const auto stack = std::make_unique<std::byte[]>(kStackBytes);
  // No handler of this process may run in the child, whose memory is the same.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  // Comes back when the child has another program or has ended.
  const pid_t child =
      kClone(be_born, stack.get() + kStackBytes, CLONE_VM | CLONE_VFORK | SIGCHLD, &birth);
  const int clone_error = child < 0 ? errno : 0;
  (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (clone_error != 0) return clone_error;
  pid_ = child;
  if (birth.error != 0) {
    (void)end();
    return birth.error;
  }
  ended_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  return 0;
}

bool ChildProcess::has_ended() const {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid != 0;
}

bool ChildProcess::wait_until(std::chrono::steady_clock::time_point deadline) const {
  using std::chrono::milliseconds;
  // Without a descriptor it is looked at now and then.
  const std::int64_t longest = descriptor() < 0 ? 5 : 60000;
  while (!has_ended()) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd waited{descriptor(), POLLIN, 0};
    (void)poll(&waited, 1, static_cast<int>(std::min<std::int64_t>(left.count(), longest)));
  }
  return true;
}

std::optional<int> ChildProcess::end() {
  if (pid_ == 0) return std::nullopt;
  // First the group, while the child's own number cannot be given to another.
  (void)kill(-pid_, SIGKILL);
  int status = 0;
  pid_t got = 0;
  do {
    got = waitpid(pid_, &status, 0);
  } while (got < 0 && errno == EINTR);
  const bool ours = got == pid_;
  pid_ = 0;
  return ours ? std::optional(status) : std::nullopt;
}

}  // namespace tenon::loader
