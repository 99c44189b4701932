// The identity note's descriptor, taken apart.
#pragma once

#include <cstddef>
#include <span>

#include "tenon/loader/elf.hpp"

namespace tenon::loader {

/// Parses the bytes behind the owner's name (plugin.h, tenon_note).
/// @errors stage note: sizes or texts that do not fit.
[[nodiscard]] FileResult<PluginNote> parse_note(std::span<const std::byte> descriptor);

}  // namespace tenon::loader
