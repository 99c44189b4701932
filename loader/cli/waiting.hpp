// A line that says what takes so long, while work that cannot be counted goes on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "console.hpp"

namespace tenon::cli {

/// From two seconds after its beginning on, the error sink shows what goes on and for how long:
/// "--check: the reference kernel, 12 s". Only on a terminal; gone at the end.
class Waiting {
 public:
  using Clock = std::chrono::steady_clock;
  Waiting(Console& console,
          std::string what,
          Clock::duration patience = std::chrono::seconds(2),
          Clock::duration pause = std::chrono::milliseconds(500));
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() { end(); }

  /// Other work begins.
  void now(std::string what);
  /// Takes the line away, for others to write.
  void end();

 private:
  void show(Clock::duration patience, Clock::duration pause);

  Console& console_;
  Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  bool ended_ = false;
  bool shown_ = false;
  std::thread thread_;  ///< none where nothing is to be shown
};

}  // namespace tenon::cli
