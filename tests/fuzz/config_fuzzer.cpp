// The libFuzzer target of the configuration.
#include "config_one.hpp"
#include "fuzzer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
  return tenon::fuzz::run_one(tenon::fuzz::broken_config_property, data, size_bytes);
}
