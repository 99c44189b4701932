// The bits that this host's ABI defines.
#include "registry/known_flags.hpp"

#include <cstdio>

#include "tenon/core/dtype.hpp"

namespace tenon {
namespace {

constexpr std::uint64_t kKernelFlags = TENON_KERNEL_GENERAL | TENON_KERNEL_REFERENCE |
                                       TENON_KERNEL_HANDLES_PADDING | TENON_KERNEL_DETERMINISTIC |
                                       TENON_KERNEL_CAPTURE_SAFE | TENON_KERNEL_SEQUENTIAL_SUMS;
constexpr std::uint64_t kDeviceFlags =
    TENON_DEVICE_FLAG_SYNCHRONOUS | TENON_DEVICE_FLAG_LOST | TENON_DEVICE_FLAG_HOST_MEMORY;
// The host's own mark in the flags of an accepted kind; no device has it.
constexpr std::uint32_t kOwnerIsNewer = std::uint32_t{1} << 31;
static_assert((kDeviceFlags & kOwnerIsNewer) == 0);

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

std::string sums_fault(tenon_dtype sums) {
  if (sums.bits == 0 || dtype_from_abi(sums)) return {};
  char text[192];
  (void)std::snprintf(text,
                      sizeof text,
                      "accumulate is {code %u, bits %u, lanes %u}, which is no dtype of ABI %u.%u; "
                      "expected one of TENON_DTYPE_* with its bits, or bits 0 for none",
                      unsigned{sums.code},
                      unsigned{sums.bits},
                      unsigned{sums.lanes},
                      TENON_ABI_MAJOR,
                      TENON_ABI_MINOR);
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
  if (found.empty()) found = sums_fault(row.accumulate);
  return found;
}

std::string unknown_bits(const tenon_device_kind& kind, std::uint32_t abi_minor) {
  if (may_be_newer(abi_minor)) return {};
  return fault("flags", kind.flags, kDeviceFlags, "bits of TENON_DEVICE_FLAG_*");
}

void ignore_newer_bits(tenon_device_kind& kind, std::uint32_t abi_minor) {
  kind.flags &= static_cast<std::uint32_t>(kDeviceFlags);
  if (may_be_newer(abi_minor)) kind.flags |= kOwnerIsNewer;
}

std::string take_flags(const tenon_device_kind& kind, tenon_device& described) {
  if ((kind.flags & kOwnerIsNewer) == 0) {
    std::string found =
        fault("flags", described.flags, kDeviceFlags, "bits of TENON_DEVICE_FLAG_*");
    if (!found.empty()) return found;
  }
  described.flags = (described.flags | kind.flags) & kDeviceFlags;
  return {};
}

}  // namespace tenon
