// Which architecture levels this processor runs, by its feature words and by what the OS has
// enabled.
#pragma once

#include <cstdint>
#include <span>

#include <tenon/plugin.h>

namespace tenon::cpu {

/// Levels of the x86-64 psABI, and the one level of aarch64.
enum class ArchLevel : std::uint8_t { kX86V1, kX86V2, kX86V3, kX86V4, kAarch64 };

/// The words that decide an x86-64 level, so that a test can inject them.
/// Source   x86-64 psABI, section 3.1.1 (microarchitecture levels); Intel SDM volume 2, CPUID and
/// XGETBV.
struct FeatureWords {
  std::uint32_t leaf1_ecx = 0;
  std::uint32_t leaf7_ebx = 0;
  std::uint32_t extended1_ecx = 0;
  std::uint64_t xcr0 = 0;  ///< 0 where OSXSAVE is not set
};

struct ArchDecision {
  ArchLevel level = ArchLevel::kX86V1;
  /// The level that the processor alone would reach; above `level` where the OS has not enabled its
  /// state.
  ArchLevel without_os = ArchLevel::kX86V1;
};

/// Pure.
[[nodiscard]] ArchDecision decide_level(const FeatureWords& words);

/// Every tag whose code runs at a level, most specific first. Static.
[[nodiscard]] std::span<const tenon_str> tags_of(ArchLevel level);

/// The decision for the processor that this runs on.
[[nodiscard]] ArchDecision host_level();

}  // namespace tenon::cpu
