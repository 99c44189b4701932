// Bits of a row that no ABI knows which its plugin can have been built with.
#pragma once

#include <cstdint>
#include <string>

#include "tenon/plugin.h"

namespace tenon {

/// What is wrong with the flags, layouts and reserved words of a row; empty where nothing is. A
/// plugin that was built with a newer minor than this host's may set what this host ignores. From
/// any other one an unknown bit would get a meaning that it never had, once a later ABI defines it.
[[nodiscard]] std::string unknown_bits(const tenon_kernel_type& row, std::uint32_t abi_minor);
[[nodiscard]] std::string unknown_bits(const tenon_device_kind& kind, std::uint32_t abi_minor);

}  // namespace tenon
