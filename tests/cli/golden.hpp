// Compares text with a file of tests/golden/cli.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace tenon_test {

/// The text must equal the golden file. Where it does not, what came out is written to
/// `golden-actual` of the build folder, from where it is copied once it has been read and found
/// right.
inline void check_golden(std::string_view name, const std::string& actual) {
  const std::filesystem::path path = std::filesystem::path(TENON_GOLDEN_DIR) / name;
  std::ifstream file(path, std::ios::binary);
  const std::string expected{std::istreambuf_iterator<char>(file),
                             std::istreambuf_iterator<char>()};
  if (actual != expected) {
    const std::filesystem::path folder = std::filesystem::path(TENON_GOLDEN_ACTUAL_DIR);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / name, std::ios::binary) << actual;
  }
  INFO("golden file: ", path.string());
  CHECK(actual == expected);
}

}  // namespace tenon_test
