// The unwinder of this process, made ready for exceptions that another one carries.
#pragma once

#include <unwind.h>

namespace tenon::loader {

/// To be called before the code of a plugin may throw. One that is linked with -static-libgcc has
/// an unwinder of its own: it comes to a handler of ours and asks for it through this process's
/// unwinder, and GCC's has no table of its registers before it has walked a stack itself once, and
/// aborts without it (gcc_assert in _Unwind_SetGR).
inline void ready_unwinder() noexcept {
  (void)_Unwind_Backtrace([](_Unwind_Context*, void*) { return _URC_END_OF_STACK; }, nullptr);
}

}  // namespace tenon::loader
