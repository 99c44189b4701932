// Starts tenon-probe, reads its record under a deadline, and says what became of it.
#include "tenon/loader/probe.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "probe_ending.hpp"
#include "tenon/loader/child_process.hpp"
#include "tenon/loader/discovery.hpp"
#include "tenon/loader/printable.hpp"

namespace tenon::loader {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxRecordBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxOutputBytes = 4096;

struct Pipe {
  Descriptor read;
  Descriptor write;
};

/// Above the standard descriptors, which the application may have closed and the child gets anew.
std::optional<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const Descriptor low_read(ends[0]);
  const Descriptor low_write(ends[1]);
  constexpr int kLowest = 10;
  Pipe pipe{Descriptor(fcntl(ends[0], F_DUPFD_CLOEXEC, kLowest)),
            Descriptor(fcntl(ends[1], F_DUPFD_CLOEXEC, kLowest))};
  if (pipe.read.get() < 0 || pipe.write.get() < 0) return std::nullopt;
  (void)fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

std::string make_nonce() {
  std::array<std::uint64_t, 2> random{};
  if (getrandom(random.data(), sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
    random[0] = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
    random[1] = static_cast<std::uint64_t>(getpid());
  }
  return fmt::format("{:016x}{:016x}", random[0], random[1]);
}

/// What the child is started with: nothing but the two pipes.
ChildSpec spec_of(const ProbeRequest& request, const std::string& nonce, int record, int output) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(request.timeout).count();
  return {request.helper,
          {std::string(name_of(request.part)),
           request.file,
           std::to_string(ChildProcess::kRecordDescriptor),
           nonce,
           std::to_string(std::max<std::int64_t>(seconds, 1))},
          output,
          output,
          record};
}

/// What a child has written so far.
struct Heard {
  std::string record;
  std::string output;
  bool record_open = true;
  bool output_open = true;
  std::optional<Clock::time_point> exit_began;
};
constexpr std::string_view kExitLine = "\nbegin\texit\n";

/// Takes what is there; false at the end of the pipe.
bool drain(int descriptor, std::string& into) {
  std::array<char, 4096> block{};
  while (true) {
    const ssize_t got = read(descriptor, block.data(), block.size());
    if (got > 0) {
      into.append(block.data(), static_cast<std::size_t>(got));
      continue;
    }
    return got < 0 && (errno == EAGAIN || errno == EINTR);
  }
}

/// Listens until the child has ended, or the deadline is there. False at the deadline.
bool listen(const ChildProcess& child,
            const Pipe& record,
            const Pipe& output,
            Clock::time_point deadline,
            Heard& heard) {
  while (true) {
    // A descendant may hold the pipes open, so the child itself is looked at.
    const bool ended = child.has_ended();
    if (heard.record_open) heard.record_open = drain(record.read.get(), heard.record);
    if (heard.output_open) heard.output_open = drain(output.read.get(), heard.output);
    if (heard.output.size() > kMaxOutputBytes) {
      heard.output.erase(0, heard.output.size() - kMaxOutputBytes);
    }
    if (!heard.exit_began && heard.record.find(kExitLine) != std::string::npos)
      heard.exit_began = Clock::now();
    if (ended || heard.record.size() > kMaxRecordBytes) return true;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    // The child's end wakes this up where there is a descriptor for it.
    const std::int64_t look = child.descriptor() < 0 ? 2 : 60000;
    std::array<pollfd, 3> waited{pollfd{heard.record_open ? record.read.get() : -1, POLLIN, 0},
                                 pollfd{heard.output_open ? output.read.get() : -1, POLLIN, 0},
                                 pollfd{child.descriptor(), POLLIN, 0}};
    (void)poll(waited.data(), waited.size(), static_cast<int>(std::min(left, look)));
  }
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = std::min(text.find(at), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Reads the record's lines; what is no line of ours is skipped. Sets the verdict where the last
/// line with the nonce gives one.
void read_record(std::string_view record, const std::string& nonce, ProbeReport& report) {
  for (const std::string_view line : split(record, '\n')) {
    const auto words = split(line, '\t');
    if (words.size() < 2) continue;
    if (words[0] == "begin") {
      report.steps.push_back({printable_line(words[1]), false, false, 0, {}});
    } else if ((words[0] == "end" || words[0] == "fault") && words.size() >= 4 &&
               !report.steps.empty()) {
      ProbeStep& step = report.steps.back();
      step.done = step.name == printable_line(words[1]);
      step.failed = words[0] == "fault";
      (void)std::from_chars(words[2].data(), words[2].data() + words[2].size(), step.duration_ns);
      step.said = printable_line(words[3]);
    } else if (words[0] == "ok" && words[1] == nonce) {
      report.verdict = ProbeVerdict::kSurvived;
    } else if (words[0] == "failed" && words[1] == nonce) {
      report.verdict = ProbeVerdict::kFailed;
      if (report.steps.empty()) continue;
      report.steps.back().failed = true;
      report.text = report.steps.back().said;
    }
  }
}

/// The record's last word holds only where the child then ended as a process does, its exit
/// handlers and destructors run.
void judge_ending(std::optional<int> status,
                  bool in_time,
                  const std::string& nonce,
                  const Heard& heard,
                  ProbeReport& report) {
  const bool well =
      in_time && (!status || (WIFEXITED(*status) && WEXITSTATUS(*status) == good_ending(nonce)));
  if (report.verdict == ProbeVerdict::kDied) return;
  if (!well) {
    report.verdict = ProbeVerdict::kDied;
    return;
  }
  if (report.steps.empty() || report.steps.back().name != "exit" || !heard.exit_began) return;
  ProbeStep& step = report.steps.back();
  step.done = true;
  step.duration_ns = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - *heard.exit_began)
          .count());
}

std::string where_it_was(const ProbeReport& report) {
  if (report.steps.empty()) return "before it began";
  const ProbeStep& last = report.steps.back();
  if (last.done) return fmt::format("after {}", last.name);
  if (last.name == "load") return "in a static constructor, its own or of a library that it needs";
  if (last.name == "exit")
    return "in a destructor or exit handler, its own or of a library that it needs";
  if (last.name == "threads") return "in a thread that it had started";
  return fmt::format("in {}", last.name);
}

std::string how_it_ended(std::optional<int> status, const std::string& nonce) {
  if (!status) return "ended without a word";
  if (WIFSIGNALED(*status)) {
    const int number = WTERMSIG(*status);
    const char* name = sigabbrev_np(number);
    const std::string signal =
        name == nullptr ? fmt::format("signal {}", number) : fmt::format("SIG{}", name);
    return fmt::format(
        "was killed by {}{}", signal, number == SIGXCPU ? " (it used up its processor time)" : "");
  }
  // The helper came to its end, but nobody heard the rest.
  if (WEXITSTATUS(*status) == good_ending(nonce))
    return "closed the process's descriptors, the one that the probe reports by among them";
  return fmt::format("ended the process itself, with exit status {}", WEXITSTATUS(*status));
}

/// The last line that it wrote, for the reason.
std::string last_words(std::string_view output) {
  while (output.ends_with('\n') || output.ends_with(' ')) output.remove_suffix(1);
  const std::size_t start = output.rfind('\n');
  std::string_view line = start == std::string_view::npos ? output : output.substr(start + 1);
  constexpr std::size_t kMaxBytes = 200;
  return line.empty() ? std::string()
                      : fmt::format("; it wrote: {}", printable_line(line.substr(0, kMaxBytes)));
}

bool is_executable(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string_view name_of(ProbePart part) noexcept {
  return part == ProbePart::kLoad ? "load" : "devices";
}

ProbeReport run_probe(const ProbeRequest& request) {
  ProbeReport report;
  const auto began = Clock::now();
  auto record = make_pipe();
  auto output = make_pipe();
  if (!record || !output) {
    report.text = fmt::format("no pipe to a child process: {}", std::strerror(errno));
    return report;
  }
  const std::string nonce = make_nonce();
  ChildProcess child;
  if (const int error =
          child.start(spec_of(request, nonce, record->write.get(), output->write.get()));
      error != 0) {
    report.text = fmt::format("'{}' cannot be started: {}", request.helper, std::strerror(error));
    return report;
  }
  record->write = Descriptor();
  output->write = Descriptor();
  Heard heard;
  const bool in_time = listen(child, *record, *output, began + request.timeout, heard);
  const std::optional<int> status = child.end();
  (void)drain(record->read.get(), heard.record);
  (void)drain(output->read.get(), heard.output);

  report.verdict = ProbeVerdict::kDied;
  report.output = heard.output;
  read_record(std::string_view(heard.record).substr(0, kMaxRecordBytes), nonce, report);
  judge_ending(status, in_time, nonce, heard, report);
  report.duration_ns = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began).count());
  if (report.verdict == ProbeVerdict::kDied && report.steps.empty()) {
    // Nothing of the plugin had run: it is the helper's fault.
    report.verdict = ProbeVerdict::kNotRun;
    report.text = fmt::format("'{}' {} before it began; it is broken, or another build's",
                              request.helper,
                              in_time ? how_it_ended(status, nonce) : "did not answer");
    return report;
  }
  report.killed_from_outside =
      in_time && status && WIFSIGNALED(*status) &&
      (WTERMSIG(*status) == SIGKILL || WTERMSIG(*status) == SIGTERM || WTERMSIG(*status) == SIGINT);
  if (report.verdict == ProbeVerdict::kDied && !in_time) {
    report.text = fmt::format(
        "it did not come back within {} ms, {}", request.timeout.count(), where_it_was(report));
  } else if (report.verdict == ProbeVerdict::kDied) {
    report.text = fmt::format(
        "it {}, {}{}", how_it_ended(status, nonce), where_it_was(report), last_words(heard.output));
  }
  return report;
}

std::string find_probe_helper() {
  const std::string core = core_library_folder();
  std::vector<std::string> places;
  if (!core.empty()) {
    places.push_back(core + "/" TENON_PROBE_NAME);
    places.push_back(core + "/" TENON_PROBE_FROM_CORE "/" TENON_PROBE_NAME);
  }
  places.emplace_back(TENON_PROBE_INSTALLED);
  for (const std::string& place : places) {
    std::error_code error;
    const auto path = std::filesystem::canonical(place, error);
    if (error || !is_executable(path.string())) continue;
    if (distrust(path.string(), geteuid()) || distrust(path.parent_path().string(), geteuid()))
      continue;
    return path.string();
  }
  return {};
}

}  // namespace tenon::loader
