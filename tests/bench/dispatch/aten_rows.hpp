// ATen's side of the dispatch benchmark, behind functions that name no type of ATen's.
#pragma once

#include <cstdint>

namespace tenon::bench {

/// False where this build has no libtorch; the functions below must not be called then.
[[nodiscard]] bool has_aten();
/// "1.13.1"
[[nodiscard]] const char* aten_version();
/// at::add_out of tensors with one float32 element, in inference mode, `count` times.
void aten_add_out(std::int64_t count);
/// at::add of the same, its result dropped at once.
void aten_add(std::int64_t count);
/// at::empty of one float32 element.
void aten_empty(std::int64_t count);

}  // namespace tenon::bench
