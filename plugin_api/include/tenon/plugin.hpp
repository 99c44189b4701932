// The C++17 SDK for plugins, header-only, on top of plugin.h: one include gives all of it.
#pragma once

#include "tenon/plugin.h"
#include "tenon/plugin/values.hpp"
