// Who the plugin is, from the build: its id (also the name of its device kind), DLPack's number of
// its devices, and the arch tags that its device code was compiled for.
#pragma once

#include <array>
#include <cstdint>

namespace tenon::gpu {

/// TENON_GPU_KIND: "cuda", "hip", "hip-nvidia" or "maca".
inline constexpr auto kKind = TENON_GPU_KIND;
/// DLPack's DLDeviceType: 2 kDLCUDA, 10 kDLROCM, 12 kDLExtDev.
inline constexpr std::int32_t kDlpackType = TENON_GPU_DLPACK;
/// TENON_GPU_ARCHS: a list of texts such as "sm_90", "compute_90".
inline constexpr std::array kBuiltArchs{TENON_GPU_ARCHS};

}  // namespace tenon::gpu
