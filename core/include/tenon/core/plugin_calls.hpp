// Which function of which plugin is running, for a program that wants to say so when one ends it.
#pragma once

#include <atomic>
#include <string_view>

namespace tenon {

/// Is told of the functions of plugins that selection, building, first launches, enumeration and
/// loading call. A repeated call's launch is not told: the last that was told is its kernel's.
/// Threads  [any-thread]; several at a time.
class PluginCallWatch {
 public:
  /// `function` is its name in tenon/plugin.h, static; `of` a plugin's id, or the qualified name
  /// of a kernel type or target.
  virtual void begins(const char* function, std::string_view of) noexcept = 0;
  /// It has come back.
  virtual void ends() noexcept = 0;

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

}  // namespace tenon
