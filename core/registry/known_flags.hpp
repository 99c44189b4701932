// Bits of a row that no ABI knows which its plugin can have been built with.
#pragma once

#include <cstdint>
#include <string>

#include "tenon/plugin.h"

namespace tenon {

/// What is wrong with the flags, layouts, reserved words and the dtype of sums of a row; empty
/// where nothing is. A plugin that was built with a newer minor than this host's may set what this
/// host ignores. From any other one an unknown bit would get a meaning that it never had, once a
/// later ABI defines it.
[[nodiscard]] std::string unknown_bits(const tenon_kernel_type& row, std::uint32_t abi_minor);
[[nodiscard]] std::string unknown_bits(const tenon_device_kind& kind, std::uint32_t abi_minor);

/// Takes out of the flags of a newer plugin's kind what this host ignores, and keeps with them that
/// its devices may have such flags, too.
void ignore_newer_bits(tenon_device_kind& kind, std::uint32_t abi_minor);
/// What is wrong with the flags that the owner of a kind describes a device with; empty where
/// nothing is, and then they are the kind's with those of the device that this host knows.
[[nodiscard]] std::string take_flags(const tenon_device_kind& kind, tenon_device& described);

}  // namespace tenon
