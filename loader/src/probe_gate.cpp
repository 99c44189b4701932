// Policy, cache and verdict of probes.
#include "probe_gate.hpp"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "once_state.hpp"

namespace tenon::loader {
namespace {

using Verdicts = std::map<std::string, OnceState<FileResult<void>>>;

/// The verdicts of this process by key and part; leaked, like the plugins that they are about.
OnceState<FileResult<void>>& verdict_of(const std::string& key) {
  static std::mutex guard;
  static auto& verdicts = *new Verdicts();
  const std::lock_guard lock(guard);
  return verdicts[key];
}

constexpr std::string_view kUntilChanged =
    "It is put aside until it changes, or a file that its note names as depends, or a library that "
    "it brings along; `tenon plugins doctor` shows each step, `--set-config plugins.probe=always` "
    "tries it again, plugins.probe: never loads it all the same";
constexpr std::string_view kUntilNextStart =
    "Somebody else may have ended that child, so the plugin is tried again at the next start";

tl::unexpected<PluginFault> quarantined(ProbePart part,
                                        std::string_view why,
                                        std::string_view until = kUntilChanged) {
  return tl::unexpected(
      PluginFault{PluginStage::kProbe,
                  TENON_INTERNAL,
                  fmt::format("{} in a child process, {}. {}",
                              part == ProbePart::kLoad ? "tried" : "its devices were asked for",
                              why,
                              until),
                  true});
}

}  // namespace

ProbeGate::ProbeGate(ProbeOptions options, std::weak_ptr<Engine> engine)
    : options_(std::move(options)), cache_(options_.cache_directory), engine_(std::move(engine)) {}

void ProbeGate::log(int level, const std::string& text) const {
  if (const auto engine = engine_.lock()) engine->log(level, "loader", text);
}

FileResult<void> ProbeGate::pass(const ProbeSubject& file, ProbePart part) {
  if (options_.policy == ProbePolicy::kNever) return {};
  const std::string key = probe_key(file);
  auto& verdict =
      verdict_of(fmt::format("{}\n{}\n{}\n{}", file.path, key, name_of(part), options_.helper));
  return verdict.run([&] { return try_now(file, key, part); },
                     tl::unexpected(PluginFault{
                         PluginStage::kProbe, TENON_INTERNAL, "it is being tried already", false}));
}

void ProbeGate::remember(const std::string& plugin, ProbeSubject file) {
  const std::lock_guard lock(mutex_);
  files_[plugin] = std::move(file);
}

FileResult<void> ProbeGate::before_devices(const std::string& plugin) {
  ProbeSubject file;
  {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(plugin);
    if (found == files_.end()) return {};  // it is linked in
    file = found->second;
  }
  return pass(file, ProbePart::kDevices);
}

FileResult<void> ProbeGate::without_helper() {
  constexpr std::string_view kMissing =
      "there is no tenon-probe beside the library or executable, nor where it was installed";
  if (options_.policy == ProbePolicy::kAlways) {
    return tl::unexpected(PluginFault{PluginStage::kProbe,
                                      TENON_UNAVAILABLE,
                                      fmt::format("{}, and plugins.probe is always", kMissing)});
  }
  const std::lock_guard lock(mutex_);
  if (!std::exchange(missing_told_, true)) {
    log(TENON_LOG_WARN,
        fmt::format("{}: plugins are loaded without a probe (plugins.probe: never says that this "
                    "is meant)",
                    kMissing));
  }
  return {};
}

FileResult<void> ProbeGate::try_now(const ProbeSubject& file,
                                    const std::string& key,
                                    ProbePart part) {
  if (options_.policy == ProbePolicy::kAuto) {
    std::string complaint;
    const ProbeFindings known = cache_.get(file.path, key, complaint);
    if (!complaint.empty()) log(TENON_LOG_WARN, complaint);
    // What does not survive its load has no devices to be asked for.
    for (const auto& [kept, finding] : known) {
      if (!finding.survived) return quarantined(kept, finding.text);
    }
    if (known.contains(part)) return {};
  }
  if (options_.helper.empty()) return without_helper();
  const ProbeReport report = run_probe({options_.helper, file.path, part, options_.timeout});
  log(TENON_LOG_INFO,
      fmt::format("probe of {} ({}): {} after {:.1f} ms",
                  file.path,
                  name_of(part),
                  report.verdict == ProbeVerdict::kSurvived ? "survived" : report.text,
                  static_cast<double>(report.duration_ns) / 1e6));
  switch (report.verdict) {
    case ProbeVerdict::kSurvived:
      keep(file, key, part, report);
      return {};
    case ProbeVerdict::kFailed:
      return {};  // it fails in the same way here, where the reason becomes its record's
    case ProbeVerdict::kDied:
      if (report.killed_from_outside) return quarantined(part, report.text, kUntilNextStart);
      keep(file, key, part, report);
      return quarantined(part, report.text);
    case ProbeVerdict::kNotRun:
      break;
  }
  if (options_.policy == ProbePolicy::kAlways) {
    return tl::unexpected(PluginFault{
        PluginStage::kProbe, TENON_UNAVAILABLE, "no probe could be run: " + report.text});
  }
  log(TENON_LOG_WARN, fmt::format("{} is loaded without a probe: {}", file.path, report.text));
  return {};
}

void ProbeGate::keep(const ProbeSubject& file,
                     const std::string& key,
                     ProbePart part,
                     const ProbeReport& report) const {
  // What was tried must be what the key is about.
  if (identify(file.path) != file.identity) return;
  std::string complaint;
  ProbeFindings findings = cache_.get(file.path, key, complaint);
  findings[part] = {report.verdict == ProbeVerdict::kSurvived, report.text};
  if (const std::string reason = cache_.put(file.path, key, findings); !reason.empty()) {
    log(TENON_LOG_INFO, fmt::format("what the probe found is not kept: {}", reason));
  }
}

}  // namespace tenon::loader
