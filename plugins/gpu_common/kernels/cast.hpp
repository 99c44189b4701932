// Launches of the casts.
#pragma once

#include <cstdint>

#include "device/views.hpp"
#include "host/runtime.hpp"

namespace tenon::gpu {

/// The dtypes that casts tell apart.
enum class CastType : std::uint8_t {
  kBool,
  kU8,
  kI8,
  kI16,
  kI32,
  kI64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kE4M3,
  kE5M2
};

/// Adjacent elements, both addresses aligned to 16 bytes.
void launch_cast_vector(
    CastType from, CastType to, const void* x, void* out, std::int64_t count, Stream stream);
/// Any strides. `narrow`: every number and offset of an element fits into 31 bits.
void launch_cast_strided(CastType from,
                         CastType to,
                         const void* x,
                         void* out,
                         const Axes<2>& axes,
                         bool narrow,
                         Stream stream);

}  // namespace tenon::gpu
