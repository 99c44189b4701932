// What is done once, or in turns, where the one who does it does not come back.
#include "once_state.hpp"

#include <optional>
#include <pthread.h>
#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>

using tenon::loader::OnceState;
using tenon::loader::TurnState;

namespace {

/// Runs the work on a thread that may end inside of it.
template <class F>
void on_a_thread(F work) {
  pthread_t thread{};
  REQUIRE(pthread_create(
              &thread,
              nullptr,
              [](void* data) -> void* {
                (*static_cast<F*>(data))();
                return nullptr;
              },
              &work) == 0);
  REQUIRE(pthread_join(thread, nullptr) == 0);
}

}  // namespace

TEST_SUITE("loader/once_state") {
  TEST_CASE(
      "work that throws, or ends its thread, leaves nobody waiting, and is done by the next") {
    OnceState<std::optional<int>> once;
    CHECK_THROWS_AS(
        (void)once.run([]() -> std::optional<int> { throw std::runtime_error("no"); }, {}),
        std::runtime_error);
    on_a_thread([&] { (void)once.run([]() -> std::optional<int> { pthread_exit(nullptr); }, {}); });
    std::optional<int> made;
    std::thread([&] { made = once.run([] { return std::optional<int>(7); }, {}); }).join();
    CHECK(made == 7);
    CHECK(once.run([] { return std::optional<int>(8); }, {}) == 7);
  }

  TEST_CASE("a turn that throws, or ends its thread, is over") {
    TurnState turns;
    CHECK_THROWS_AS((void)turns.run([]() -> int { throw std::runtime_error("no"); }, 0),
                    std::runtime_error);
    on_a_thread([&] { (void)turns.run([]() -> int { pthread_exit(nullptr); }, 0); });
    int got = 0;
    std::thread([&] { got = turns.run([] { return 5; }, 0); }).join();
    CHECK(got == 5);
  }
}
