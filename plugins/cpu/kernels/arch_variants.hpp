// One source, compiled for several architecture levels, and the choice between them when a kernel
// is built.
#pragma once

#include <cstdint>

#include "tenon/plugin.hpp"

// A function so marked may hold code of that level. What it calls must inline into it
// (gnu::always_inline): an ordinary inline function would be compiled for one level and shared by
// all.
#if defined(__x86_64__)
#define TENON_CPU_TARGET_V3 [[gnu::target("arch=x86-64-v3")]]
#define TENON_CPU_TARGET_V4 [[gnu::target("arch=x86-64-v4,prefer-vector-width=512")]]
#else
#define TENON_CPU_TARGET_V3
#define TENON_CPU_TARGET_V4
#endif

namespace tenon::cpu {

/// Which of the compiled forms of a kernel runs on a device.
enum class Variant : std::uint8_t { kBaseline, kV3, kV4 };

/// By the tags that the device's owner reports, never by asking the processor here: a device is
/// what its owner says it is. Pure.
[[nodiscard]] inline Variant variant_for(const DeviceFacts& device) {
  if (device.runs("x86-64-v4")) return Variant::kV4;
  if (device.runs("x86-64-v3")) return Variant::kV3;
  return Variant::kBaseline;
}

/// Calls the function of a variant.
template <class Arguments>
void run_variant(Variant variant,
                 void (*baseline)(const Arguments&),
                 void (*v3)(const Arguments&),
                 void (*v4)(const Arguments&),
                 const Arguments& arguments) {
  switch (variant) {
    case Variant::kV4:
      return v4(arguments);
    case Variant::kV3:
      return v3(arguments);
    case Variant::kBaseline:
      return baseline(arguments);
  }
}

}  // namespace tenon::cpu
