// The device kind `cpu`: one synchronous device whose memory is the host's.
#include "device/device_kind.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

#include "device/arch_level.hpp"
#include "device/host_facts.hpp"

namespace tenon::cpu {
namespace {

constexpr std::uint64_t kAlignmentBytes = 256;

// The C library keeps freed blocks of up to 1,032 bytes per thread (glibc's tcache), but takes none
// of them for an aligned request, which costs five times as much. So small memory is aligned here,
// within a block of one size for all, whose address stands before it.
constexpr std::uint64_t kSmallBytes = 512;

void* alloc_small() {
  // Nothing is still an address of its own, so that the host can tell allocations apart.
  void* const block = std::malloc(kSmallBytes + kAlignmentBytes + sizeof(void*));
  if (block == nullptr) throw Failure(TENON_OUT_OF_MEMORY, "the host has no memory left");
  const auto past_address = reinterpret_cast<std::uintptr_t>(block) + sizeof(void*);
  const std::uintptr_t at =
      (past_address + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
  void** const memory = static_cast<void**>(block) + (at - past_address) / sizeof(void*) + 1;
  memory[-1] = block;
  return memory;
}

void free_small(void* memory) {
  if (memory != nullptr) std::free(static_cast<void**>(memory)[-1]);
}

/// The processor's name. Where the OS keeps a level back that the processor has, the name says so,
/// because it stands beside the arch for which a user sees kernels refused.
std::string name_of(const ArchDecision& decision) {
  std::string name = processor_name(read_proc("/proc/cpuinfo"));
  if (name.empty()) name = "CPU";
  if (decision.without_os != decision.level) {
    name += " (" + std::string(to_view(tags_of(decision.without_os).front())) +
            " not enabled by the OS)";
  }
  return name;
}

/// Facts that do not change while the process lives.
struct FixedFacts {
  ArchDecision decision = host_level();
  std::string name = name_of(decision);
};

const FixedFacts& fixed_facts() {
  // Never destroyed: a description's strings stay valid for the process.
  static const FixedFacts* const kFacts = new FixedFacts();
  return *kFacts;
}

}  // namespace

void CpuDevices::describe(std::uint32_t index, tenon_device& out) const {
  if (index != 0) {
    throw Failure(TENON_INVALID_ARGUMENT,
                  "kind cpu has one device, index 0; asked for " + std::to_string(index));
  }
  const FixedFacts& facts = fixed_facts();
  if (facts.decision.without_os != facts.decision.level)
    host_.warn("the processor is " + facts.name);
  const std::span<const tenon_str> tags = tags_of(facts.decision.level);
  out.arch = tags.front();
  out.runs_archs = tags.data();
  out.n_runs_archs = tags.size();
  out.unit_count = usable_processors();
  out.warp_size = 1;
  out.memory_bytes = memory_now().value_or(MemoryNow{}).total_bytes;
  out.name = to_str(facts.name);
  out.pci = to_str("");
  out.uuid = to_str("");
}

void* CpuDevices::alloc(const DeviceFacts& /*device*/,
                        std::uint32_t memory_kind,
                        std::uint64_t size_bytes,
                        void* /*stream*/) {
  if (memory_kind > TENON_MEMORY_MANAGED) {
    throw Failure(TENON_INVALID_ARGUMENT,
                  "kind cpu knows no memory kind " + std::to_string(memory_kind));
  }
  if (size_bytes <= kSmallBytes) return alloc_small();
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignmentBytes, size_bytes) != 0) {
    throw Failure(TENON_OUT_OF_MEMORY,
                  "the host has no " + std::to_string(size_bytes) + " bytes of memory left");
  }
  return memory;
}

void CpuDevices::free(const DeviceFacts& /*device*/,
                      std::uint32_t /*memory_kind*/,
                      void* memory,
                      std::uint64_t size_bytes,
                      void* /*stream*/) {
  if (size_bytes <= kSmallBytes) return free_small(memory);
  std::free(memory);
}

void CpuDevices::copy(const DeviceFacts& /*dst_device*/,
                      void* dst,
                      const DeviceFacts& /*src_device*/,
                      const void* src,
                      std::uint64_t size_bytes,
                      void* /*stream*/) {
  if (size_bytes != 0) std::memmove(dst, src, size_bytes);
}

void CpuDevices::fill(const DeviceFacts& /*device*/,
                      void* dst,
                      std::uint8_t value,
                      std::uint64_t size_bytes,
                      void* /*stream*/) {
  if (size_bytes != 0) std::memset(dst, value, size_bytes);
}

MemoryInfo CpuDevices::mem_info(const DeviceFacts& /*device*/) {
  const auto now = memory_now();
  if (!now) throw Failure(TENON_UNAVAILABLE, "/proc/meminfo gives no MemTotal and MemAvailable");
  return {now->free_bytes, now->total_bytes};
}

}  // namespace tenon::cpu
