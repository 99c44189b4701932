// For which architectures a plugin carries device code, read from the sections that compilers make.
#pragma once

#include <string>
#include <vector>

#include "image.hpp"

namespace tenon::lint {

/// What was found of device code.
struct DeviceCode {
  std::vector<std::string> archs;  ///< tags as plugins declare them, sorted, each once
  bool compressed = false;         ///< some of it could not be looked into
};

[[nodiscard]] DeviceCode find_device_code(const Image& image);

}  // namespace tenon::lint
