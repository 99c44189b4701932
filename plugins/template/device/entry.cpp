// What the plugin brings: its identity, its devices, and one line per kernel.
#include "devices.hpp"
#include "rms_norm.hpp"
#include <tenon/plugin.hpp>

TENON_PLUGIN(tenon::plugin("acme", "0.1.0")
                 .vendor("acme")
                 .devices<acme_plugin::Devices>()
                 .kernels<acme_plugin::ShortRows>());
