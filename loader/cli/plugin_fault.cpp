// Looks, inside a signal handler, for the plugin in whose code a fault was met.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <execinfo.h>
#include <ucontext.h>
#include <unistd.h>

#include "plugin_account.hpp"
#include "tenon/loader/plugin_images.hpp"

namespace tenon::cli {
namespace {

constexpr std::array kFaults{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT};

PluginAccount* noted_in = nullptr;
pid_t noted_by = 0;  // a copy that a plugin forked has nothing to tell
std::array<struct sigaction, kFaults.size()> before{};

/// The instruction that met it.
std::uintptr_t instruction_of([[maybe_unused]] const void* context) noexcept {
#if defined(__x86_64__)
  const auto* const machine = static_cast<const ucontext_t*>(context);
  return static_cast<std::uintptr_t>(machine->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<const ucontext_t*>(context)->uc_mcontext.pc;
#else
  return 0;
#endif
}

/// Of the innermost frame that is a plugin's.
loader::PluginCode plugin_that_called() noexcept {
  std::array<void*, 128> frames{};
  const int n = backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 0; i < n; ++i) {
    // A return address lies behind the call.
    const auto address = reinterpret_cast<std::uintptr_t>(frames[static_cast<std::size_t>(i)]);
    const loader::PluginCode found = loader::plugin_at(address - 1);
    if (!found.id.empty()) return found;
  }
  return {};
}

/// The plugin whose code runs at the address, or else the innermost that called.
void note(PluginAccount& account, std::uintptr_t address) noexcept {
  PluginAccount::Fault& fault = account.fault;
  if (fault.known.load()) return;  // the first one says what happened
  fault.thread = gettid();
  fault.known.store(true);
  loader::PluginCode found = loader::plugin_at(address);
  if (found.id.empty()) found = plugin_that_called();
  const std::size_t size = std::min(found.id.size(), fault.plugin.size() - 1);
  fault.brought = found.brought;
  std::memcpy(fault.plugin.data(), found.id.data(), size);
}

void on_fault(int number, siginfo_t* info, void* context) {
  std::size_t at = 0;
  while (at + 1 < kFaults.size() && kFaults[at] != number) ++at;
  // What it did before comes next: where the fault is met again, or by the signal sent again.
  (void)sigaction(number, &before[at], nullptr);
  const bool is_sent = info->si_code <= 0;
  if (getpid() == noted_by) note(*noted_in, is_sent ? 0 : instruction_of(context));
  if (is_sent) (void)raise(number);  // delivered when this handler is back
}

}  // namespace

void note_faults(PluginAccount& account) {
  noted_in = &account;
  noted_by = getpid();
  // Loads what it needs at its first call, which must not be in a handler.
  std::array<void*, 2> frames{};
  (void)backtrace(frames.data(), static_cast<int>(frames.size()));
  // A stack of its own, for the main thread's may be what has no room left.
  static std::array<char, std::size_t{64} << 10> stack;
  stack_t alternative{};
  alternative.ss_sp = stack.data();
  alternative.ss_size = stack.size();
  stack_t has{};
  if (sigaltstack(nullptr, &has) == 0 && (has.ss_flags & SS_DISABLE) != 0)
    (void)sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (std::size_t i = 0; i < kFaults.size(); ++i) {
    (void)sigaction(kFaults[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) (void)sigaction(kFaults[i], &action, nullptr);
  }
}

void note_caller(PluginAccount& account) noexcept { note(account, 0); }

}  // namespace tenon::cli
