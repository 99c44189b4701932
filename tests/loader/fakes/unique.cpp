// A plugin with a symbol that the dynamic linker shares and pins (STB_GNU_UNIQUE), built without
// tenon_add_plugin.
#include "tenon/plugin.h"

TENON_PLUGIN_NOTE("unique", UNIQUE_VERSION);

template <class T>
struct __attribute__((visibility("default"))) Shared {
  static inline T value{};
};
template struct Shared<int>;

namespace {

tenon_status init(const tenon_host*, void** self, tenon_reason*) {
  ++Shared<int>::value;
  *self = &Shared<int>::value;
  return TENON_OK;
}
tenon_status enumerate(void*, const tenon_registrar*, tenon_reason*) { return TENON_OK; }

constexpr const char kVersion[] = UNIQUE_VERSION;

}  // namespace

extern "C" const tenon_plugin TENON_PLUGIN_OBJECT = {sizeof(tenon_plugin),
                                                     TENON_ABI_MAJOR,
                                                     TENON_ABI_MINOR,
                                                     TENON_TARGET_MINOR,
                                                     0,
                                                     {"unique", 6},
                                                     {kVersion, sizeof kVersion - 1},
                                                     {"Tests", 5},
                                                     {nullptr, 0},
                                                     nullptr,
                                                     nullptr,
                                                     0,
                                                     0,
                                                     init,
                                                     enumerate,
                                                     nullptr};
