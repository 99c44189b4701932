/* A plugin with a global function that another plugin has too, and a library beside it or inside.
 */
#include <string.h>

#include "registry.h"
#include "tenon/plugin.h"

TENON_PLUGIN_NOTE(HELPER_ID, "1.0.0");

/* Default visibility on purpose: only the version script keeps it from the other plugins. */
__attribute__((visibility("default"))) const char* helper(void);
const char* helper(void) { return "helper of " HELPER_ID; }

static const tenon_host* the_host;

static void say(const char* text) {
  tenon_str line;
  line.data = text;
  line.size_bytes = strlen(text);
  the_host->log(the_host, TENON_LOG_INFO, line);
}

static tenon_status helper_init(const tenon_host* host, void** self, tenon_reason* reason) {
  (void)self;
  (void)reason;
  the_host = host;
  say(helper());
  say(registry_add(HELPER_ID) == 1 ? HELPER_ID " is alone in its registry"
                                   : HELPER_ID " shares a registry");
  return TENON_OK;
}

static tenon_status helper_enumerate(void* self,
                                     const tenon_registrar* registrar,
                                     tenon_reason* reason) {
  (void)self;
  (void)registrar;
  (void)reason;
  return TENON_OK;
}

#define STR(text) \
  { text, sizeof(text) - 1 }

const tenon_plugin TENON_PLUGIN_OBJECT = {
    .struct_size = sizeof(tenon_plugin),
    .abi_major = TENON_ABI_MAJOR,
    .abi_minor = TENON_ABI_MINOR,
    .min_host_minor = TENON_TARGET_MINOR,
    .id = STR(HELPER_ID),
    .version = STR("1.0.0"),
    .init = helper_init,
    .enumerate = helper_enumerate,
};
