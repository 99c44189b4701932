// Keeps a plugin's code from changing how the calling thread computes.
#pragma once

#include <atomic>
#include <cfenv>
#include <string_view>

namespace tenon {

/// The calling thread's floating-point environment at its making, which it puts back at its end:
/// rounding, what becomes of subnormal numbers, precision, traps, and the exceptions so far. It
/// stands around code of plugins that is called once; a launch is not guarded.
class FloatingEnvironment {
 public:
  FloatingEnvironment() noexcept { std::fegetenv(&saved_); }
  ~FloatingEnvironment() { std::fesetenv(&saved_); }
  FloatingEnvironment(const FloatingEnvironment&) = delete;
  FloatingEnvironment& operator=(const FloatingEnvironment&) = delete;

  /// Puts it back. True where more than the exceptions so far was another one by then; where the
  /// parts of an environment are not known, it is put back all the same.
  bool restore() const noexcept {
    std::fenv_t found{};
    std::fegetenv(&found);
    std::fesetenv(&saved_);
#if defined(__x86_64__)
    constexpr unsigned kExceptions = 0x3f;
    return found.__control_word != saved_.__control_word ||
           (found.__mxcsr & ~kExceptions) != (saved_.__mxcsr & ~kExceptions);
#else
    return false;
#endif
  }

 private:
  std::fenv_t saved_{};
};

/// Is told that a function of a plugin, by its id, changed the floating-point environment, after
/// that was put back.
using FloatingChangeWatch = void (*)(std::string_view plugin, const char* function) noexcept;

namespace detail {
inline std::atomic<FloatingChangeWatch> floating_change_watch{nullptr};
}  // namespace detail

/// Who is told from now on in this process; null: nobody, as at the start.
inline void watch_floating_changes(FloatingChangeWatch watch) noexcept {
  detail::floating_change_watch.store(watch, std::memory_order_release);
}

/// A FloatingEnvironment around one function of a plugin, that tells the watch of a change.
class FloatingCall {
 public:
  /// `plugin` and `function` stay as long as the object.
  FloatingCall(const char* function, std::string_view plugin) noexcept
      : function_(function), plugin_(plugin) {}
  ~FloatingCall() {
    if (!environment_.restore()) return;
    const FloatingChangeWatch told = detail::floating_change_watch.load(std::memory_order_acquire);
    if (told != nullptr) told(plugin_, function_);
  }
  FloatingCall(const FloatingCall&) = delete;
  FloatingCall& operator=(const FloatingCall&) = delete;

 private:
  const char* function_;
  std::string_view plugin_;
  FloatingEnvironment environment_;
};

}  // namespace tenon
