// The device kind `widget`, simulated in host memory.
#include "devices.hpp"

#include <cstdlib>
#include <cstring>

namespace acme_plugin {
namespace {

constexpr std::uint64_t kAlignmentBytes = 256;

}  // namespace

void Devices::describe(std::uint32_t /*index*/, tenon_device& out) {
  // The tags whose code the device runs, most specific first; a kernel's supported_archs are
  // compared with them. The strings are static.
  static const tenon_str kArchs[] = {tenon::to_str("v1")};
  out.arch = kArchs[0];
  out.runs_archs = kArchs;
  out.n_runs_archs = 1;
  out.unit_count = 1;
  out.warp_size = 1;
  out.memory_bytes = std::uint64_t{1} << 30U;
  out.name = tenon::to_str("simulated widget");
}

void* Devices::alloc(const tenon::DeviceFacts& /*device*/,
                     std::uint32_t /*memory_kind*/,
                     std::uint64_t size_bytes,
                     void* /*stream*/) {
  const std::uint64_t rounded = (size_bytes + kAlignmentBytes - 1) / kAlignmentBytes;
  void* memory = std::aligned_alloc(kAlignmentBytes, rounded * kAlignmentBytes);
  if (memory == nullptr) throw tenon::Failure(TENON_OUT_OF_MEMORY, "the host has no memory left");
  return memory;
}

void Devices::free(const tenon::DeviceFacts& /*device*/,
                   std::uint32_t /*memory_kind*/,
                   void* memory,
                   std::uint64_t /*size_bytes*/,
                   void* /*stream*/) {
  std::free(memory);
}

void Devices::copy(const tenon::DeviceFacts& /*dst_device*/,
                   void* dst,
                   const tenon::DeviceFacts& /*src_device*/,
                   const void* src,
                   std::uint64_t size_bytes,
                   void* /*stream*/) {
  std::memmove(dst, src, size_bytes);
}

void Devices::synchronize(const tenon::DeviceFacts& /*device*/) {}

void Devices::last_error(const tenon::DeviceFacts& /*device*/, bool /*clear*/) {}

}  // namespace acme_plugin
