/* tenon/host.h as a C program uses it. */
#include "tenon/host.h"

tenon_status register_from_c(const tenon_plugin* plugin) { return tenon_register_static(plugin); }
void shutdown_from_c(void) { tenon_shutdown(); }
