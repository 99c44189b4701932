// Trying a plugin file in a child process: whatever it does there, this process lives on.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::loader {

/// How far a probe goes. The parts that touch no driver, or also the devices.
enum class ProbePart : std::uint8_t { kLoad, kDevices };
/// "load", "devices".
[[nodiscard]] std::string_view name_of(ProbePart part) noexcept;

/// One step that a child process began: "load", "check", "init", "enumerate", "count KIND",
/// "describe KIND:N", "exit": destructors and exit handlers.
struct ProbeStep {
  std::string name;
  bool done = false;  ///< it came back
  bool failed =
      false;  ///< it came back with an error; only "count" and "describe" let others follow
  std::uint64_t duration_ns = 0;
  std::string said;  ///< what the step found, or why it failed
};

/// What became of the child.
enum class ProbeVerdict : std::uint8_t {
  kSurvived,  ///< every step came back with OK, and the process ended as it should
  kFailed,    ///< a step came back with an error, as it would have done here
  kDied,      ///< it crashed, ended itself, or did not come back in time
  kNotRun,    ///< no child could be started
};

/// The account of one probe.
struct ProbeReport {
  ProbeVerdict verdict = ProbeVerdict::kNotRun;
  std::string text;  ///< why, unless it survived: "killed by SIGSEGV in init"
  std::vector<ProbeStep> steps;
  std::string output;  ///< the end of what it wrote to stdout and stderr
  std::uint64_t duration_ns = 0;
  bool killed_from_outside = false;  ///< it died of a signal that others send: SIGKILL, SIGTERM
};

/// What to try, and with what.
struct ProbeRequest {
  std::string helper;  ///< the executable, see find_probe_helper()
  std::string file;    ///< absolute
  ProbePart part = ProbePart::kLoad;
  std::chrono::milliseconds timeout{30000};
};

/// Runs one probe and waits for it, at most `timeout`. The child is in a process group of its own,
/// which is killed at the end; it dies with the calling thread. [any-thread]
[[nodiscard]] ProbeReport run_probe(const ProbeRequest& request);

/// The helper of this installation: beside the library or executable that holds this code, in the
/// installation's libexec, or where it was installed at build time. Empty where there is none that
/// can be trusted.
[[nodiscard]] std::string find_probe_helper();

}  // namespace tenon::loader
