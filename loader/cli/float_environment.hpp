// The floating-point environment of this thread, put back after foreign code.
#pragma once

#include <cfenv>

namespace tenon::cli {

/// Remembers the environment. What a kernel that changes it leaves would spoil everything that is
/// computed after it.
class FloatEnvironment {
 public:
  FloatEnvironment() noexcept { (void)std::fegetenv(&before_); }

  /// Puts it back; true where rounding, flushing or traps had been changed. Flags that arithmetic
  /// raises are no change.
  [[nodiscard]] bool restore() noexcept {
    std::fenv_t now{};
    (void)std::fegetenv(&now);
    const bool changed = is_other(now);
    (void)std::fesetenv(&before_);
    return changed;
  }

 private:
  [[nodiscard]] bool is_other(const std::fenv_t& now) const noexcept {
#if defined(__x86_64__)
    constexpr unsigned kFlags = 0x3f;  // of MXCSR; the x87 unit has a word of its own for them
    return ((now.__mxcsr ^ before_.__mxcsr) & ~kFlags) != 0 ||
           now.__control_word != before_.__control_word;
#else
    (void)now;
    return std::fegetround() != rounding_;
#endif
  }

  std::fenv_t before_{};
#if !defined(__x86_64__)
  int rounding_ = std::fegetround();
#endif
};

/// The default environment while it lives.
class DefaultFloats {
 public:
  DefaultFloats() noexcept {
    (void)std::fegetenv(&before_);
    (void)std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloats() { (void)std::fesetenv(&before_); }
  DefaultFloats(const DefaultFloats&) = delete;
  DefaultFloats& operator=(const DefaultFloats&) = delete;

 private:
  std::fenv_t before_{};
};

}  // namespace tenon::cli
