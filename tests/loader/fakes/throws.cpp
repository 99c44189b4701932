// A plugin whose init or, with THROWS_AT_SHUTDOWN, shutdown throws, as no plugin's should.
#include <stdexcept>

#include "tenon/plugin.h"

TENON_PLUGIN_NOTE("thrower", "1.0.0");

namespace {

#ifdef THROWS_AT_SHUTDOWN
tenon_status init(const tenon_host*, void**, tenon_reason*) { return TENON_OK; }
void stop(void*) { throw std::runtime_error("no way out"); }
constexpr auto* kShutdown = &stop;
#else
tenon_status init(const tenon_host*, void**, tenon_reason*) {
  throw std::runtime_error("no such luck");
}
constexpr void (*kShutdown)(void*) = nullptr;
#endif
tenon_status enumerate(void*, const tenon_registrar*, tenon_reason*) { return TENON_OK; }

}  // namespace

extern "C" const tenon_plugin TENON_PLUGIN_OBJECT = {sizeof(tenon_plugin),
                                                     TENON_ABI_MAJOR,
                                                     TENON_ABI_MINOR,
                                                     TENON_TARGET_MINOR,
                                                     0,
                                                     {"thrower", 7},
                                                     {"1.0.0", 5},
                                                     {"Tests", 5},
                                                     {nullptr, 0},
                                                     nullptr,
                                                     nullptr,
                                                     0,
                                                     0,
                                                     init,
                                                     enumerate,
                                                     kShutdown};
