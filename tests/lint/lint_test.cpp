// Each rule of tenon-plugin-lint finds its fault, says what to do, and leaves sound plugins alone.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "code.hpp"
#include "device_code.hpp"
#include "image.hpp"
#include "libraries.hpp"
#include "report.hpp"
#include "rules.hpp"

namespace tenon::lint {
namespace {

std::string linted(const std::string& name) {
  return std::string(TENON_LINTED) + "/" + name + "/" + name + ".tenon.so";
}

FileReport report_of(const std::string& name, const std::vector<std::string>& beside = {}) {
  std::vector<std::string> others;
  for (const std::string& each : beside) others.push_back(linted(each));
  auto reports = lint({linted(name)}, others);
  REQUIRE(reports.size() == 1);
  return std::move(reports.front());
}

/// The rows of a rule, as text: "failed: exports a".
std::string rows(const FileReport& report, std::string_view rule) {
  std::string text;
  for (const Finding& each : report.findings) {
    if (each.rule != rule) continue;
    text += std::string(name_of(each.verdict)) + ": " + each.text + "\n";
  }
  return text;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Failed by this rule, with this text and a hint, and by no other.
void check_failed(const std::string& name, std::string_view rule, std::string_view part) {
  const FileReport report = report_of(name);
  CAPTURE(report_text({report}));
  CHECK(report.failed());
  for (const Finding& each : report.findings) {
    if (each.verdict != Verdict::kFailed) continue;
    CHECK(each.rule == rule);
    CHECK(has(each.text, part));
  }
}

}  // namespace

TEST_SUITE("lint/rules") {
  TEST_CASE("a symbol of a library that is not here is named as one, and nothing is decided") {
    const std::string alone = std::string(TENON_LINTED) + "/alone.tenon.so";
    std::filesystem::copy_file(
        linted("ships-1"), alone, std::filesystem::copy_options::overwrite_existing);

    const auto reports = lint({alone}, {});

    REQUIRE(reports.size() == 1);
    CHECK_FALSE(reports.front().failed());
    CHECK(rows(reports.front(), "undefined-symbols") ==
          "reported: cannot tell what defines the symbol 'shipped_number': not found on this "
          "machine: libshipped.so.1\n");
    std::filesystem::remove(alone);
  }

  TEST_CASE("a sound plugin passes every rule and nothing is reported of it") {
    const FileReport report = report_of("sound");
    CAPTURE(report_text({report}));
    CHECK_FALSE(report.failed());
    CHECK(report.id == "linted");
    CHECK(report.findings.size() == 11);
    for (const Finding& each : report.findings) {
      CHECK(each.verdict == (each.rule == "library-clash" ? Verdict::kSkipped : Verdict::kPassed));
    }
  }

  TEST_CASE("a plugin without a note fails, with what the loader would say") {
    check_failed("no-note", "identity", "TENON_PLUGIN_NOTE");
  }

  TEST_CASE("D100 a second exported symbol fails, by its name") {
    check_failed("export", "exports", "linted_helper");
  }

#if defined(__GNUC__) && !defined(__clang__)
  TEST_CASE("D87 a symbol that the dynamic linker would share with other plugins fails") {
    const FileReport report = report_of("unique");
    CHECK(has(rows(report, "unique-symbols"), "failed: _ZN6linted7CountedIiE5countE"));
  }
#endif

  TEST_CASE("a symbol that no needed library defines fails, by its name") {
    check_failed(
        "undefined", "undefined-symbols", "no library that it names defines nobody_has_this");
  }

  TEST_CASE("a symbol of the host fails, with the rule that plugins link against nothing of it") {
    check_failed("host-symbol", "undefined-symbols", "asks the host for tenon_core_call");
  }

  TEST_CASE("a run path outside of $ORIGIN fails, and one below it passes") {
    check_failed("run-path", "run-path", "'/opt/acme/lib'");
    CHECK(has(rows(report_of("origin"), "run-path"), "passed: all of it below $ORIGIN"));
    CHECK(has(rows(report_of("installed"), "run-path"), "passed: all of it below $ORIGIN"));
    check_failed(
        "empty-run-path", "run-path", "an empty entry lets libraries be searched in the working");
  }

  TEST_CASE("static thread-local storage is reported, which is no failure") {
    const FileReport report = report_of("static-tls");
    CHECK_FALSE(report.failed());
    CHECK(has(rows(report, "static-tls"), "reported: 4 bytes"));
  }

  TEST_CASE("a static constructor is reported by its name") {
    const FileReport report = report_of("constructor");
    CHECK_FALSE(report.failed());
    CHECK(has(rows(report, "static-constructors"), "reported: 1 run"));
    CHECK(has(rows(report, "static-constructors"), "linted_constructor"));
  }

  TEST_CASE("device code is compared with the archs that the note lists") {
    CHECK(rows(report_of("fat-binary"), "device-code") ==
          "passed: for compute_90, sm_80, as the note says\n");
    const std::string unlisted = rows(report_of("fat-binary-unlisted"), "device-code");
    CHECK(has(unlisted, "reported: there is code for compute_90, which the note does not list"));
    CHECK(has(unlisted, "reported: the note lists sm_70, for which there is no code"));
    const std::string bundle = rows(report_of("offload-bundle"), "device-code");
    CHECK(has(bundle, "there is code for gfx90a:a, which the note does not list"));
    CHECK(has(bundle, "the note lists gfx1030, for which there is no code"));
  }

#if defined(__x86_64__)
  TEST_CASE("code that is changed while it is loaded fails") {
    check_failed("text-relocation", "text-relocations", "TEXTREL");
  }

  TEST_CASE("D98 a constructor that calls code beyond the baseline fails, also when stripped") {
    const std::string named = rows(report_of("wide-constructor"), "baseline-code");
    CHECK(has(named, "failed: the static constructor linted_constructor reaches AVX (VEX)"));
    CHECK(has(rows(report_of("wide-stripped"), "baseline-code"),
              "failed: the static constructor 0x"));
  }

  TEST_CASE("D98 init that reaches code beyond the baseline is reported: it may have asked first") {
    const FileReport report = report_of("wide-init");
    CHECK_FALSE(report.failed());
    CHECK(has(rows(report, "baseline-code"), "reported: init reaches AVX (VEX)"));
  }
#endif

  TEST_CASE("padding behind a call that does not return, at the end of a section, is no code") {
    for (const char* name : {"ctor-abort", "ctor-abort-stripped"}) {
      const FileReport report = report_of(name);
      CAPTURE(report_text({report}));
      CHECK_FALSE(report.failed());
      CHECK(has(rows(report, "baseline-code"), "passed"));
      CHECK(has(rows(report, "static-constructors"), "reported: 1 run"));
    }
  }

  TEST_CASE("two plugins that ship different libraries of one name fail, both ways round") {
    for (const auto& [name, other] : {std::pair("ships-1", "ships-2"), {"ships-2", "ships-1"}}) {
      const FileReport report = report_of(name, {other});
      CHECK(report.failed());
      CHECK(has(rows(report, "library-clash"), "failed: libshipped.so.1 is"));
    }
    CHECK_FALSE(report_of("ships-1", {"sound"}).failed());
    CHECK(has(rows(report_of("ships-1", {"sound"}), "library-clash"), "passed"));
    CHECK(has(rows(report_of("ships-1"), "library-clash"), "skipped"));
  }
}

TEST_SUITE("lint/code") {
  TEST_CASE("lengths of instructions are what the manual says") {
    struct Row {
      const char* bytes;
      std::size_t count;
      std::uint32_t size;
    };
    constexpr Row kRows[] = {
        {"\x90", 1, 1},                                            // nop
        {"\xf3\x0f\x1e\xfa", 4, 4},                                // endbr64
        {"\x48\x89\xe5", 3, 3},                                    // mov rbp, rsp
        {"\x48\x8b\x05\x01\x02\x03\x04", 7, 7},                    // mov rax, [rip + ...]
        {"\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08", 10, 10},      // movabs
        {"\x66\xb8\x01\x02", 4, 4},                                // mov ax, imm16
        {"\xc7\x84\x24\x10\x00\x00\x00\x01\x00\x00\x00", 11, 11},  // mov [rsp + 16], imm32
        {"\xf6\xc1\x01", 3, 3},                                    // test cl, 1
        {"\xf7\xd8", 2, 2},                                        // neg eax
        {"\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", 11, 11},  // a long nop
        {"\x0f\x28\x04\x25\x00\x00\x00\x00", 8, 8},                // movaps xmm0, [abs]
        {"\xe8\x10\x00\x00\x00", 5, 5},                            // call
    };
    for (const Row& row : kRows) {
      const auto made = decode_x86(std::string_view(row.bytes, row.count));
      REQUIRE(made);
      CHECK(made->size_bytes == row.size);
      CHECK_FALSE(made->beyond_baseline);
    }
    CHECK_FALSE(decode_x86("\x06"));  // push es: not in 64-bit mode
    CHECK_FALSE(decode_x86("\x48"));  // a prefix and nothing behind it
  }

  TEST_CASE("instructions of later sets are told by their place in the opcode map") {
    CHECK(decode_x86("\xc5\xfc\x58\xc1")->set == "AVX (VEX)");               // vaddps ymm
    CHECK(decode_x86("\x62\xf1\x7c\x48\x58\xc1")->set == "AVX-512 (EVEX)");  // vaddps zmm
    CHECK(decode_x86("\x66\x0f\x38\x00\xc1")->beyond_baseline);              // pshufb
    CHECK(decode_x86("\xf3\x0f\xb8\xc1")->set == "POPCNT");
    CHECK_FALSE(
        decode_x86("\xf3\x0f\xbc\xc1")->beyond_baseline);  // rep bsf, which gcc writes for all
    CHECK_FALSE(decode_x86("\xf3\x0f\x58\xc1")->beyond_baseline);  // addss
  }
}

TEST_SUITE("lint/image") {
  TEST_CASE("what is no ELF file is no image, and a cut one is read as what is left") {
    CHECK_FALSE(Image::parse(""));
    CHECK_FALSE(Image::parse("#!/bin/sh"));
    const auto reports = lint({std::string(TENON_LINTED) + "/nowhere.tenon.so"}, {});
    REQUIRE(reports.size() == 1);
    CHECK(has(rows(reports[0], "identity"), "failed: the file cannot be read"));
  }

  TEST_CASE("mutated and cut files never crash the reader or what walks over its code") {
    std::string problem;
    const auto good = read_file(linted("wide-stripped"), problem);
    REQUIRE(good);
    std::mt19937 random(20261130);
    std::size_t read = 0;
    for (int round = 0; round < 3000; ++round) {
      std::string bytes = *good;
      // Mostly in the headers, else anywhere.
      const std::size_t range = round % 2 == 0 ? 4096 : bytes.size();
      for (int edits = 1 + round % 4; edits > 0; --edits) {
        const std::size_t at = random() % range;
        const std::size_t width = std::min<std::size_t>(1U << (random() % 4), bytes.size() - at);
        const std::uint64_t value = random() % 3 == 0 ? ~std::uint64_t{0} : random();
        std::memcpy(bytes.data() + at, &value, width);
      }
      if (round % 5 == 0) bytes.resize(random() % bytes.size());
      const auto image = Image::parse(std::move(bytes));
      if (!image) continue;
      ++read;
      (void)find_device_code(*image);
      std::size_t walked = 0;
      for (const std::uint64_t entry : image->init_array()) {
        if (++walked > 8) break;
        (void)is_jump_alone(*image, entry);
        (void)find_beyond_baseline(*image, entry);
        (void)image->name_of(entry);
      }
    }
    CHECK(read > 1000);
  }
}

}  // namespace tenon::lint
