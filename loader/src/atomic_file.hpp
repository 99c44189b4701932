// Files that appear whole or not at all: written beside their place, then renamed into it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace tenon::loader {

/// Writes `parts` one after the other to a new file in the target's folder, and renames it there.
/// Returns the system's reason where that fails, and then leaves nothing behind; empty when done.
[[nodiscard]] std::string write_atomically(const std::filesystem::path& file,
                                           std::span<const std::span<const std::byte>> parts);

}  // namespace tenon::loader
