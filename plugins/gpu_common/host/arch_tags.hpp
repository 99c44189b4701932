// The arch tags of a device: every tag whose code runs there, the most specific first.
#pragma once

#include <string>
#include <vector>

namespace tenon::gpu {

/// Of a device that runs NVIDIA's code, by its compute capability: "sm_90a", "sm_90",
/// "compute_90a", "compute_90", "compute_89", ...; an 8.6 card runs "sm_86" and "sm_80".
[[nodiscard]] std::vector<std::string> nvidia_arch_tags(int major, int minor);

/// Of an AMD device, by the runtime's name for it: "gfx90a:sramecc+:xnack-", then "gfx90a".
[[nodiscard]] std::vector<std::string> amd_arch_tags(const std::string& name);

}  // namespace tenon::gpu
