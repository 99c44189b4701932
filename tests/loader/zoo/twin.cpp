// A plugin with a twin: both have a symbol that the dynamic linker shares (TWIN_UNIQUE), ship a
// library under one name (TWIN_LIBRARY), or have one SONAME. Its init fails where it meets the
// twin's number instead of its own.
#include "tenon/plugin.h"

TENON_PLUGIN_NOTE(TWIN_ID, "1.0.0");

#if defined(TWIN_UNIQUE)
/// An inline variable of default visibility: STB_GNU_UNIQUE where gcc may.
template <class T>
struct Shared {
  static inline int number = TWIN_NUMBER;
};
static int number() { return Shared<int>::number; }
#elif defined(TWIN_LIBRARY)
extern "C" int shipped_number(void);
static int number() { return shipped_number(); }
#else
static volatile int own_number = TWIN_NUMBER;
static int number() { return own_number; }
#endif

static tenon_status init(const tenon_host*, void** self, tenon_reason* reason) {
  static const char kText[] = "it met its twin";
  *self = nullptr;
  if (number() == TWIN_NUMBER) return TENON_OK;
  for (unsigned i = 0; i < sizeof(kText); ++i) reason->text[i] = kText[i];
  return TENON_INTERNAL;
}
static tenon_status enumerate(void*, const tenon_registrar*, tenon_reason*) { return TENON_OK; }

const tenon_plugin TENON_PLUGIN_OBJECT = {sizeof(tenon_plugin),
                                          TENON_ABI_MAJOR,
                                          TENON_ABI_MINOR,
                                          TENON_TARGET_MINOR,
                                          0,
                                          {TWIN_ID, sizeof(TWIN_ID) - 1},
                                          {"1.0.0", 5},
                                          {"Tests", 5},
                                          {nullptr, 0},
                                          nullptr,
                                          nullptr,
                                          0,
                                          0,
                                          init,
                                          enumerate,
                                          nullptr};
