// What is told of an exception that a function of a plugin let pass.
#include "tenon/core/plugin_calls.hpp"

#include <cstdio>

#include "registry/lent_reason.hpp"

namespace tenon {

bool is_launching() noexcept { return detail::reason_of_thread.lent == detail::Lending::kLaunch; }

namespace detail {

tenon_status thrown(tenon_reason& reason) noexcept {
  try {
    throw;
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
