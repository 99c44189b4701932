// A fork before any plugin is there, a page that both see, and last words.
#include "supervise.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "json_text.hpp"
#include "plugin_account.hpp"
#include "process_state.hpp"
#include "tenon/core/error.hpp"

namespace tenon::cli {
namespace {

constexpr int kSignalBase = 128;
constexpr int kFailed = 1;

/// What the child tells while it lives.
struct Account {
  std::atomic<bool> done{false};       // the work came back
  std::atomic<int> status{1};          // what it came back with
  std::atomic<bool> by_exit{false};    // exit() was called while the work was not done
  std::atomic<bool> by_thread{false};  // a thread of it was ended: by_exit is set, too
  std::atomic<bool> is_mute{false};    // what it had to say went nowhere
  std::atomic<bool> wrote{false};      // stdout has data of the command
  PluginAccount plugins;
};

Account* account = nullptr;  // of this process and its parent, or of this one alone
pid_t worker = 0;            // the process that does the work; 0: nobody said
pid_t parent_of_worker = 0;  // in the worker: who waits for it
bool wants_json = false;
volatile std::sig_atomic_t child_to_signal = 0;
// Which signals this process, the parent, was sent.
std::array<volatile std::sig_atomic_t, NSIG> was_sent{};

void write_to(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(descriptor, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

void write_error(std::string_view text) { write_to(STDERR_FILENO, text); }

std::string advice(const Account& of) {
  const std::string plugin = plugin_to_blame(of.plugins);
  return fmt::format(
      "'tenon plugins doctor' says what is wrong with plugins as far as loading shows it; "
      "--set-config plugins.disable={} leaves {} out",
      plugin.empty() ? "ID" : plugin,
      plugin.empty() ? "one" : "this one");
}

/// Last words on stderr: what happened, and what to do about it.
void tell(const std::string& what, const std::string& advice) {
  write_error(fmt::format("tenon: {}\n", what));
  if (!advice.empty()) write_error(fmt::format("tenon: {}\n", advice));
}

/// The same as the document that stdout lacks, for who asked for JSON. A document of the work's own
/// is there already where it wrote one.
void tell_json(ErrorCode code, const std::string& what, const std::string& advice) {
  if (!wants_json || account->wrote.load()) return;
  // Whether anybody reads it does not change how this process ends.
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)std::signal(SIGXFSZ, SIG_IGN);
  const std::string function = running_function(account->plugins);
  write_to(STDOUT_FILENO,
           ended_json(Error(code, what)
                          .with_hint(advice)
                          .with_where(function)
                          .with("stage", function.substr(0, function.find(' ')))
                          .with("plugin", plugin_to_blame(account->plugins))));
}

/// Whose fault an end is that nobody asked for, as far as it is known.
ErrorCode blame() {
  const PluginAccount& plugins = account->plugins;
  const bool is_known = plugins.n_told.load() != 0 || !plugin_to_blame(plugins).empty();
  return is_known ? ErrorCode::kPluginFailed : ErrorCode::kInternal;
}

std::string exit_text() {
  return fmt::format(
      "{} {}; nothing is finished",
      account->by_thread.load() ? "the thread was ended (pthread_exit)" : "exit() was called",
      place_text(account->plugins));
}

/// Last words of the child itself.
[[noreturn]] void end_with_words() {
  account->by_exit.store(true);
  (void)std::fflush(stdout);
  tell(exit_text(), advice(*account));
  _exit(kFailed);
}

// exit() in a plugin runs this: the status of a process that has not done its work is not 0.
void tell_of_exit() {
  if (getpid() != worker || account->done.load()) return;  // another process may end as it likes
  note_caller(account->plugins);
  end_with_words();
}

// The work goes on in no other thread: told before destructors on the way call other functions, or
// one that is noexcept ends the process in another way.
void tell_of_thread_end() noexcept {
  if (getpid() != worker || account->done.load()) return;
  account->by_thread.store(true);
  end_with_words();
}

int watched(const std::function<int()>& work) {
  worker = getpid();
  static AccountWatch watch(account->plugins, tell_of_thread_end);
  watch_plugin_calls(&watch);
  note_faults(account->plugins);
  (void)std::atexit(tell_of_exit);
  const int status = work();
  end_where_forked();
  account->is_mute.store(ProcessState::output_is_lost());
  account->status.store(status);
  account->done.store(true);
  return status;
}

bool is_traced() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word != "TracerPid:") continue;
    status >> word;
    return word != "0";
  }
  return false;
}

/// Hands on what was sent to this process alone; the terminal sends its signals to both.
void pass_on(int number, siginfo_t* info, void*) {
  was_sent[static_cast<std::size_t>(number)] = 1;
  if (child_to_signal > 0 && info->si_code <= 0) (void)kill(child_to_signal, number);
}

