// Goes through the search path, reads every file's note, and settles which files are loaded.
#include "tenon/loader/discovery.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "tenon/loader/abi_version.hpp"

namespace tenon::loader {

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

namespace {

namespace fs = std::filesystem;
constexpr std::string_view kSuffix = ".tenon.so";

std::string_view file_type_name(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "no regular file";
}

/// True where both files hold the same bytes: a build id alone outlives a change of the file.
bool same_content(const FoundFile& a, const FoundFile& b) {
  if (a.identity.size_bytes != b.identity.size_bytes) return false;
  constexpr std::size_t kBlock = 65536;
  std::vector<char> left(kBlock);
  std::vector<char> right(kBlock);
  off_t at = 0;
  while (true) {
    const ssize_t got = pread(a.descriptor.get(), left.data(), kBlock, at);
    if (got < 0 || pread(b.descriptor.get(), right.data(), kBlock, at) != got) return false;
    if (got == 0) return true;
    if (std::memcmp(left.data(), right.data(), static_cast<std::size_t>(got)) != 0) return false;
    at += got;
  }
}

class Finder {
 public:
  explicit Finder(const DiscoveryOptions& options)
      : options_(options), user_(options.user.value_or(geteuid())) {}

  Discovery run(const Environment& environment) {
    for (const NamedPath& place : search_path(options_, environment, &result_.log)) visit(place);
    drop_disabled();
    drop_shadowed();
    for (FoundFile& file : result_.files) {
      if (!file.load) file.descriptor = Descriptor();
    }
    return std::move(result_);
  }

 private:
  void visit(const NamedPath& place);
  void visit_folder(const std::string& folder, const std::string& from);
  void visit_file(const std::string& path, const std::string& from, const std::string& folder);
  FileResult<void> read(FoundFile& file, const std::string& folder);
  void reject(FoundFile& file, PluginFault fault);
  void drop_disabled();
  void drop_shadowed();
  void shadow(FoundFile& file, const FoundFile& by, std::string_view why);

  const DiscoveryOptions& options_;
  uid_t user_;
  Discovery result_;
};

void Finder::visit(const NamedPath& place) {
  std::error_code error;
  const fs::path absolute = fs::absolute(place.path, error);
  struct stat facts {};
  const bool found = stat(absolute.c_str(), &facts) == 0;
  const int reason = errno;
  const fs::path canonical = found ? fs::canonical(absolute, error) : absolute.lexically_normal();
  std::string path = error ? absolute.string() : canonical.string();
  if (path.size() > 1 && path.back() == '/') path.pop_back();
  const bool seen = std::any_of(result_.searched.begin(),
                                result_.searched.end(),
                                [&](const SearchPlace& p) { return p.path == path; });
  if (seen) return;
  result_.searched.push_back({path, place.from, found});
  if (found && S_ISDIR(facts.st_mode)) return visit_folder(path, place.from);
  if (found) return visit_file(absolute.string(), place.from, {});
  struct stat link {};
  const bool dangling = lstat(absolute.c_str(), &link) == 0;
  // A folder of the search path may be missing without a word, below a home that is no folder, too;
  // a file that somebody named may not.
  const bool missing = reason == ENOENT || (reason == ENOTDIR && !place.asked_for);
  if (dangling || !missing || path.ends_with(".so")) {
    return visit_file(absolute.string(), place.from, {});
  }
  result_.log.push_back({place.asked_for ? TENON_LOG_WARN : TENON_LOG_DEBUG,
                         fmt::format("no file or folder '{}' (named by {})", path, place.from)});
}

void Finder::visit_folder(const std::string& folder, const std::string& from) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name.size() > kSuffix.size() && name.ends_with(kSuffix)) names.push_back(std::move(name));
  }
  if (error) {
    result_.log.push_back(
        {TENON_LOG_WARN,
         fmt::format(
             "folder '{}' (named by {}) cannot be read: {}", folder, from, error.message())});
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    visit_file(fmt::format("{}/{}", folder, name), from, folder);
  }
}

void Finder::visit_file(const std::string& path,
                        const std::string& from,
                        const std::string& folder) {
  FoundFile file;
  std::error_code error;
  const fs::path canonical = fs::canonical(path, error);
  file.record.path = error ? path : canonical.string();
  file.record.from = from;
  file.place = result_.searched.size() - 1;
  const bool seen =
      std::any_of(result_.files.begin(), result_.files.end(), [&](const FoundFile& other) {
        return other.record.path == file.record.path;
      });
  if (seen) return;
  if (auto ok = read(file, folder); !ok) {
    reject(file, std::move(ok).error());
  } else {
    file.load = true;
  }
  result_.files.push_back(std::move(file));
}

