// The libFuzzer target of the schema parser.
#include "fuzzer.hpp"
#include "schema_one.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
  return tenon::fuzz::run_one(tenon::fuzz::broken_schema_property, data, size_bytes);
}
