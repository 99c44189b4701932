// The C functions of a program that embeds Tenon.
#include "tenon/host.h"

#include <exception>
#include <new>

#include "tenon/loader/plugin_library.hpp"

tenon_status tenon_register_static(const tenon_plugin* plugin) {
  try {
    if (tenon::is_shut_down()) return TENON_SHUT_DOWN;
    return tenon::register_static(plugin) ? TENON_OK : TENON_INVALID_ARGUMENT;
  } catch (const std::bad_alloc&) {
    return TENON_OUT_OF_MEMORY;
  } catch (...) {
    return TENON_INTERNAL;
  }
}

void tenon_shutdown(void) {
  try {
    tenon::shutdown();
  } catch (...) {  // nobody could be told
  }
}
