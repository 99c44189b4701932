// Findings of probes as JSON files that name their key in full.
#include "probe_cache.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <link.h>
#include <span>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "atomic_file.hpp"
#include "needed_files.hpp"

namespace tenon::loader {
namespace {

constexpr int kSchema = 1;
constexpr std::size_t kMaxFileBytes = std::size_t{64} * 1024;

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

/// A regular file's first bytes, or the system's error.
int read_start(const std::string& path, std::size_t max_bytes, std::string& out) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return errno;
  struct stat facts {};
  if (fstat(file.get(), &facts) != 0) return errno;
  if (!S_ISREG(facts.st_mode)) return EINVAL;
  out.resize(max_bytes);
  std::size_t size = 0;
  while (size < max_bytes) {
    const ssize_t got = read(file.get(), out.data() + size, max_bytes - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  out.resize(size);
  return 0;
}

/// Size and time of a file. What a kernel makes up when it is read (/proc) has neither, so there
/// the contents count.
std::string identity_of(const std::string& path) {
  const auto identity = identify(path);
  if (!identity) return "absent";
  if (identity->size_bytes != 0) {
    return fmt::format("{}@{}", identity->size_bytes, identity->modified_ns);
  }
  std::string contents;
  const int error = read_start(path, kMaxFileBytes, contents);
  return error != 0 ? fmt::format("error {}", error) : fmt::format("={:016x}", hash_of(contents));
}

/// The library or executable that holds this code.
std::string file_of_host() {
  Dl_info info{};
  void* map = nullptr;
  const void* here = reinterpret_cast<const void*>(&file_of_host);
  if (dladdr1(here, &info, &map, RTLD_DL_LINKMAP) == 0 || map == nullptr) return "/proc/self/exe";
  const char* name = static_cast<const link_map*>(map)->l_name;
  return *name == '\0' ? "/proc/self/exe" : name;  // the executable has no name here
}

std::string find_host_build() {
  const std::string path = file_of_host();
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto elf = read_elf(file.get());
  return elf && !elf->build_id.empty() ? elf->build_id : "file " + identity_of(path);
}

/// A file replaces no folder: an empty one goes, another one is put aside, since what lies in it
/// may be somebody's.
void clear_of_folder(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(std::filesystem::symlink_status(path, error))) return;
  if (rmdir(path.c_str()) != 0) std::filesystem::rename(path, path + ".aside", error);
}

std::string text_in(const nlohmann::json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

}  // namespace

const std::string& host_build() {
  static const std::string kBuild = find_host_build();
  return kBuild;
}

ProbeSubject subject_of(const FoundFile& file) {
  return {file.record.path,
          file.identity,
          file.elf.build_id,
          file.elf.note ? file.elf.note->depends : std::vector<std::string>(),
          needed_files(file.record.path, file.elf)};
}

std::string probe_key(const ProbeSubject& subject) {
  std::string key = fmt::format("build {}, {}@{}, host {}",
                                subject.build_id.empty() ? "none" : subject.build_id,
                                subject.identity.size_bytes,
                                subject.identity.modified_ns,
                                host_build());
  for (const std::string& path : subject.depends) {
    key += fmt::format(", {} {}", path, identity_of(path));
  }
  // A library that was replaced may have kept its time and size.
  for (const std::string& path : subject.libraries) {
    const auto identity = identify(path);
    key += fmt::format(", {} {}#{}", path, identity_of(path), identity ? identity->inode : 0);
  }
  return key;
}

ProbeCache::ProbeCache(const std::string& directory) {
  if (!directory.empty()) folder_ = directory + "/probes";
}

std::string ProbeCache::path_of(const std::string& plugin_file) const {
  if (folder_.empty()) return {};
  // A changed plugin replaces its findings; another build of the host has findings of its own.
  return fmt::format(
      "{}/{:016x}{:016x}.json", folder_, hash_of(plugin_file), hash_of(host_build()));
}

ProbeFindings ProbeCache::get(const std::string& plugin_file,
                              const std::string& key,
                              std::string& complaint) const {
  if (folder_.empty()) return {};
  const std::string path = path_of(plugin_file);
  std::string text;
  const int error = read_start(path, kMaxFileBytes, text);
  if (error == ENOENT || error == ENOTDIR) return {};
  const auto ignore = [&](std::string_view why) {
    complaint = fmt::format("the findings of an earlier probe in '{}' are ignored: {}", path, why);
    return ProbeFindings();
  };
  if (error == EINVAL)
    return ignore(
        "it is no file; what this probe finds takes its place, and a folder with something in it "
        "is "
        "kept beside it with the ending .aside");
  if (error != 0) return ignore(std::strerror(error));
  // Who can write here could pass a plugin off as tried.
  if (const auto fault = distrust(folder_, geteuid())) return ignore(*fault);
  if (const auto fault = distrust(path, geteuid())) return ignore(*fault);
  const auto document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_object()) return ignore("it is no JSON object, or cut short");
  if (document.value("schema", nlohmann::json()) != kSchema) return ignore("another format");
  if (text_in(document, "file") != plugin_file || text_in(document, "key") != key) return {};
  ProbeFindings findings;
  for (const ProbePart part : {ProbePart::kLoad, ProbePart::kDevices}) {
    const auto at = document.find(std::string(name_of(part)));
    if (at == document.end()) continue;
    if (!at->is_object() || !at->contains("survived") || !(*at)["survived"].is_boolean()) {
      return ignore(fmt::format("'{}' is malformed", name_of(part)));
    }
    findings[part] = {(*at)["survived"].get<bool>(), text_in(*at, "text")};
  }
  return findings;
}

std::string ProbeCache::put(const std::string& plugin_file,
                            const std::string& key,
                            const ProbeFindings& findings) const {
  if (folder_.empty()) return "there is no cache directory (caches.directory)";
  nlohmann::ordered_json document;
  document["schema"] = kSchema;
  document["file"] = plugin_file;
  document["key"] = key;
  for (const auto& [part, finding] : findings) {
    document[std::string(name_of(part))] = {{"survived", finding.survived}, {"text", finding.text}};
  }
  const std::string text =
      document.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return fmt::format("'{}': {}", folder_, error.message());
  if (const auto fault = distrust(folder_, geteuid()))
    return fmt::format("'{}': {}", folder_, *fault);
  const std::array parts{std::as_bytes(std::span(text.data(), text.size()))};
  const std::string path = path_of(plugin_file);
  clear_of_folder(path);
  const std::string reason = write_atomically(path, parts, Existing::kReplace);
  return reason.empty() ? reason : fmt::format("'{}': {}", path, reason);
}

}  // namespace tenon::loader
