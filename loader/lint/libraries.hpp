// Where the dynamic linker would find the libraries that a file asks for; loads and runs nothing.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "image.hpp"

namespace tenon::lint {

/// A library that a plugin gets, by the name that it was asked for under.
struct NeededLibrary {
  std::string name;
  std::string path;      ///< empty: not found here
  bool bundled = false;  ///< found through $ORIGIN: it is shipped with the plugin
};

/// Files that were read, each once.
class LibraryFiles {
 public:
  LibraryFiles();

  /// The whole file; nothing where it cannot be read or is no ELF file.
  const Image* image(const std::string& path);
  /// What `path` and what it asks for ask for, in the dynamic linker's order, each name once. The
  /// environment of this process is not looked at.
  std::vector<NeededLibrary> needs_of(const std::string& path);

 private:
  [[nodiscard]] NeededLibrary find(const std::string& name,
                                   const std::string& asker,
                                   const std::vector<std::string>& run_path) const;

  std::vector<std::string> system_folders_;
  std::map<std::string, std::unique_ptr<Image>> images_;  ///< null: no ELF file
};

/// The bytes of a regular file. Nothing: `problem` says why.
[[nodiscard]] std::optional<std::string> read_file(const std::string& path, std::string& problem);

}  // namespace tenon::lint