constexpr std::array kPassedOn{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
using Actions = std::array<struct sigaction, kPassedOn.size() + 1>;

Actions take_signals() {
  Actions before{};
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (std::size_t i = 0; i < kPassedOn.size(); ++i) {
    (void)sigaction(kPassedOn[i], nullptr, &before[i]);
    // What is ignored (nohup) stays ignored, here and there.
    if (before[i].sa_handler != SIG_IGN) (void)sigaction(kPassedOn[i], &action, nullptr);
  }
  // Who ignores this one is not told how a child ended.
  struct sigaction as_usual {};
  as_usual.sa_handler = SIG_DFL;
  (void)sigaction(SIGCHLD, &as_usual, &before.back());
  return before;
}

void give_signals_back(const Actions& before) {
  for (std::size_t i = 0; i < kPassedOn.size(); ++i)
    (void)sigaction(kPassedOn[i], &before[i], nullptr);
  (void)sigaction(SIGCHLD, &before.back(), nullptr);
}

/// Ends as the child did, so that a shell sees the same.
int end_by(int number) {
  const rlimit none{0, 0};  // the child has left its core; this one's shows nothing
  (void)setrlimit(RLIMIT_CORE, &none);
  (void)std::signal(number, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  (void)sigprocmask(SIG_UNBLOCK, &only, nullptr);
  (void)raise(number);
  return kSignalBase + number;
}

/// Whether somebody wanted that end: this process was sent the signal, too, or nobody reads what
/// the command itself writes. What a plugin raises is neither.
bool is_asked_for(int number) {
  if (number == SIGPIPE) return !account->plugins.inside.load();
  return number > 0 && number < NSIG && was_sent[static_cast<std::size_t>(number)] != 0;
}

std::string name_of_signal(int number) {
  const char* const abbreviation = sigabbrev_np(number);
  return abbreviation == nullptr ? std::to_string(number) : fmt::format("SIG{}", abbreviation);
}

int told_of_signal(int number) {
  if (is_asked_for(number)) {
    const std::string what =
        fmt::format("interrupted {} ({})", place_text(account->plugins), name_of_signal(number));
    if (account->plugins.inside.load() && !account->done.load()) tell(what, {});
    if (number != SIGPIPE) tell_json(ErrorCode::kShutDown, what, {});
    return end_by(number);
  }
  const std::string plugin = plugin_to_blame(account->plugins);
  const std::string where = account->done.load()
                                ? fmt::format(
                                      "after the command was done, in a destructor or exit "
                                      "handler, {} plugin{}",
                                      plugin.empty() ? "most likely of a" : "of",
                                      plugin.empty() ? "" : " '" + plugin + "'")
                                : place_text(account->plugins) + "; nothing is finished";
  const std::string what = fmt::format("ended by {} {}", name_of_signal(number), where);
  tell(what, advice(*account));
  tell_json(blame(), what, advice(*account));
  return end_by(number);
}

int told_of_status(int status) {
  if (account->is_mute.load()) {
    const std::string what =
        fmt::format("a plugin closed the command's output, {}; what the command had to say is lost",
                    place_text(account->plugins));
    tell(what, advice(*account));
    tell_json(ErrorCode::kPluginFailed, what, advice(*account));
    return status == 0 ? kFailed : status;
  }
  if (account->by_exit.load()) {  // which the child has told on stderr
    tell_json(blame(), exit_text(), advice(*account));
    return status;
  }
  if (account->done.load()) {
    const int meant = account->status.load();
    if (status == meant) return status;
    tell(fmt::format("the command was done with status {}, but a destructor or exit handler, most "
                     "likely of a plugin, made it {}",
                     meant,
                     status),
         {});
    return status == 0 ? meant : status;
  }
  const std::string what = fmt::format(
      "the process was ended with status {} (_exit or the like) {}; nothing is finished",
      status,
      place_text(account->plugins));
  tell(what, advice(*account));
  tell_json(blame(), what, advice(*account));
  return status == 0 ? kFailed : status;
}

/// Waits for the child and tells how it ended.
int end_of(pid_t child) {
  int status = 0;
  while (true) {
    if (waitpid(child, &status, 0) < 0) {
      if (errno != EINTR) return kFailed;
    } else if (!WIFSTOPPED(status)) {
      break;
    } else {
      // A plugin asked to be traced by its parent (PTRACE_TRACEME): this one is no debugger, and
      // the signal does what it does without one.
      (void)ptrace(PTRACE_DETACH, child, nullptr, WSTOPSIG(status));
    }
  }
  child_to_signal = 0;
  return WIFSIGNALED(status) ? told_of_signal(WTERMSIG(status))
                             : told_of_status(WEXITSTATUS(status));
}

}  // namespace

pid_t supervisor() noexcept { return parent_of_worker; }

void end_where_forked() noexcept {
  if (worker == 0 || getpid() == worker) {
    if (!ProcessState::is_output_there())
      (void)ProcessState::keep_output("a plugin, " + place_text(account->plugins) + ",");
    return;
  }
  write_error(
      "tenon: a plugin forked this process and came back in both: the copy ends here, and the "
      "command goes on\n");
  _exit(kFailed);
}

void note_output() noexcept {
  if (account != nullptr) account->wrote.store(true, std::memory_order_relaxed);
}

int supervised(const std::function<int()>& work, bool as_json) {
  wants_json = as_json;
  void* const page =
      mmap(nullptr, sizeof(Account), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  static Account own;
  account = page == MAP_FAILED ? &own : new (page) Account();
  if (page == MAP_FAILED || is_traced()) return watched(work);

  // Between fork and the handlers' own set-up no signal may be lost.
  sigset_t all;
  sigset_t before_mask;
  sigfillset(&all);
  (void)sigprocmask(SIG_SETMASK, &all, &before_mask);
  const Actions before = take_signals();
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child <= 0) {
    give_signals_back(before);
    (void)sigprocmask(SIG_SETMASK, &before_mask, nullptr);
    if (child == 0) {
      (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(kFailed);  // it ended before that took hold
      parent_of_worker = parent;
    }
    return watched(work);
  }
  child_to_signal = child;
  (void)sigprocmask(SIG_SETMASK, &before_mask, nullptr);
  return end_of(child);
}

}  // namespace tenon::cli
