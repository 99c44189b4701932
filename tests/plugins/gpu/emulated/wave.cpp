// The lanes as fibers of one thread, taking turns.
#include "emulated/wave.hpp"

#include <array>
#include <memory>
#include <stdexcept>
#include <ucontext.h>
#include <vector>

namespace tenon::emulated {
namespace {

constexpr std::size_t kStackBytes = 32768;

struct Lane {
  ucontext_t context{};
  std::unique_ptr<std::byte[]> stack;
  Index index;
  bool done = false;
  std::uint64_t barriers = 0;
  std::uint64_t shuffles = 0;
  std::array<std::array<std::byte, 8>, 2> given{};  // by the last two shuffles
};

struct Block {
  std::uint32_t wave_lanes = 0;
  Index size;
  const std::function<void()>* body = nullptr;
  std::vector<Lane> lanes;
  ucontext_t scheduler{};
  std::size_t running = 0;
  bool moved = false;  // a lane got on in this round
  bool stuck = false;
  std::string failure;
};

// One thread runs one block at a time.
thread_local Block* current = nullptr;

Lane& lane() { return current->lanes[current->running]; }

void give_way() { swapcontext(&lane().context, &current->scheduler); }

/// Waits until the condition holds; the others run meanwhile.
template <class Condition>
void wait_until(const char* what, Condition holds) {
  while (!holds()) {
    if (current->stuck) throw std::runtime_error(std::string("lanes wait for ever at ") + what);
    give_way();
  }
  current->moved = true;
}

void run_lane() {
  try {
    (*current->body)();
  } catch (const std::exception& error) {
    if (current->failure.empty()) current->failure = error.what();
    current->stuck = true;  // the others must not wait for this one
  }
  lane().done = true;
  current->moved = true;
  give_way();
}

}  // namespace

Index thread_index() { return lane().index; }
Index block_size() { return current->size; }
std::uint32_t wave_lanes() { return current->wave_lanes; }

void barrier() {
  const std::uint64_t mine = ++lane().barriers;
  wait_until("a barrier", [mine] {
    for (const Lane& each : current->lanes) {
      if (!each.done && each.barriers < mine) return false;
    }
    return true;
  });
}

namespace detail {

void exchange_bytes(void* bytes, std::size_t size_bytes, int lane_mask, int width) {
  const auto lanes = static_cast<std::size_t>(current->wave_lanes);
  if (width < 1 || static_cast<std::size_t>(width) > lanes) {
    throw std::runtime_error("a shuffle of " + std::to_string(width) + " lanes in a wave of " +
                             std::to_string(lanes));
  }
  const std::size_t me = current->running;
  const std::size_t wave = me / lanes * lanes;
  const auto mask = static_cast<std::size_t>(lane_mask);
  // Beyond the neighbours a lane keeps its own value.
  const bool inside = mask < static_cast<std::size_t>(width);
  const std::size_t partner = inside ? wave + ((me - wave) ^ mask) : me;
  if (partner >= current->lanes.size()) throw std::runtime_error("a shuffle with no lane");
  const std::uint64_t mine = ++lane().shuffles;
  std::memcpy(lane().given[mine % 2].data(), bytes, size_bytes);
  const std::size_t end = std::min(wave + lanes, current->lanes.size());
  wait_until("a shuffle", [wave, end, mine] {
    for (std::size_t i = wave; i < end; ++i) {
      if (!current->lanes[i].done && current->lanes[i].shuffles < mine) return false;
    }
    return true;
  });
  const Lane& other = current->lanes[partner];
  if (other.shuffles < mine) throw std::runtime_error("a shuffle with a lane that has ended");
  std::memcpy(bytes, other.given[mine % 2].data(), size_bytes);
}

}  // namespace detail

std::string run_block(std::uint32_t wave_lanes, Index block, const std::function<void()>& body) {
  Block state;
  state.wave_lanes = wave_lanes;
  state.size = block;
  state.body = &body;
  state.lanes = std::vector<Lane>(static_cast<std::size_t>(block.x) * block.y);
  current = &state;
  for (std::size_t i = 0; i < state.lanes.size(); ++i) {
    Lane& each = state.lanes[i];
    each.index = {static_cast<std::uint32_t>(i % block.x), static_cast<std::uint32_t>(i / block.x)};
    each.stack = std::make_unique<std::byte[]>(kStackBytes);
    getcontext(&each.context);
    each.context.uc_stack.ss_sp = each.stack.get();
    each.context.uc_stack.ss_size = kStackBytes;
    makecontext(&each.context, run_lane, 0);
  }
  for (bool any = true; any;) {
    any = false;
    state.moved = false;
    for (std::size_t i = 0; i < state.lanes.size(); ++i) {
      if (state.lanes[i].done) continue;
      any = true;
      state.running = i;
      swapcontext(&state.scheduler, &state.lanes[i].context);
    }
    if (any && !state.moved) state.stuck = true;
  }
  current = nullptr;
  return state.failure;
}

}  // namespace tenon::emulated
