// The libraries that a plugin brings along or points to: files that change what it is.
#pragma once

#include <string>
#include <vector>

#include "tenon/loader/elf.hpp"

namespace tenon::loader {

/// Paths of the libraries that the dynamic linker finds for a plugin by LD_LIBRARY_PATH or a run
/// path, or that lie in its folder, and of those that they need in turn. What comes from the
/// system's folders is left out: it is the same for every plugin. At most kMostNeededFiles, in the
/// order in which they are met; nothing is mapped or run.
[[nodiscard]] std::vector<std::string> needed_files(const std::string& plugin_path,
                                                    const ElfFile& plugin);
inline constexpr std::size_t kMostNeededFiles = 64;

}  // namespace tenon::loader
