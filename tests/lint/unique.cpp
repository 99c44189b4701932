// A plugin whose inline variable the dynamic linker would share with other plugins.
#include "tenon/plugin.h"

TENON_PLUGIN_NOTE("linted", "1.0.0");

namespace linted {
template <class T>
struct Counted {
  static inline int count = 0;
};
}  // namespace linted

static tenon_status init(const tenon_host*, void** self, tenon_reason*) {
  *self = &linted::Counted<int>::count;
  return TENON_OK;
}
static tenon_status enumerate(void*, const tenon_registrar*, tenon_reason*) { return TENON_OK; }

const tenon_plugin TENON_PLUGIN_OBJECT = {sizeof(tenon_plugin),
                                          TENON_ABI_MAJOR,
                                          TENON_ABI_MINOR,
                                          TENON_TARGET_MINOR,
                                          0,
                                          {"linted", 6},
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
