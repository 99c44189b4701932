// Finding plugin files: where to look, what is taken, and what becomes of every file that was seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "tenon/core/plugin_record.hpp"
#include "tenon/loader/elf.hpp"
#include "tenon/loader/environment.hpp"

namespace tenon::loader {

/// A file or folder, and the setting that named it ("command line", "TENON_PLUGIN_PATH",
/// "/etc/tenon/tenon.yaml:4").
struct NamedPath {
  std::string path;
  std::string from;
  bool asked_for = false;  ///< by API, command line or variable: it should be there
};

/// A place that was looked in, in order of precedence.
struct SearchPlace {
  std::string path;  ///< canonical where it exists
  std::string from;
  bool found = false;
};

/// Globs over plugin ids and the setting that gave them.
struct PatternList {
  std::vector<std::string> patterns;
  std::string from;
};

/// A line for the log. level: TENON_LOG_*.
struct LogLine {
  int level = 0;
  std::string text;
};

/// Where to look and what to leave out, beside what the environment says.
struct DiscoveryOptions {
  std::vector<NamedPath>
      explicit_paths;  ///< by API or command line; relative to the working folder
  std::vector<NamedPath> configured_paths;  ///< `plugins.paths`, made absolute by who read the file
  std::optional<PatternList> enable;        ///< only these ids
  std::optional<PatternList> disable;       ///< not these
  bool allow_insecure = false;  ///< what anybody may have written is a warning, no refusal
  std::string user_folder;      ///< empty: none
  std::string system_folder;    ///< empty: none
  std::string install_folder;   ///< of the installation that the core lies in; empty: none
  std::string core_folder;      ///< beside the core library or the executable
  std::optional<uid_t> user;    ///< whose files are trusted beside root's; the process's

  /// The standard folders: $XDG_DATA_HOME or ~/.local/share, the one set at build time, the core's.
  void use_standard_folders(const Environment& environment);
};

/// A descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_ = -1;
};

/// Which file it is, whatever its name: compared again after it was loaded.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size_bytes = 0;
  std::int64_t modified_ns = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};
/// By path, links followed; nothing where there is no such file.
[[nodiscard]] std::optional<FileIdentity> identify(const std::string& path);

/// One file that was seen.
struct FoundFile {
  PluginRecord record;  ///< state, stage and reason so far
  FileIdentity identity;
  ElfFile elf;
  std::size_t place = 0;  ///< index into Discovery::searched
  bool load = false;      ///< vetted, enabled and not shadowed: the loader's to go on with
  Descriptor descriptor;  ///< open while `load` is set, so that the inode cannot be given away
};

/// What a look through the search path found.
struct Discovery {
  std::vector<SearchPlace> searched;
  std::vector<FoundFile> files;  ///< in order of precedence
  std::vector<LogLine> log;
};

/// The places in order of precedence (docs/configuration.md), repeats left out.
[[nodiscard]] std::vector<NamedPath> search_path(const DiscoveryOptions& options,
                                                 const Environment& environment,
                                                 std::vector<LogLine>* log);

/// Looks through all places, reads each file's note, and settles which files are to be loaded.
/// Never fails: what is wrong with one file is that file's record. Runs no code of any file.
[[nodiscard]] Discovery discover(const DiscoveryOptions& options, const Environment& environment);

/// Why a file or folder cannot be trusted (R13): anybody may write it, or it belongs to neither
/// root nor the user. Nothing where it can. A sticky folder may be writable.
[[nodiscard]] std::optional<std::string> distrust(const std::string& path, uid_t user);

/// The folder of the shared library that holds this code, or of the executable.
[[nodiscard]] std::string core_library_folder();

}  // namespace tenon::loader
