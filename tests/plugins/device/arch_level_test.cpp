// Architecture levels from injected feature words.
#include "device/arch_level.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace tenon::cpu {
namespace {

// The words of a processor with AVX-512 and of its operating system, bits written out as the
// manuals number them.
constexpr std::uint32_t kLeaf1V2 = 1U << 0 | 1U << 9 | 1U << 13 | 1U << 19 | 1U << 20 | 1U << 23;
constexpr std::uint32_t kLeaf1V3 = kLeaf1V2 | 1U << 12 | 1U << 22 | 1U << 27 | 1U << 28 | 1U << 29;
constexpr std::uint32_t kLeaf7V3 = 1U << 3 | 1U << 5 | 1U << 8;
constexpr std::uint32_t kLeaf7V4 = kLeaf7V3 | 1U << 16 | 1U << 17 | 1U << 28 | 1U << 30 | 1U << 31;
constexpr std::uint32_t kExtendedV3 = 1U << 0 | 1U << 5;
constexpr std::uint64_t kXmmState = 0x3;
constexpr std::uint64_t kYmmState = 0x7;
constexpr std::uint64_t kZmmState = 0xe7;

constexpr FeatureWords kV4{kLeaf1V3, kLeaf7V4, kExtendedV3, kZmmState};

std::vector<std::string> tags(ArchLevel level) {
  std::vector<std::string> out;
  for (const tenon_str& tag : tags_of(level)) out.emplace_back(tag.data, tag.size_bytes);
  return out;
}

TEST_SUITE("plugins/cpu/arch_level") {
  TEST_CASE("a processor whose wide state is enabled reaches its own level") {
    CHECK(decide_level(kV4).level == ArchLevel::kX86V4);
    CHECK(decide_level(kV4).without_os == ArchLevel::kX86V4);

    FeatureWords v3 = kV4;
    v3.leaf7_ebx = kLeaf7V3;
    CHECK(decide_level(v3).level == ArchLevel::kX86V3);
    CHECK(decide_level(v3).without_os == ArchLevel::kX86V3);

    const FeatureWords v2{kLeaf1V2, 0, 1U << 0, 0};
    CHECK(decide_level(v2).level == ArchLevel::kX86V2);
    CHECK(decide_level(FeatureWords{}).level == ArchLevel::kX86V1);
  }

  TEST_CASE("D97: AVX2 that the OS has not enabled gives the baseline level and is told apart") {
    FeatureWords words = kV4;

    SUBCASE("no OSXSAVE, so XCR0 cannot be read") {
      words.leaf1_ecx &= ~(1U << 27);
      words.xcr0 = 0;
    }
    SUBCASE("OSXSAVE without any state in XCR0") { words.xcr0 = 0; }
    SUBCASE("only the XMM state") { words.xcr0 = kXmmState; }
    SUBCASE("the YMM bit without the XMM bit") { words.xcr0 = 0x4; }
    const ArchDecision decision = decide_level(words);

    CHECK(decision.level == ArchLevel::kX86V2);
    CHECK(decision.without_os == ArchLevel::kX86V4);
  }

  TEST_CASE("D97: AVX-512 with only the YMM state enabled gives the AVX2 level") {
    FeatureWords words = kV4;
    words.xcr0 = kYmmState;

    const ArchDecision decision = decide_level(words);

    CHECK(decision.level == ArchLevel::kX86V3);
    CHECK(decision.without_os == ArchLevel::kX86V4);
  }

  TEST_CASE("each part of the AVX-512 state is needed") {
    for (const int missing : {5, 6, 7}) {
      CAPTURE(missing);
      FeatureWords words = kV4;
      words.xcr0 &= ~(std::uint64_t{1} << missing);
      CHECK(decide_level(words).level == ArchLevel::kX86V3);
    }
  }

  TEST_CASE("each feature of a level is needed") {
    for (const int bit : {0, 9, 13, 19, 20, 23}) {
      CAPTURE(bit);
      FeatureWords words = kV4;
      words.leaf1_ecx &= ~(1U << bit);
      CHECK(decide_level(words).level == ArchLevel::kX86V1);
    }
    for (const int bit : {12, 22, 28, 29}) {
      CAPTURE(bit);
      FeatureWords words = kV4;
      words.leaf1_ecx &= ~(1U << bit);
      CHECK(decide_level(words).level == ArchLevel::kX86V2);
    }
    for (const int bit : {3, 5, 8}) {
      CAPTURE(bit);
      FeatureWords words = kV4;
      words.leaf7_ebx &= ~(1U << bit);
      CHECK(decide_level(words).level == ArchLevel::kX86V2);
    }
    for (const int bit : {16, 17, 28, 30, 31}) {
      CAPTURE(bit);
      FeatureWords words = kV4;
      words.leaf7_ebx &= ~(1U << bit);
      CHECK(decide_level(words).level == ArchLevel::kX86V3);
    }
    FeatureWords no_lahf = kV4;
    no_lahf.extended1_ecx &= ~(1U << 0);
    CHECK(decide_level(no_lahf).level == ArchLevel::kX86V1);
    FeatureWords no_lzcnt = kV4;
    no_lzcnt.extended1_ecx &= ~(1U << 5);
    CHECK(decide_level(no_lzcnt).level == ArchLevel::kX86V2);
  }

  TEST_CASE("tags run from the most specific to the baseline") {
    CHECK(tags(ArchLevel::kX86V4) ==
          std::vector<std::string>{"x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64"});
    CHECK(tags(ArchLevel::kX86V3) == std::vector<std::string>{"x86-64-v3", "x86-64-v2", "x86-64"});
    CHECK(tags(ArchLevel::kX86V2) == std::vector<std::string>{"x86-64-v2", "x86-64"});
    CHECK(tags(ArchLevel::kX86V1) == std::vector<std::string>{"x86-64"});
    CHECK(tags(ArchLevel::kAarch64) == std::vector<std::string>{"aarch64"});
  }

#if defined(__x86_64__)
  TEST_CASE("the host's level agrees with what the compiler's own run-time check says of it") {
    __builtin_cpu_init();
    const ArchLevel level = host_level().level;
    CHECK((level >= ArchLevel::kX86V3) ==
          (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")));
    CHECK((level >= ArchLevel::kX86V4) ==
          (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512cd")));
  }
#endif
}

}  // namespace
}  // namespace tenon::cpu
