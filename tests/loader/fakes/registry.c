/* Keeps names in a global table, filled by a constructor that must run once per copy. */
#include "registry.h"

int registry_count = -1000;

__attribute__((constructor)) static void begin(void) { registry_count = 0; }

int registry_add(const char* name) {
  (void)name;
  return ++registry_count;
}

#ifdef REGISTRY_BREAKS
#include <stdlib.h>

__attribute__((constructor)) static void break_down(void) { abort(); }
#endif
