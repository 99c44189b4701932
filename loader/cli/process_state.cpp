// Opens output again through the parent's descriptors, and puts umask and signals back.
#include "process_state.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tenon::cli {
namespace {

pid_t parent = 0;  // who has the same output

/// A descriptor of the command that must go where it went.
struct Output {
  int descriptor = -1;
  int of_parent = -1;  // the number that the parent has it under
  dev_t device = 0;
  ino_t inode = 0;

  [[nodiscard]] bool is_there() const {
    struct stat now {};
    return fstat(descriptor, &now) == 0 && now.st_dev == device && now.st_ino == inode;
  }
  /// The parent has it still. A socket cannot be opened by its name.
  [[nodiscard]] bool open_again() const {
    if (parent == 0) return false;
    std::array<char, 64> name{};
    (void)std::snprintf(
        name.data(), name.size(), "/proc/%d/fd/%d", static_cast<int>(parent), of_parent);
    const int opened = open(name.data(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    if (opened < 0) return false;
    // NOLINTNEXTLINE(android-cloexec-dup): stderr is for child processes, too
    const bool is_moved = opened == descriptor || dup2(opened, descriptor) == descriptor;
    if (opened != descriptor) (void)close(opened);
    return is_moved && is_there();
  }
};

std::array<Output, 2> outputs;  // stderr first: it says what became of the other
std::atomic<bool> is_kept{false};
std::atomic<bool> is_lost{false};
std::atomic<bool> is_repeating{false};
mode_t first_umask = 0;

void say(const char* what, std::string_view function) {
  std::array<char, 512> line{};
  const int size = std::snprintf(line.data(),
                                 line.size(),
                                 "tenon: %.*s %s\n",
                                 static_cast<int>(function.size()),
                                 function.data(),
                                 what);
  if (size > 0) (void)!write(STDERR_FILENO, line.data(), static_cast<std::size_t>(size));
}

bool same(const sigset_t& a, const sigset_t& b) {
  for (int number = 1; number < NSIG; ++number) {
    if (sigismember(&a, number) != sigismember(&b, number)) return false;
  }
  return true;
}

}  // namespace

void ProcessState::keep_of_process(int stdout_descriptor, pid_t of) noexcept {
  parent = of;
  outputs = {Output{STDERR_FILENO, STDERR_FILENO}, Output{stdout_descriptor, STDOUT_FILENO}};
  for (Output& output : outputs) {
    struct stat now {};
    // What was closed from the start is nobody's fault, and is not missed.
    if (fstat(output.descriptor, &now) != 0) output.descriptor = -1;
    output.device = now.st_dev;
    output.inode = now.st_ino;
  }
  first_umask = umask(S_IWGRP | S_IWOTH);
  (void)umask(first_umask);
  is_kept.store(true, std::memory_order_release);
}

bool ProcessState::is_output_there() noexcept {
  return !is_kept.load(std::memory_order_acquire) ||
         std::all_of(outputs.begin(), outputs.end(), [](const Output& output) {
           return output.descriptor < 0 || output.is_there();
         });
}

bool ProcessState::keep_output(std::string_view function) noexcept {
  if (!is_kept.load(std::memory_order_acquire)) return true;
  bool was_closed = false;
  bool all = true;
  for (const Output& output : outputs) {
    if (output.descriptor < 0 || output.is_there()) continue;
    was_closed = true;
    all = output.open_again() && all;
  }
  if (!was_closed) return true;
  // 1 is another name of stderr (kept_stdout.hpp).
  if (outputs[1].descriptor != STDOUT_FILENO) (void)dup2(STDERR_FILENO, STDOUT_FILENO);
  if (all) {
    say("closed the command's output; it was opened again", function);
  } else {
    is_lost.store(true);
    say("closed the command's output, and it cannot be opened again: what the command has to say "
        "is lost",
        function);
  }
  return all;
}

bool ProcessState::output_is_lost() noexcept { return is_lost.load(); }

void ProcessState::put_back(std::string_view function) const noexcept {
  if (!is_kept.load(std::memory_order_acquire)) return;
  (void)keep_output(function);
  if (umask(first_umask) != first_umask)
    say("changed the process's umask; it was put back", function);
  sigset_t now;
  (void)pthread_sigmask(SIG_SETMASK, &signals_, &now);
  if (!same(now, signals_))
    say("left the thread with other signals blocked than before; that was put back", function);
}

RepeatedCalls::RepeatedCalls() noexcept {
  before_.keep();
  is_repeating.store(true, std::memory_order_relaxed);
}

RepeatedCalls::~RepeatedCalls() {
  is_repeating.store(false, std::memory_order_relaxed);
  before_.put_back("a plugin, in calls that were repeated,");
}

bool RepeatedCalls::are_made() noexcept { return is_repeating.load(std::memory_order_relaxed); }

}  // namespace tenon::cli
