// Other programs as child processes that end when this one does.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "tenon/loader/discovery.hpp"

namespace tenon::loader {

/// What a child process is started with.
struct ChildSpec {
  std::string program;                 ///< its path
  std::vector<std::string> arguments;  ///< without the program's name
  int output = -1;                     ///< becomes its standard output
  int errors = -1;                     ///< becomes its standard error
  int record = -1;                     ///< becomes kRecordDescriptor; -1: none
};

/// A program in a process group of its own, without input, signals as a program expects them, and
/// with no other descriptors than those it is given. It is killed when the thread that started it
/// ends, in whatever way, and its group with this object. No handler of pthread_atfork runs here,
/// and no memory is copied: a vendor's runtime that is already in this process is left alone.
class ChildProcess {
 public:
  static constexpr int kRecordDescriptor = 3;

  ChildProcess() = default;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() { (void)end(); }

  /// Starts it. The system's error, or 0. Once per object.
  [[nodiscard]] int start(const ChildSpec& spec);
  /// Whether it has ended, without waiting.
  [[nodiscard]] bool has_ended() const;
  /// Readable when it has ended; -1 where the system has no such thing.
  [[nodiscard]] int descriptor() const { return ended_.get(); }
  /// Waits until it has ended or the time is over. False at the deadline.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point deadline) const;
  /// Kills what is left of its group; its wait status, or nothing where somebody else took that.
  std::optional<int> end();

 private:
  pid_t pid_ = 0;
  Descriptor ended_;
};

}  // namespace tenon::loader
