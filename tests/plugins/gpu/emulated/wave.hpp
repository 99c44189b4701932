// Runs device code on the host as hardware whose waves have 32 or 64 lanes would: each lane is a
// fiber, the lanes of a wave exchange values in step, and what no hardware would do is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

namespace tenon::emulated {

struct Index {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
};

/// Runs the body once for each thread of a block. Returns what went wrong, empty where nothing did:
/// a shuffle wider than a wave, one with a lane that has ended, lanes that wait for each other.
/// wave_lanes  lanes that run in step; threads are dealt to waves in the order of x, then y
/// block       threads of the block, 1024 at most
[[nodiscard]] std::string run_block(std::uint32_t wave_lanes,
                                    Index block,
                                    const std::function<void()>& body);

/// Of the running thread; called from a body only.
[[nodiscard]] Index thread_index();
[[nodiscard]] Index block_size();
[[nodiscard]] std::uint32_t wave_lanes();
void barrier();

namespace detail {
/// Gives up to 8 bytes and gets those of another lane. All lanes of the wave take part.
void exchange_bytes(void* bytes, std::size_t size_bytes, int lane_mask, int width);
}  // namespace detail

/// The value of the lane whose number differs in the bits of lane_mask, among `width` neighbours.
template <class T>
T shuffle_xor(T value, int lane_mask, int width) {
  static_assert(sizeof(T) <= 8);
  detail::exchange_bytes(&value, sizeof(value), lane_mask, width);
  return value;
}

}  // namespace tenon::emulated
