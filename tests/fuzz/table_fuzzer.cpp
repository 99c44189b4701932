// The libFuzzer target of a plugin's tables.
#include "fuzzer.hpp"
#include "table_one.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
  return tenon::fuzz::run_one(tenon::fuzz::broken_table_property, data, size_bytes);
}
