// Which architecture levels this processor runs, by its feature words and by what the OS has
// enabled.
#include "device/arch_level.hpp"

#include <array>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tenon::cpu {
namespace {

constexpr tenon_str str(std::string_view text) { return {text.data(), text.size()}; }

constexpr std::array kX86Tags{str("x86-64-v4"), str("x86-64-v3"), str("x86-64-v2"), str("x86-64")};
constexpr std::array kAarch64Tags{str("aarch64")};

constexpr std::uint32_t bit(int position) { return std::uint32_t{1} << position; }

// CPUID leaf 1.
constexpr std::uint32_t kSse3 = bit(0);
constexpr std::uint32_t kSsse3 = bit(9);
constexpr std::uint32_t kFma = bit(12);
constexpr std::uint32_t kCmpxchg16b = bit(13);
constexpr std::uint32_t kSse41 = bit(19);
constexpr std::uint32_t kSse42 = bit(20);
constexpr std::uint32_t kMovbe = bit(22);
constexpr std::uint32_t kPopcnt = bit(23);
constexpr std::uint32_t kOsXsave = bit(27);
constexpr std::uint32_t kAvx = bit(28);
constexpr std::uint32_t kF16c = bit(29);
// CPUID leaf 7, EBX.
constexpr std::uint32_t kBmi1 = bit(3);
constexpr std::uint32_t kAvx2 = bit(5);
constexpr std::uint32_t kBmi2 = bit(8);
constexpr std::uint32_t kAvx512f = bit(16);
constexpr std::uint32_t kAvx512dq = bit(17);
constexpr std::uint32_t kAvx512cd = bit(28);
constexpr std::uint32_t kAvx512bw = bit(30);
constexpr std::uint32_t kAvx512vl = bit(31);
// CPUID leaf 0x80000001, ECX.
constexpr std::uint32_t kLahf = bit(0);
constexpr std::uint32_t kLzcnt = bit(5);
// XCR0: SSE and AVX state; then the opmask, upper-ZMM and high-ZMM state.
constexpr std::uint64_t kYmmState = 0x6;
constexpr std::uint64_t kZmmState = 0xe6;

constexpr bool has(std::uint64_t word, std::uint64_t wanted) { return (word & wanted) == wanted; }

bool runs_v2(const FeatureWords& w) {
  return has(w.leaf1_ecx, kSse3 | kSsse3 | kCmpxchg16b | kSse41 | kSse42 | kPopcnt) &&
         has(w.extended1_ecx, kLahf);
}

bool runs_v3(const FeatureWords& w) {
  return runs_v2(w) && has(w.leaf1_ecx, kAvx | kFma | kF16c | kMovbe) &&
         has(w.leaf7_ebx, kAvx2 | kBmi1 | kBmi2) && has(w.extended1_ecx, kLzcnt);
}

bool runs_v4(const FeatureWords& w) {
  return runs_v3(w) && has(w.leaf7_ebx, kAvx512f | kAvx512dq | kAvx512cd | kAvx512bw | kAvx512vl);
}

ArchLevel level_of(const FeatureWords& words, bool ymm_enabled, bool zmm_enabled) {
  if (!runs_v2(words)) return ArchLevel::kX86V1;
  if (!runs_v3(words) || !ymm_enabled) return ArchLevel::kX86V2;
  return runs_v4(words) && zmm_enabled ? ArchLevel::kX86V4 : ArchLevel::kX86V3;
}

#if defined(__x86_64__)
FeatureWords read_words() {
  FeatureWords words;
  std::uint32_t eax = 0;
  std::uint32_t ebx = 0;
  std::uint32_t ecx = 0;
  std::uint32_t edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) words.leaf1_ecx = ecx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) words.leaf7_ebx = ebx;
  if (__get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) != 0) words.extended1_ecx = ecx;
  if (has(words.leaf1_ecx, kOsXsave)) {
    // XGETBV itself; the intrinsic needs a compiler flag that would let AVX into this file.
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    words.xcr0 = (static_cast<std::uint64_t>(high) << 32) | low;
  }
  return words;
}
#endif

}  // namespace

ArchDecision decide_level(const FeatureWords& words) {
  const bool os_saves = has(words.leaf1_ecx, kOsXsave);
  return {
      level_of(
          words, os_saves && has(words.xcr0, kYmmState), os_saves && has(words.xcr0, kZmmState)),
      level_of(words, true, true)};
}

std::span<const tenon_str> tags_of(ArchLevel level) {
  switch (level) {
    case ArchLevel::kX86V4:
      return std::span(kX86Tags);
    case ArchLevel::kX86V3:
      return std::span(kX86Tags).subspan(1);
    case ArchLevel::kX86V2:
      return std::span(kX86Tags).subspan(2);
    case ArchLevel::kX86V1:
      return std::span(kX86Tags).subspan(3);
    case ArchLevel::kAarch64:
      return std::span(kAarch64Tags);
  }
  return {};
}

ArchDecision host_level() {
#if defined(__x86_64__)
  return decide_level(read_words());
#elif defined(__aarch64__)
  return {ArchLevel::kAarch64, ArchLevel::kAarch64};
#else
#error "the CPU plugin knows x86-64 and aarch64"
#endif
}

}  // namespace tenon::cpu
