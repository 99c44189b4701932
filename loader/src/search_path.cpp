// Where plugins are looked for: the places by precedence, and whether a place can be trusted.
#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <sys/stat.h>
#include <system_error>

#include <fmt/format.h>

#include "tenon/loader/discovery.hpp"
#include "tenon/plugin.h"

namespace tenon::loader {
namespace {

constexpr const char* kPathVariable = "TENON_PLUGIN_PATH";
constexpr const char* kPathAddVariable = "TENON_PLUGIN_PATH_ADD";

void add_list(std::vector<NamedPath>& places, const std::string& list, const char* from) {
  std::size_t start = 0;
  while (start <= list.size()) {
    const std::size_t end = std::min(list.find(':', start), list.size());
    // An empty element means the working folder to a shell; never here.
    if (end > start) places.push_back({list.substr(start, end - start), from, true});
    start = end + 1;
  }
}

void add_folder(std::vector<NamedPath>& places, const std::string& folder, const char* from) {
  if (!folder.empty()) places.push_back({folder, from});
}

}  // namespace

void DiscoveryOptions::use_standard_folders(const Environment& environment) {
  if (auto data = environment.get("XDG_DATA_HOME"); data && data->front() == '/') {
    user_folder = *data + "/tenon/plugins";
  } else if (auto home = environment.get("HOME"); home && home->front() == '/') {
    user_folder = *home + "/.local/share/tenon/plugins";
  }
  system_folder = TENON_SYSTEM_PLUGIN_DIR;
  core_folder = core_library_folder();
  // An installation may have been moved: its plugins lie where they lay beside the executable or
  // library.
  const std::filesystem::path moved =
      std::filesystem::path(core_folder) / TENON_PLUGIN_DIR_FROM_CORE;
  std::error_code error;
  const auto there = std::filesystem::canonical(moved, error);
  if (!error && !core_folder.empty()) install_folder = there.string();
}

std::vector<NamedPath> search_path(const DiscoveryOptions& options,
                                   const Environment& environment,
                                   std::vector<LogLine>* log) {
  std::vector<NamedPath> places = options.explicit_paths;
  for (NamedPath& place : places) place.asked_for = true;
  for (const char* name : {kPathVariable, kPathAddVariable}) {
    if (log != nullptr && environment.ignored(name)) {
      log->push_back({TENON_LOG_WARN,
                      fmt::format("{} is ignored: the process runs with raised privileges, so only "
                                  "the system's plugin folders are searched",
                                  name)});
    }
  }
  const auto replaced = environment.get(kPathVariable);
  if (replaced) add_list(places, *replaced, kPathVariable);
  if (auto added = environment.get(kPathAddVariable)) add_list(places, *added, kPathAddVariable);
  if (!replaced) {
    if (!environment.secure()) {
      places.insert(places.end(), options.configured_paths.begin(), options.configured_paths.end());
      add_folder(places, options.user_folder, "user folder");
    } else if (log != nullptr && !options.configured_paths.empty()) {
      log->push_back({TENON_LOG_WARN,
                      fmt::format("plugins.paths ({}) is ignored: the process runs with raised "
                                  "privileges",
                                  options.configured_paths.front().from)});
    }
    add_folder(places, options.system_folder, "system folder");
    if (options.install_folder != options.system_folder)
      add_folder(places, options.install_folder, "installation folder");
    add_folder(places, options.core_folder, "core folder");
  }
  return places;
}

std::optional<FileIdentity> identify(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return std::nullopt;
  return FileIdentity{facts.st_dev,
                      facts.st_ino,
                      static_cast<std::uint64_t>(facts.st_size),
                      std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec};
}

std::optional<std::string> distrust(const std::string& path, uid_t user) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return std::nullopt;  // who opens it says why it cannot be
  const bool sticky_folder = S_ISDIR(facts.st_mode) && (facts.st_mode & S_ISVTX) != 0;
  if ((facts.st_mode & S_IWOTH) != 0 && !sticky_folder) {
    return fmt::format(
        "{} '{}' can be written by everybody (mode {:04o}); take that away: chmod o-w",
        S_ISDIR(facts.st_mode) ? "folder" : "file",
        path,
        facts.st_mode & 07777u);
  }
  if (facts.st_uid != 0 && facts.st_uid != user) {
    return fmt::format("{} '{}' belongs to user {}, {}; give it to {}: chown",
                       S_ISDIR(facts.st_mode) ? "folder" : "file",
                       path,
                       facts.st_uid,
                       user == 0
                           ? std::string("not to root, who runs this")
                           : fmt::format("neither to root nor to user {}, who runs this", user),
                       user == 0 ? "root" : "one of them");
  }
  return std::nullopt;
}

std::string core_library_folder() {
  struct Search {
    std::uintptr_t address;
    std::string path;
  } search{reinterpret_cast<std::uintptr_t>(&core_library_folder), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          const std::uintptr_t start = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type != PT_LOAD || wanted.address < start ||
              wanted.address - start >= segment.p_memsz) {
            continue;
          }
          // The executable itself has no name here: the core is linked statically into it.
          wanted.path = *info->dlpi_name == '\0' ? "/proc/self/exe" : info->dlpi_name;
          return 1;
        }
        return 0;
      },
      &search);
  std::error_code error;
  const auto canonical = std::filesystem::canonical(search.path, error);
  return error ? std::string() : canonical.parent_path().string();
}

}  // namespace tenon::loader
