// How a probe's child ends when all went well; the loader and tenon-probe agree on it here.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon::loader {

/// The exit status of a child with this nonce: one that a plugin does not hit upon by calling
/// _exit() in a destructor.
[[nodiscard]] constexpr int good_ending(std::string_view nonce) noexcept {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : nonce) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  constexpr std::uint32_t kFirst = 32;  // above what programs use
  constexpr std::uint32_t kCount = 90;  // below what shells make of signals
  return static_cast<int>(kFirst + hash % kCount);
}

}  // namespace tenon::loader
