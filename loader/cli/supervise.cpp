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

#include "tenon/core/plugin_calls.hpp"
#include "tenon/loader/printable.hpp"

namespace tenon::cli {
namespace {

constexpr int kSignalBase = 128;
constexpr int kFailed = 1;

/// What the child tells while it lives. The work may run in several threads: then the text is of
/// the one that wrote last.
struct Account {
  std::atomic<bool> done{false};     // the work came back
  std::atomic<int> status{1};        // what it came back with
  std::atomic<bool> inside{false};   // a function of a plugin runs
  std::atomic<bool> by_exit{false};  // exit() was called while the work was not done
  std::array<char, 512> function{};  // the last that was called; ends with a zero
};

Account* account = nullptr;  // of this process and its parent, or of this one alone
pid_t worker = 0;            // the process that does the work; 0: nobody said
volatile std::sig_atomic_t child_to_signal = 0;
// Which signals this process, the parent, was sent.
std::array<volatile std::sig_atomic_t, NSIG> was_sent{};

void write_error(std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(STDERR_FILENO, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

/// "in launch of 'acme:fast'", as far as it is known.
std::string place(const Account& of) {
  const std::string_view text(of.function.data(), strnlen(of.function.data(), of.function.size()));
  if (text.empty()) return "before any function of a plugin was called";
  const std::string shown = loader::printable_line(text);
  return of.inside.load() ? fmt::format("in {}", shown)
                          : fmt::format(
                                "after {}, the last function of a plugin that was called "
                                "for the first time",
                                shown);
}

/// Keeps an account of plugins' functions.
class Watch final : public PluginCallWatch {
 public:
  explicit Watch(Account& kept) : account_(kept) {}
  void begins(const char* function, std::string_view of) noexcept override {
    end_where_forked();
    std::array<char, 512>& text = account_.function;
    const int most = static_cast<int>(std::min(of.size(), text.size() / 2));
    (void)std::snprintf(text.data(), text.size(), "%s of '%.*s'", function, most, of.data());
    account_.inside.store(true, std::memory_order_relaxed);
  }
  void ends() noexcept override {
    end_where_forked();
    account_.inside.store(false, std::memory_order_relaxed);
  }

 private:
  Account& account_;
};

/// The id of the plugin whose function runs, or nothing: it begins what is called, as in
/// 'acme:fast'.
std::string plugin_of(const Account& of) {
  const std::string_view text(of.function.data(), strnlen(of.function.data(), of.function.size()));
  const std::size_t quote = text.find('\'');
  if (!of.inside.load() || quote == std::string_view::npos) return {};
  const std::string_view name = text.substr(quote + 1);
  return loader::printable_line(name.substr(0, name.find_first_of(":'")));
}

std::string advice(const Account& of) {
  const std::string plugin = plugin_of(of);
  return fmt::format(
      "tenon: 'tenon plugins doctor' says what is wrong with plugins as far as loading shows it; "
      "--set-config plugins.disable={} leaves {} out\n",
      plugin.empty() ? "ID" : plugin,
      plugin.empty() ? "one" : "this one");
}

// exit() in a plugin runs this: the status of a process that has not done its work is not 0.
void tell_of_exit() {
  if (getpid() != worker || account->done.load()) return;  // another process may end as it likes
  account->by_exit.store(true);
  (void)std::fflush(stdout);
  write_error(fmt::format(
      "tenon: exit() was called {}; nothing is finished\n{}", place(*account), advice(*account)));
  _exit(kFailed);
}

int watched(const std::function<int()>& work) {
  worker = getpid();
  static Watch watch(*account);
  watch_plugin_calls(&watch);
  (void)std::atexit(tell_of_exit);
  const int status = work();
  end_where_forked();
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
  if (number == SIGPIPE) return !account->inside.load();
  return number > 0 && number < NSIG && was_sent[static_cast<std::size_t>(number)] != 0;
}

std::string name_of_signal(int number) {
  const char* const abbreviation = sigabbrev_np(number);
  return abbreviation == nullptr ? std::to_string(number) : fmt::format("SIG{}", abbreviation);
}

int told_of_signal(int number) {
  if (is_asked_for(number)) {
    if (account->inside.load() && !account->done.load()) {
      write_error(
          fmt::format("tenon: interrupted {} ({})\n", place(*account), name_of_signal(number)));
    }
    return end_by(number);
  }
  const std::string where = account->done.load()
                                ? std::string(
                                      "after the command was done, in a destructor or exit "
                                      "handler, most likely of a plugin")
                                : place(*account) + "; nothing is finished";
  write_error(
      fmt::format("tenon: ended by {} {}\n{}", name_of_signal(number), where, advice(*account)));
  return end_by(number);
}

int told_of_status(int status) {
  if (account->by_exit.load()) return status;
  if (account->done.load()) {
    const int meant = account->status.load();
    if (status == meant) return status;
    write_error(
        fmt::format("tenon: the command was done with status {}, but a destructor or exit handler, "
                    "most likely of a plugin, made it {}\n",
                    meant,
                    status));
    return status == 0 ? meant : status;
  }
  write_error(
      fmt::format("tenon: the process was ended with status {} (_exit) {}; nothing is finished\n{}",
                  status,
                  place(*account),
                  advice(*account)));
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

void end_where_forked() noexcept {
  if (worker == 0 || getpid() == worker) return;
  write_error(
      "tenon: a plugin forked this process and came back in both: the copy ends here, and the "
      "command goes on\n");
  _exit(kFailed);
}

int supervised(const std::function<int()>& work) {
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
    }
    return watched(work);
  }
  child_to_signal = child;
  (void)sigprocmask(SIG_SETMASK, &before_mask, nullptr);
  return end_of(child);
}

}  // namespace tenon::cli
