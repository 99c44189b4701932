// What is told of an exception that a function of a plugin let pass.
#include "tenon/core/plugin_calls.hpp"

#include <cstdio>
#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

#include "registry/lent_reason.hpp"

namespace tenon {

bool is_launching() noexcept { return detail::reason_of_thread.lent == detail::Lending::kLaunch; }

namespace detail {

// The object of a forced unwind is null, which the undefined-behaviour sanitizer takes for a fault
// of its handler.
__attribute__((no_sanitize("null"))) tenon_status thrown(tenon_reason& reason) {
  try {
    throw;
#if defined(__GLIBCXX__)
  } catch (const abi::__forced_unwind&) {
    if (PluginCallWatch* const watch = plugin_call_watch.load(std::memory_order_acquire))
      watch->ends_thread();
    throw;
#endif
  } catch (const std::exception& error) {
    (void)std::snprintf(reason.text, sizeof reason.text, "it threw an exception: %s", error.what());
  } catch (...) {
    (void)std::snprintf(
        reason.text, sizeof reason.text, "it threw an exception of an unknown kind");
  }
  return kThrew;
}

}  // namespace detail
}  // namespace tenon
