// The entry point of a libFuzzer target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace tenon::fuzz {

/// Ends the process where the property does not hold, which libFuzzer reports with the text.
inline int run_one(std::string (*broken_property)(std::string_view),
                   const std::uint8_t* data,
                   std::size_t size_bytes) {
  const std::string text(reinterpret_cast<const char*>(data), size_bytes);
  const std::string broken = broken_property(text);
  if (!broken.empty()) {
    std::fprintf(stderr, "property broken: %s\n", broken.c_str());
    std::abort();
  }
  return 0;
}

}  // namespace tenon::fuzz
