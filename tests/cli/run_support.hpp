// Runs the command inside the test and keeps what it printed.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "app.hpp"
#include "console.hpp"

namespace tenon_test {

struct Ran {
  int status = -1;
  std::string out;
  std::string err;
};

/// `tenon WORDS` with 80 columns and no colour.
inline Ran run_tenon(const std::vector<std::string>& words) {
  Ran ran;
  tenon::cli::Console console([&](std::string_view text) { ran.out += text; },
                              [&](std::string_view text) { ran.err += text; },
                              {},
                              {},
                              false);
  ran.status = tenon::cli::run_tenon(words, console);
  return ran;
}
inline Ran run_tenon(std::initializer_list<std::string_view> words) {
  return run_tenon(std::vector<std::string>(words.begin(), words.end()));
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// A folder that is gone when the test ends.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tenon-cli-XXXXXX").string();
    if (const char* made = mkdtemp(pattern.data())) path_ = made;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  /// Writes a file into it and returns its path.
  [[nodiscard]] std::string file(std::string_view name, std::string_view contents) const {
    const std::filesystem::path path = path_ / name;
    std::ofstream(path, std::ios::binary) << contents;
    return path.string();
  }
  [[nodiscard]] std::string at(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace tenon_test
