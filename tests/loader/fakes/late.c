/* A plugin that calls the host from a destructor, when the process ends, and whose shutdown says
 * so. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tenon/plugin.h"

TENON_PLUGIN_NOTE("late", "1.0.0");

static const tenon_host* the_host;
static int was_shut_down;

static void say(const char* text) {
  tenon_str line;
  line.data = text;
  line.size_bytes = strlen(text);
  the_host->log(the_host, TENON_LOG_INFO, line);
}

/* Runs at exit, after main and its objects. The answers go to stderr and the exit status. */
__attribute__((destructor)) static void at_the_end(void) {
  tenon_value value;
  tenon_str name = {"nothing", 7};
  tenon_status status;
  void* memory;
  if (the_host == NULL) return; /* never started */
  memset(&value, 0, sizeof value);
  say("from a destructor");
  status = the_host->option(the_host, name, &value);
  if (status != (was_shut_down ? TENON_SHUT_DOWN : TENON_NOT_FOUND)) _exit(40);
  memory = the_host->alloc(the_host, 8, 8);
  if ((memory == NULL) != was_shut_down) _exit(41);
  if (memory != NULL) the_host->dealloc(the_host, memory, 8, 8);
}

static tenon_status late_init(const tenon_host* host, void** self, tenon_reason* reason) {
  (void)self;
  (void)reason;
  the_host = host;
  return TENON_OK;
}
static tenon_status late_enumerate(void* self,
                                   const tenon_registrar* registrar,
                                   tenon_reason* reason) {
  (void)self;
  (void)registrar;
  (void)reason;
  return TENON_OK;
}
static void late_shutdown(void* self) {
  (void)self;
  say("shutdown of late");
  was_shut_down = 1;
}

#define STR(text) \
  { text, sizeof(text) - 1 }

const tenon_plugin TENON_PLUGIN_OBJECT = {
    .struct_size = sizeof(tenon_plugin),
    .abi_major = TENON_ABI_MAJOR,
    .abi_minor = TENON_ABI_MINOR,
    .min_host_minor = TENON_TARGET_MINOR,
    .id = STR("late"),
    .version = STR("1.0.0"),
    .init = late_init,
    .enumerate = late_enumerate,
    .shutdown = late_shutdown,
};
