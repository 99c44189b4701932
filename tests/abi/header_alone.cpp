// The C header by itself in C++, and its macros.
#include "tenon/plugin.h"

TENON_PLUGIN_NOTE_WITH("alone", "1.0.0", "a2\na3", "/proc/driver/acme/version");

static tenon_status init(const tenon_host* host, void** self, tenon_reason* reason) {
  *self = nullptr;
  return TENON_HAS(host, extension) && TENON_HAS(reason, text) ? TENON_OK : TENON_INCOMPATIBLE;
}
static tenon_status enumerate(void*, const tenon_registrar*, tenon_reason*) { return TENON_OK; }

const tenon_plugin TENON_PLUGIN_OBJECT = {sizeof(tenon_plugin),
                                          TENON_ABI_MAJOR,
                                          TENON_ABI_MINOR,
                                          TENON_TARGET_MINOR,
                                          0,
                                          {"alone", 5},
                                          {"1.0.0", 5},
                                          {"Tenon", 5},
                                          {"", 0},
                                          nullptr,
                                          nullptr,
                                          0,
                                          0,
                                          init,
                                          enumerate,
                                          nullptr};
