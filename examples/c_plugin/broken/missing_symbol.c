/* Has a note, but the object is called something else: refused after the map. */
#include <tenon/plugin.h>

TENON_PLUGIN_NOTE("missing-symbol", "1.0.0");

const char* acme_version(void);
const char* acme_version(void) { return "1.0.0"; }
