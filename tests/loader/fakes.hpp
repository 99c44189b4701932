// Paths of the fake plugins that the loader's tests load.
#pragma once

#include <string>

namespace tenon::test {

/// The file of one build of fakes/fake.c.
inline std::string fake(const std::string& variant, const std::string& id) {
  return std::string(TENON_LOADER_FAKES) + "/" + variant + "/" + id + ".tenon.so";
}

}  // namespace tenon::test
