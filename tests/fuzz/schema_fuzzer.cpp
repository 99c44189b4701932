// The libFuzzer target of the schema parser.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "schema_one.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
  const std::string text(reinterpret_cast<const char*>(data), size_bytes);
  const std::string broken = tenon::fuzz::broken_schema_property(text);
  if (!broken.empty()) {
    std::fprintf(stderr, "property broken: %s\n", broken.c_str());
    std::abort();
  }
  return 0;
}
