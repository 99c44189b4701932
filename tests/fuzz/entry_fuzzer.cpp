// The libFuzzer target of manifest entries.
#include "entry_one.hpp"
#include "fuzzer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
  return tenon::fuzz::run_one(tenon::fuzz::broken_entry_property, data, size_bytes);
}
