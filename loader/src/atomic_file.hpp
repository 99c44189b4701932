// Files that appear whole or not at all: written beside their place, then renamed into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace tenon::loader {

/// What stands where the file shall be.
enum class Existing : std::uint8_t {
  kKeep,     ///< the user's choice: links, devices, pipes and modes stay what they are
  kReplace,  ///< a cache's own file: whatever is there gives way, a link as well
};

/// Writes `parts` one after the other to a new file in the target's folder, and renames it there.
/// Returns the system's reason where that fails, and then leaves nothing behind; empty when done.
[[nodiscard]] std::string write_atomically(const std::filesystem::path& file,
                                           std::span<const std::span<const std::byte>> parts,
                                           Existing existing = Existing::kKeep);

}  // namespace tenon::loader
