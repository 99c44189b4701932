// What the plugin brings: its identity, and one line per kernel.
#include "rms_norm.hpp"
#include <tenon/plugin.hpp>

TENON_PLUGIN(tenon::plugin("acme", "0.1.0")
                 .vendor("acme")
                 .needs_kinds("cpu")
                 .kernels<acme_plugin::ShortRows>());
