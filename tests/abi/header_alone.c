/* The C header by itself: it compiles without any other include before it, and its macros work in
 * C. */
#include "tenon/plugin.h"

TENON_PLUGIN_NOTE("alone", "1.0.0");

static tenon_status init(const tenon_host* host, void** self, tenon_reason* reason) {
  *self = NULL;
  if (!TENON_HAS(host, extension) || !TENON_HAS(reason, text)) return TENON_INCOMPATIBLE;
  return TENON_OK;
}

static tenon_status enumerate(void* self, const tenon_registrar* registrar, tenon_reason* reason) {
  (void)self;
  return registrar->add_kernel_types(
      registrar->context, NULL, 0, sizeof(tenon_kernel_type), reason);
}

const tenon_plugin TENON_PLUGIN_OBJECT = {
    sizeof(tenon_plugin),
    TENON_ABI_MAJOR,
    TENON_ABI_MINOR,
    TENON_TARGET_MINOR,
    0,
    {"alone", 5},
    {"1.0.0", 5},
    {"Tenon", 5},
    {"", 0},
    NULL,
    NULL,
    0,
    0,
    init,
    enumerate,
    NULL,
};
