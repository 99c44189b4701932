// What a probe's child does with a plugin: map it, start it, take its rows, ask for its devices.
#pragma once

#include <string>

#include "probe/record.hpp"

namespace tenon::probe {

/// Goes through the steps and writes the last line. Whatever the plugin does ends this process at
/// worst.
void try_plugin(const std::string& file, bool devices, Record& record);

}  // namespace tenon::probe
