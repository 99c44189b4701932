// The libFuzzer target of plugin files.
#include "fuzzer.hpp"
#include "note_one.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
  return tenon::fuzz::run_one(tenon::fuzz::broken_note_property, data, size_bytes);
}
