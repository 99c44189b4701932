// Where the fake plugins of this build lie: fakes/VARIANT/VARIANT.tenon.so, so that each folder is
// a search path.
#pragma once

#include <string>
#include <string_view>

namespace tenon::test {

/// The folder that holds one variant and nothing else: "wrong-major". README.md lists them.
inline std::string fake_folder(std::string_view variant) {
  return std::string(TENON_FAKES_DIR) + "/" + std::string(variant);
}
/// The variant's file.
inline std::string fake_path(std::string_view variant) {
  return fake_folder(variant) + "/" + std::string(variant) + ".tenon.so";
}

}  // namespace tenon::test
