// The C++17 SDK for plugins, header-only, on top of plugin.h: one include gives all of it.
//
// A plugin's classes are plain structs with a few static members (plugin/kernel_type.hpp,
// device_kind.hpp and target.hpp list them); TENON_PLUGIN turns them into the C tables. Nothing
// here allocates on the launch path, no exception leaves a plugin, and loading one runs no
// constructor.
#pragma once

#include "tenon/plugin.h"
#include "tenon/plugin/device_kind.hpp"
#include "tenon/plugin/entry.hpp"
#include "tenon/plugin/identity.hpp"
#include "tenon/plugin/kernel_type.hpp"
#include "tenon/plugin/refusal.hpp"
#include "tenon/plugin/target.hpp"
#include "tenon/plugin/values.hpp"
#include "tenon/plugin/views.hpp"
