// What a command tells of plugins' functions while it works, in memory that its parent reads when
// it has ended.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "tenon/core/plugin_calls.hpp"

namespace tenon::cli {

/// Made of numbers and characters alone. The work may run in several threads: then what is told is
/// of the one that wrote last.
struct PluginAccount {
  /// A function of a plugin that was called, as "launch of 'acme:fast'".
  struct Told {
    std::array<char, 280> text{};
    bool passes = false;  ///< it is called all the time: when it is back, the one before it counts
  };
  /// The code in which a fault was met.
  struct Fault {
    std::atomic<bool> known{false};
    std::array<char, 65> plugin{};  ///< in whose code, as far as an address told; or empty
    bool brought = false;           ///< in a library that came with it
    pid_t thread = 0;
  };
  static constexpr int kNone = -1;

  std::array<Told, 256> told{};
  std::atomic<int> n_told{0};
  std::atomic<int> current{kNone};  ///< of `told`: the last that was called
  std::atomic<bool> inside{false};  ///< and it has not come back
  std::atomic<pid_t> thread{0};     ///< that called it
  Fault fault;
};

/// Keeps the account.
class AccountWatch final : public PluginCallWatch {
 public:
  /// `on_thread_end` is called where a function ends its thread, while the account says which.
  explicit AccountWatch(PluginAccount& account, void (*on_thread_end)() noexcept = nullptr)
      : account_(account), on_thread_end_(on_thread_end) {}
  void begins(const char* function, std::string_view of) noexcept override;
  void ends() noexcept override;
  void ends_thread() noexcept override;

 private:
  int slot_of(const char* function, std::string_view of) noexcept;

  PluginAccount& account_;
  void (*on_thread_end_)() noexcept;
  std::atomic_flag adding_ = ATOMIC_FLAG_INIT;
};

/// "in launch of 'acme:fast'", as far as it is known, and whose code it was where that is
/// another's.
[[nodiscard]] std::string place_text(const PluginAccount& account);
/// "launch of 'acme:fast'": the function that runs, of the plugin that is to blame; else empty.
[[nodiscard]] std::string running_function(const PluginAccount& account);
/// The id of the plugin whose code or function it was; empty where nobody knows.
[[nodiscard]] std::string plugin_to_blame(const PluginAccount& account);

/// From here on a fault (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT) notes in the account in
/// whose code it was met, and then does what it did before.
void note_faults(PluginAccount& account);
/// Notes the code that called the caller of this: exit(), whose handlers run on top of it.
void note_caller(PluginAccount& account) noexcept;

}  // namespace tenon::cli
