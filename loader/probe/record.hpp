// The account that a probe's child writes to its parent: a line for each step's beginning and end.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/core/floating_environment.hpp"

namespace tenon::probe {

/// Writes lines to a pipe, each in one piece, so that they stand there when the process dies.
class Record {
 public:
  Record(int descriptor, std::string nonce) : descriptor_(descriptor), nonce_(std::move(nonce)) {}

  void begin(std::string_view step);
  /// Ends the step that was begun last, and puts back the floating-point environment of its
  /// beginning. A change is told as a step "floating point" before the last line.
  void end(std::string_view said = {}) { end_as("end", said); }
  /// Ends it as one that came back with an error, after which the next one is tried all the same.
  void fault(std::string_view why) { end_as("fault", why); }
  /// The last line: all went well, or what did not. Only these carry the nonce.
  void ok();
  void failed(std::string_view why);

 private:
  void line(std::string text) const;
  void end_as(std::string_view word, std::string_view said);

  int descriptor_;
  std::string nonce_;
  std::string step_;
  std::optional<FloatingEnvironment> floating_;
  std::string changes_;  // the steps that changed the floating-point environment
  std::chrono::steady_clock::time_point began_;
};

}  // namespace tenon::probe
