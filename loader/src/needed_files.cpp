// Breadth first over DT_NEEDED, with the folders that a search by the dynamic linker begins with.
#include "needed_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <sys/stat.h>

#include "tenon/loader/discovery.hpp"

namespace tenon::loader {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

void replace_all(std::string& text, std::string_view what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

/// The absolute folders of a list with colons; $ORIGIN is `origin`.
void add_folders(std::vector<std::string>& folders,
                 std::string_view list,
                 const std::string& origin) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(':'), list.size());
    std::string folder(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
    replace_all(folder, "$ORIGIN", origin);
    replace_all(folder, "${ORIGIN}", origin);
    if (folder.starts_with('/')) folders.push_back(std::move(folder));
  }
}

bool is_file(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

std::optional<std::string> found_in(const std::vector<std::string>& folders,
                                    const std::string& name) {
  if (name.find('/') != std::string::npos)
    return name.starts_with('/') && is_file(name) ? std::optional(name) : std::nullopt;
  for (const std::string& folder : folders) {
    std::string path = folder;
    path.append("/").append(name);
    if (is_file(path)) return path;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> needed_files(const std::string& plugin_path, const ElfFile& plugin) {
  std::vector<std::string> files;
  const std::string own_folder = folder_of(plugin_path);
  const char* const library_path = secure_getenv("LD_LIBRARY_PATH");
  const auto add_needs_of = [&](const std::string& path, const ElfFile& elf) {
    std::vector<std::string> folders;
    add_folders(folders, library_path == nullptr ? "" : library_path, own_folder);
    add_folders(folders, elf.run_path, folder_of(path));
    folders.push_back(own_folder);
    for (const std::string& name : elf.needed) {
      if (files.size() >= kMostNeededFiles) return;
      auto file = found_in(folders, name);
      if (file && std::find(files.begin(), files.end(), *file) == files.end())
        files.push_back(std::move(*file));
    }
  };
  add_needs_of(plugin_path, plugin);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string path = files[i];
    const Descriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    const auto elf = read_elf(descriptor.get());
    if (elf) add_needs_of(path, *elf);
  }
  return files;
}

}  // namespace tenon::loader
