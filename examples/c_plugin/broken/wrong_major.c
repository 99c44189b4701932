/* Built against another ABI major: refused by its note, before any of its code is mapped. */
#define TENON_ABI_TEST_MAJOR 7u
#include <tenon/plugin.h>

TENON_PLUGIN_NOTE("wrong-major", "1.0.0");

static tenon_status init(const tenon_host* host, void** self, tenon_reason* reason) {
  (void)host;
  (void)reason;
  *self = NULL;
  return TENON_OK;
}

static tenon_status enumerate(void* self, const tenon_registrar* registrar, tenon_reason* reason) {
  (void)self;
  (void)registrar;
  (void)reason;
  return TENON_OK;
}

const tenon_plugin TENON_PLUGIN_OBJECT = {
    .struct_size = sizeof(tenon_plugin),
    .abi_major = TENON_ABI_MAJOR,
    .abi_minor = TENON_ABI_MINOR,
    .min_host_minor = TENON_TARGET_MINOR,
    .id = {"wrong-major", 11},
    .version = {"1.0.0", 5},
    .init = init,
    .enumerate = enumerate,
};
