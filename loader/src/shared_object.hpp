// Mapping a shared object: the only place that knows Boost.DLL.
#pragma once

#include <string>

#include "tenon/loader/elf.hpp"
#include "tenon/loader/memory_map.hpp"

namespace tenon::loader {

/// A mapped object: one symbol of it, and where it lies.
struct MappedObject {
  const void* symbol = nullptr;
  LoadedImage image;
};

/// Maps a file by its absolute canonical path, every symbol resolved now and kept to itself, and
/// looks up one symbol. What is mapped stays mapped: nothing ever closes it.
/// @errors stage load, with the system's own reason.
[[nodiscard]] FileResult<MappedObject> map_and_find(const std::string& path, const char* symbol);

}  // namespace tenon::loader
