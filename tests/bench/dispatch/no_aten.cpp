// Stands for aten_rows.cpp in a build without libtorch.
#include "aten_rows.hpp"

namespace tenon::bench {

bool has_aten() { return false; }
const char* aten_version() { return "absent"; }
void aten_add_out(std::int64_t) {}
void aten_add(std::int64_t) {}
void aten_empty(std::int64_t) {}

}  // namespace tenon::bench
