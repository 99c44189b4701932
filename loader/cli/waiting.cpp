// The thread that shows the line.
#include "waiting.hpp"

#include <utility>

#include <fmt/format.h>

namespace tenon::cli {

Waiting::Waiting(Console& console,
                 std::string what,
                 Clock::duration patience,
                 Clock::duration pause)
    : console_(console), what_(std::move(what)) {
  if (console.shows_progress())
    thread_ = std::thread([this, patience, pause] { show(patience, pause); });
}

void Waiting::now(std::string what) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
}

void Waiting::end() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (shown_) console_.show_progress({});
}

void Waiting::show(Clock::duration patience, Clock::duration pause) {
  std::unique_lock lock(mutex_);
  Clock::duration wait = patience;
  while (!changed_.wait_for(lock, wait, [this] { return ended_; })) {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin_).count();
    console_.show_progress(fmt::format("{}, {} s", what_, seconds));
    shown_ = true;
    wait = pause;
  }
}

}  // namespace tenon::cli
