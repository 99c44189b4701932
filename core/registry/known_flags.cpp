// The bits that this host's ABI defines.
#include "registry/known_flags.hpp"

#include <cstdio>

namespace tenon {
namespace {

constexpr std::uint64_t kKernelFlags = TENON_KERNEL_GENERAL | TENON_KERNEL_REFERENCE |
                                       TENON_KERNEL_HANDLES_PADDING | TENON_KERNEL_DETERMINISTIC |
                                       TENON_KERNEL_CAPTURE_SAFE | TENON_KERNEL_SEQUENTIAL_SUMS;
constexpr std::uint64_t kDeviceFlags =
    TENON_DEVICE_FLAG_SYNCHRONOUS | TENON_DEVICE_FLAG_LOST | TENON_DEVICE_FLAG_HOST_MEMORY;

std::string fault(const char* field, std::uint64_t found, std::uint64_t known, const char* names) {
  if ((found & ~known) == 0) return {};
  char text[160];
  (void)std::snprintf(text,
                      sizeof text,
                      "%s is %#llx, of which ABI %u.%u does not know %#llx; expected %s",
                      field,
                      static_cast<unsigned long long>(found),
                      TENON_ABI_MAJOR,
                      TENON_ABI_MINOR,
                      static_cast<unsigned long long>(found & ~known),
                      names);
  return text;
}

bool may_be_newer(std::uint32_t abi_minor) { return abi_minor > TENON_ABI_MINOR; }

}  // namespace

std::string unknown_bits(const tenon_kernel_type& row, std::uint32_t abi_minor) {
  if (may_be_newer(abi_minor)) return {};
  std::string found = fault("flags", row.flags, kKernelFlags, "bits of TENON_KERNEL_*");
  if (found.empty())
    found =
        fault("layouts", row.layouts, TENON_LAYOUTS_ALL, "TENON_LAYOUT_BIT() of TENON_LAYOUT_*");
  if (found.empty()) found = fault("reserved", row.reserved, 0, "0");
  return found;
}

std::string unknown_bits(const tenon_device_kind& kind, std::uint32_t abi_minor) {
  if (may_be_newer(abi_minor)) return {};
  return fault("flags", kind.flags, kDeviceFlags, "bits of TENON_DEVICE_FLAG_*");
}

}  // namespace tenon
