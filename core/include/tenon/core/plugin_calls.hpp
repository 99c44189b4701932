// How functions of plugins are called: who is told of it, and what becomes of an exception that
// one lets pass.
#pragma once

#include <atomic>
#include <exception>
#include <limits>
#include <string_view>
#include <utility>

#include "tenon/plugin.h"

namespace tenon {

/// Is told of the functions of plugins that are called, those of device kinds among them. A
/// repeated call's launch is not told: the last that was told is its kernel's.
/// Threads  [any-thread]; several at a time.
class PluginCallWatch {
 public:
  /// `function` is its name in tenon/plugin.h, static; `of` a plugin's id, or the qualified name
  /// of a kernel type or target.
  virtual void begins(const char* function, std::string_view of) noexcept = 0;
  /// The one that this thread began last has come back.
  virtual void ends() noexcept = 0;
  /// The one that this thread began last ends the thread (pthread_exit, a cancellation). ends()
  /// follows.
  virtual void ends_thread() noexcept {}

 protected:
  ~PluginCallWatch() = default;
};

namespace detail {
inline std::atomic<PluginCallWatch*> plugin_call_watch{nullptr};
}  // namespace detail

/// Who is told from now on in this process; null: nobody, as at the start. It must stay.
inline void watch_plugin_calls(PluginCallWatch* watch) noexcept {
  detail::plugin_call_watch.store(watch, std::memory_order_release);
}

/// Stands around the call of a plugin's function.
class PluginCall {
 public:
  PluginCall(const char* function, std::string_view of) noexcept
      : watch_(detail::plugin_call_watch.load(std::memory_order_acquire)) {
    if (watch_ != nullptr) [[unlikely]]
      watch_->begins(function, of);
  }
  ~PluginCall() {
    if (watch_ != nullptr) [[unlikely]]
      watch_->ends();
  }
  PluginCall(const PluginCall&) = delete;
  PluginCall& operator=(const PluginCall&) = delete;

 private:
  PluginCallWatch* watch_;
};

/// What a call is where its function let an exception pass: no status of the ABI, so that no
/// plugin can return it by accident; it reads as INTERNAL. The reason's text says what was thrown.
inline constexpr tenon_status kThrew = std::numeric_limits<tenon_status>::min();
/// The same of a result that no function may give: an allocation without memory.
inline constexpr tenon_status kBrokeContract = kThrew + 1;

/// Whether this thread is inside of a kernel's launch.
[[nodiscard]] bool is_launching() noexcept;

namespace detail {
/// Inside a handler: describes the exception in `reason`. Returns kThrew; what ends the thread goes
/// on from here.
[[gnu::cold]] tenon_status thrown(tenon_reason& reason);
}  // namespace detail

/// Runs what calls a function of a plugin. No exception may cross the ABI; one that does becomes
/// kThrew as long as it can be caught: the plugin's code has unwind tables, and it is no noexcept
/// function that lets it pass. What ends a thread (pthread_exit, cancellation) is no exception, and
/// goes on. Costs nothing where nothing is thrown.
template <class F>
[[gnu::always_inline]] inline tenon_status caught(tenon_reason& reason, F&& call) {
  try {
    return std::forward<F>(call)();
  } catch (...) {
    return detail::thrown(reason);
  }
}

/// The same, and the watch is told.
template <class F>
[[gnu::always_inline]] inline tenon_status call_plugin(const char* function,
                                                       std::string_view of,
                                                       tenon_reason& reason,
                                                       F&& call) {
  const PluginCall told(function, of);
  return caught(reason, std::forward<F>(call));
}

}  // namespace tenon
