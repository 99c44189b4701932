// Decides which plugin files are tried in a child process first, and what follows from it.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "probe_cache.hpp"
#include "tenon/core/engine.hpp"
#include "tenon/loader/discovery.hpp"
#include "tenon/loader/probe.hpp"

namespace tenon::loader {

/// `plugins.probe`.
enum class ProbePolicy : std::uint8_t { kAuto, kAlways, kNever };

struct ProbeOptions {
  ProbePolicy policy = ProbePolicy::kAuto;
  std::string helper;  ///< empty: there is none
  std::string cache_directory;
  std::chrono::milliseconds timeout{30000};
};

/// The gate that files of one Runtime pass on their way into the process. What a probe found holds
/// for the whole process. [any-thread]
class ProbeGate {
 public:
  ProbeGate(ProbeOptions options, std::weak_ptr<Engine> engine);

  /// Before a file is mapped.
  /// @errors stage probe; `quarantine` where the file did not survive its probe.
  FileResult<void> before_load(const ProbeSubject& file) { return pass(file, ProbePart::kLoad); }
  /// The file of a plugin that is taken, by the plugin's id.
  void remember(const std::string& plugin, ProbeSubject file);
  /// Before the devices of a plugin are enumerated. @errors as before_load.
  FileResult<void> before_devices(const std::string& plugin);

 private:
  FileResult<void> pass(const ProbeSubject& file, ProbePart part);
  FileResult<void> try_now(const ProbeSubject& file, const std::string& key, ProbePart part);
  FileResult<void> without_helper();
  void keep(const ProbeSubject& file,
            const std::string& key,
            ProbePart part,
            const ProbeReport& report) const;
  void log(int level, const std::string& text) const;

  ProbeOptions options_;
  ProbeCache cache_;
  std::weak_ptr<Engine> engine_;
  std::mutex mutex_;  // guards what follows, never a probe
  std::map<std::string, ProbeSubject> files_;
  bool missing_told_ = false;
};

}  // namespace tenon::loader
