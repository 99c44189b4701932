// Which instructions x86-64 code that runs at load time can reach.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "image.hpp"

namespace tenon::lint {

/// One instruction, as far as its length and its place in the instruction set tell.
struct Instruction {
  std::uint32_t size_bytes = 0;
  bool beyond_baseline = false;          ///< not of the first x86-64 (x86-64-v1)
  std::string_view set;                  ///< of a later one, which: "AVX", "EVEX (AVX-512)", "SSE4"
  std::optional<std::int64_t> relative;  ///< of a direct jump or call: its distance from the end
  bool is_call = false;
  bool ends_flow = false;  ///< what follows is not reached from here
};

/// Decodes the first instruction; nothing where the bytes are none that 64-bit mode has.
[[nodiscard]] std::optional<Instruction> decode_x86(std::string_view code);

/// An instruction that older processors do not have.
struct BeyondBaseline {
  std::uint64_t address = 0;
  std::uint64_t function = 0;  ///< where the walk entered the function that holds it
  std::string_view set;
};

/// Follows direct jumps and calls from `entry` and gives the first instruction beyond the baseline.
/// Calls through pointers are not followed; the work is bounded.
[[nodiscard]] std::optional<BeyondBaseline> find_beyond_baseline(const Image& image,
                                                                 std::uint64_t entry);

/// Whether the function does nothing but jump on, as the compiler's own `frame_dummy` does.
[[nodiscard]] bool is_jump_alone(const Image& image, std::uint64_t entry);

}  // namespace tenon::lint
