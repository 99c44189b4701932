// Finds libraries as ld.so(8) does: run path, /etc/ld.so.conf, the standard folders.
#include "libraries.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <glob.h>
#include <iterator>
#include <set>

namespace tenon::lint {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxConfDepth = 8;
constexpr std::size_t kMaxLibraries = 4096;

void read_conf(const std::string& path, std::vector<std::string>& folders, int depth) {
  std::ifstream file(path);
  std::string line;
  while (depth < kMaxConfDepth && std::getline(file, line)) {
    line = line.substr(0, line.find('#'));
    const auto begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos) continue;
    line = line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
    if (!line.starts_with("include")) {
      folders.push_back(line);
      continue;
    }
    const auto pattern = line.find_first_not_of(" \t", std::strlen("include"));
    if (pattern == std::string::npos) continue;
    glob_t found{};
    if (glob(line.c_str() + pattern, 0, nullptr, &found) == 0) {
      for (std::size_t i = 0; i < found.gl_pathc; ++i) {
        read_conf(found.gl_pathv[i], folders, depth + 1);
      }
    }
    globfree(&found);
  }
}

/// An entry of a run path with $ORIGIN replaced.
std::string expanded(std::string entry, const std::string& origin) {
  for (const std::string_view word : {"${ORIGIN}", "$ORIGIN"}) {
    const auto at = entry.find(word);
    if (at != std::string::npos) entry.replace(at, word.size(), origin);
  }
  return entry;
}

}  // namespace

std::optional<std::string> read_file(const std::string& path, std::string& problem) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::is_regular_file(status)) {
    problem = !fs::exists(status) ? "there is no such file" : "it is not a regular file";
    return std::nullopt;
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    problem = std::strerror(errno);
    return std::nullopt;
  }
  std::string bytes(static_cast<std::size_t>(fs::file_size(path, error)), '\0');
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
    bytes.resize(static_cast<std::size_t>(file.gcount()));
  }
  return bytes;
}

LibraryFiles::LibraryFiles() {
  read_conf("/etc/ld.so.conf", system_folders_, 0);
  for (const char* folder : {"/lib/x86_64-linux-gnu",
                             "/usr/lib/x86_64-linux-gnu",
                             "/lib/aarch64-linux-gnu",
                             "/usr/lib/aarch64-linux-gnu",
                             "/lib64",
                             "/usr/lib64",
                             "/lib",
                             "/usr/lib"}) {
    system_folders_.emplace_back(folder);
  }
}

const Image* LibraryFiles::image(const std::string& path) {
  const auto known = images_.find(path);
  if (known != images_.end()) return known->second.get();
  std::string problem;
  std::unique_ptr<Image> made;
  if (auto bytes = read_file(path, problem)) {
    if (auto parsed = Image::parse(std::move(*bytes))) {
      made = std::make_unique<Image>(std::move(*parsed));
    }
  }
  return images_.emplace(path, std::move(made)).first->second.get();
}

NeededLibrary LibraryFiles::find(const std::string& name,
                                 const std::string& asker,
                                 const std::vector<std::string>& run_path) const {
  std::error_code error;
  if (name.find('/') != std::string::npos) {
    return {name, fs::exists(name, error) ? name : std::string(), false};
  }
  const std::string origin = fs::path(asker).parent_path().string();
  for (const std::string& entry : run_path) {
    const bool bundled = entry.find("ORIGIN") != std::string::npos;
    const std::string path = expanded(entry, origin) + "/" + name;
    if (fs::exists(path, error)) return {name, fs::canonical(path, error).string(), bundled};
  }
  for (const std::string& folder : system_folders_) {
    std::string path = folder;
    path += '/';
    path += name;
    if (fs::exists(path, error)) return {name, fs::canonical(path, error).string(), false};
  }
  return {name, {}, false};
}

std::vector<NeededLibrary> LibraryFiles::needs_of(const std::string& path) {
  std::vector<NeededLibrary> found;
  std::set<std::string> names;
  std::vector<std::string> askers{path};
  for (std::size_t i = 0; i < askers.size() && found.size() < kMaxLibraries; ++i) {
    const std::string asker = askers[i];
    const Image* image = this->image(asker);
    if (image == nullptr) continue;
    for (const std::string& name : image->needed()) {
      if (!names.insert(name).second) continue;
      found.push_back(find(name, asker, image->run_path()));
      if (!found.back().path.empty()) askers.push_back(found.back().path);
    }
  }
  return found;
}

}  // namespace tenon::lint