FileResult<void> Finder::read(FoundFile& file, const std::string& folder) {
  const std::string& path = file.record.path;
  const auto at_found = [](tenon_status code, std::string text) {
    return tl::unexpected(PluginFault{PluginStage::kFound, code, std::move(text)});
  };
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  file.descriptor = Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.descriptor.get() < 0) {
    const int reason = errno;
    std::error_code error;
    const bool link = fs::is_symlink(path, error);
    const fs::path target = link ? fs::read_symlink(path, error) : fs::path();
    return at_found(
        reason == ENOENT ? TENON_NOT_FOUND : TENON_IO,
        link ? fmt::format("symbolic link to '{}': {}", target.string(), std::strerror(reason))
             : fmt::format("cannot be opened: {}", std::strerror(reason)));
  }
  struct stat facts {};
  if (fstat(file.descriptor.get(), &facts) != 0) {
    return at_found(TENON_IO, fmt::format("cannot be examined: {}", std::strerror(errno)));
  }
  if (!S_ISREG(facts.st_mode)) {
    return at_found(TENON_INVALID_ARGUMENT,
                    fmt::format("not a shared object: it is {}", file_type_name(facts.st_mode)));
  }
  file.identity = {facts.st_dev,
                   facts.st_ino,
                   static_cast<std::uint64_t>(facts.st_size),
                   std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec};
  auto elf = read_elf(file.descriptor.get());
  if (!elf) return tl::unexpected(std::move(elf).error());
  file.elf = std::move(*elf);
  if (const auto& note = file.elf.note) {
    file.record.id = note->id;
    file.record.version = note->version;
    file.record.abi_major = note->abi_major;
    file.record.abi_minor = note->abi_minor;
  }
  if (auto ok = vet(file.elf); !ok) return ok;
  // Only what would be loaded can do harm, so trust is asked last: the file, the folder that really
  // holds it, and the folder whose link led there.
  for (const std::string& each : {path, fs::path(path).parent_path().string(), folder}) {
    if (each.empty()) continue;
    const auto fault = distrust(each, user_);
    if (!fault) continue;
    if (!options_.allow_insecure) {
      return at_found(TENON_INVALID_ARGUMENT,
                      fmt::format("not trusted: {}, or set plugins.allow_insecure", *fault));
    }
    result_.log.push_back(
        {TENON_LOG_WARN, fmt::format("{}: {} (plugins.allow_insecure)", path, *fault)});
  }
  file.record.stage = PluginStage::kNote;
  return {};
}

void Finder::reject(FoundFile& file, PluginFault fault) {
  file.record.state = PluginState::kRejected;
  file.record.stage = fault.stage;
  file.record.code = fault.code;
  file.record.reason = std::move(fault.text);
}

void Finder::drop_disabled() {
  const auto match = [](const PatternList& list, const std::string& id) {
    return std::find_if(list.patterns.begin(),
                        list.patterns.end(),
                        [&](const std::string& pattern) { return glob_matches(pattern, id); });
  };
  const auto& disable = options_.disable;
  const auto& enable = options_.enable;
  for (FoundFile& file : result_.files) {
    if (!file.load) continue;
    const std::string& id = file.record.id;
    const auto by = disable ? match(*disable, id) : std::vector<std::string>::const_iterator();
    if (disable && by != disable->patterns.end()) {
      file.record.reason = fmt::format("disabled by {} ('{}')", disable->from, *by);
    } else if (enable && match(*enable, id) == enable->patterns.end()) {
      file.record.reason =
          enable->patterns.empty()
              ? fmt::format(
                    "plugins.enable ({}) is an empty list, so no plugin is enabled; '*' "
                    "in it enables all",
                    enable->from)
              : fmt::format("not among those that {} enables ({})",
                            enable->from,
                            fmt::join(enable->patterns, ", "));
    } else {
      continue;
    }
    file.load = false;
    file.record.state = PluginState::kDisabled;
  }
}

void Finder::shadow(FoundFile& file, const FoundFile& by, std::string_view why) {
  file.load = false;
  file.record.state = PluginState::kShadowed;
  file.record.code = TENON_ALREADY_EXISTS;
  file.record.reason = fmt::format("{} {} at '{}' is superseded by {} at '{}': {}",
                                   file.record.id,
                                   file.record.version,
                                   file.record.path,
                                   by.record.version,
                                   by.record.path,
                                   why);
}

void Finder::drop_shadowed() {
  // Of one id: the earlier place, inside one place the higher version, then the earlier name.
  std::map<std::string, FoundFile*> chosen;
  const auto beats = [](const FoundFile& a, const FoundFile& b) {
    if (a.place != b.place) return a.place < b.place;
    return compare_versions(a.record.version, b.record.version) > 0;
  };
  for (FoundFile& file : result_.files) {
    if (!file.load) continue;
    FoundFile*& best = chosen[file.record.id];
    if (best == nullptr || beats(file, *best)) best = &file;
  }
  for (FoundFile& file : result_.files) {
    if (!file.load) continue;
    const FoundFile& best = *chosen[file.record.id];
    if (&best == &file) continue;
    const bool same_file =
        best.identity.device == file.identity.device && best.identity.inode == file.identity.inode;
    const bool same_build = !file.elf.build_id.empty() && best.elf.build_id == file.elf.build_id &&
                            same_content(best, file);
    shadow(file,
           best,
           same_file                  ? "the same file under another name"
           : same_build               ? "a copy of the same build"
           : best.place != file.place ? "its place comes first in the search path"
                                      : "the higher version of one folder is taken");
  }
}

}  // namespace

Discovery discover(const DiscoveryOptions& options, const Environment& environment) {
  return Finder(options).run(environment);
}

}  // namespace tenon::loader
