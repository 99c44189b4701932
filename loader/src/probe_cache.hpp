// What earlier probes found, kept on disk: one small file per plugin file and host.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tenon/loader/discovery.hpp"
#include "tenon/loader/probe.hpp"

namespace tenon::loader {

/// A plugin file as far as probes are concerned.
struct ProbeSubject {
  std::string path;
  FileIdentity identity;
  std::string build_id;
  std::vector<std::string> depends;    ///< of its note
  std::vector<std::string> libraries;  ///< that it brings along, see needed_files()
};
[[nodiscard]] ProbeSubject subject_of(const FoundFile& file);

/// Everything that a probe's result depends on, as text: the plugin's build and file, this host's
/// build, the files that the plugin's note names, and the libraries that it brings along.
[[nodiscard]] std::string probe_key(const ProbeSubject& subject);

/// The build id of the library or executable that holds this code; its size and time without one.
[[nodiscard]] const std::string& host_build();

/// What one part of a probe found.
struct ProbeFinding {
  bool survived = false;
  std::string text;  ///< why not
};
using ProbeFindings = std::map<ProbePart, ProbeFinding>;

/// The files `probes/<hash>.json` below the caches' folder.
class ProbeCache {
 public:
  /// An empty directory: nothing is kept.
  explicit ProbeCache(const std::string& directory);

  /// What is known of the plugin file under this key. Nothing where nothing is, where the file is
  /// another build's, and where it cannot be believed; then `complaint` says why.
  [[nodiscard]] ProbeFindings get(const std::string& plugin_file,
                                  const std::string& key,
                                  std::string& complaint) const;
  /// Replaces what is known. The reason where that fails, else empty.
  [[nodiscard]] std::string put(const std::string& plugin_file,
                                const std::string& key,
                                const ProbeFindings& findings) const;
  /// Where the findings of a plugin file lie; empty without a directory.
  [[nodiscard]] std::string path_of(const std::string& plugin_file) const;

 private:
  std::string folder_;
};

}  // namespace tenon::loader
