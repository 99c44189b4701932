/* Starts, and says why it cannot go on: its text is what the user reads. */
#include <tenon/plugin.h>

TENON_PLUGIN_NOTE("init-error", "1.0.0");

static tenon_status init(const tenon_host* host, void** self, tenon_reason* reason) {
  static const char kText[] = "libacme.so.3 is not installed; it comes with the Acme driver 3.1";
  (void)host;
  (void)self;
  for (size_t i = 0; i < sizeof(kText); ++i) reason->text[i] = kText[i];
  return TENON_UNAVAILABLE;
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
    .id = {"init-error", 10},
    .version = {"1.0.0", 5},
    .init = init,
    .enumerate = enumerate,
};
