// What of the command's process a function of a plugin may not leave changed: its output, its
// umask, and which signals the thread lets through.
#pragma once

#include <csignal>
#include <string_view>
#include <sys/types.h>

namespace tenon::cli {

/// The calling thread's and the process's state before a function.
class ProcessState {
 public:
  /// Notes it, once before the first function: where output goes, and the umask.
  /// `stdout_descriptor` is the one that the command writes its data to. `parent` has the command's
  /// streams under their usual numbers; 0: there is none.
  static void keep_of_process(int stdout_descriptor, pid_t parent) noexcept;
  void keep() noexcept { (void)pthread_sigmask(SIG_SETMASK, nullptr, &signals_); }
  /// Puts back what was changed, and says on stderr that `function` did it.
  void put_back(std::string_view function) const noexcept;
  /// The same of the output alone. False where it is lost.
  static bool keep_output(std::string_view function) noexcept;
  [[nodiscard]] static bool is_output_there() noexcept;
  /// Whether something that the command had to say went nowhere.
  [[nodiscard]] static bool output_is_lost() noexcept;

 private:
  sigset_t signals_{};
};

/// Stands around calls that are repeated and measured: what functions do to the process is looked
/// at once, in its end, so that no look counts as time of the calls, and none is blamed for what
/// another did that nobody is told of.
class RepeatedCalls {
 public:
  RepeatedCalls() noexcept;
  ~RepeatedCalls();
  RepeatedCalls(const RepeatedCalls&) = delete;
  RepeatedCalls& operator=(const RepeatedCalls&) = delete;
  [[nodiscard]] static bool are_made() noexcept;

 private:
  ProcessState before_;
};

}  // namespace tenon::cli
