// The identity note, read from finished plugin files as a host reads it: before anything is mapped.
#include <cstring>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/fakes.hpp"
#include "tenon/plugin.h"

namespace {

struct ReadNote {
  bool found = false;
  tenon_note fixed{};
  std::string id, version, archs, depends;
};

/// Finds the note through the program headers, as the section table may be stripped.
ReadNote read_note(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  ReadNote note;
  Elf64_Ehdr header{};
  if (file.size() < sizeof(header)) return note;
  std::memcpy(&header, file.data(), sizeof(header));
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    REQUIRE(header.e_phoff + (i + 1) * sizeof(segment) <= file.size());
    std::memcpy(&segment, file.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
    if (segment.p_type != PT_NOTE || segment.p_align > 4) continue;
    std::uint64_t at = segment.p_offset;
    const std::uint64_t end = segment.p_offset + segment.p_filesz;
    REQUIRE(end <= file.size());
    while (at + sizeof(Elf64_Nhdr) <= end) {
      Elf64_Nhdr one{};
      std::memcpy(&one, file.data() + at, sizeof(one));
      const std::uint64_t owner_at = at + sizeof(one);
      const std::uint64_t desc_at = owner_at + (one.n_namesz + 3) / 4 * 4;
      if (one.n_namesz == 6 && file.compare(owner_at, 5, TENON_NOTE_OWNER) == 0) {
        REQUIRE(desc_at - at == TENON_NOTE_HEADER_BYTES);
        REQUIRE(desc_at + one.n_descsz <= end);
        std::memcpy(&note.fixed, file.data() + at, sizeof(note.fixed));
        const char* text = file.data() + at + sizeof(note.fixed);
        const auto take = [&text](std::uint32_t size_bytes) {
          REQUIRE(size_bytes >= 1);
          REQUIRE(text[size_bytes - 1] == '\0');
          std::string taken(text, size_bytes - 1);
          text += size_bytes;
          return taken;
        };
        note.id = take(note.fixed.id_size_bytes);
        note.version = take(note.fixed.version_size_bytes);
        note.archs = take(note.fixed.archs_size_bytes);
        note.depends = take(note.fixed.depends_size_bytes);
        REQUIRE(text <= file.data() + desc_at + one.n_descsz);
        note.found = true;
      }
      at = desc_at + (one.n_descsz + 3) / 4 * 4;
    }
  }
  return note;
}

}  // namespace

TEST_SUITE("abi/note") {
  TEST_CASE("a C plugin's note survives --gc-sections and strip") {
    const ReadNote note = read_note(TENON_STRIPPED_C_PLUGIN);

    REQUIRE(note.found);
    CHECK(note.fixed.type == TENON_NOTE_TYPE);
    CHECK(note.fixed.note_version == TENON_NOTE_VERSION);
    CHECK(note.fixed.abi_major == TENON_ABI_MAJOR);
    CHECK(note.fixed.abi_minor == TENON_ABI_MINOR);
    CHECK(note.fixed.min_host_minor == TENON_TARGET_MINOR);
    CHECK(note.id == "alone");
    CHECK(note.version == "1.0.0");
    CHECK(note.archs.empty());
    CHECK(note.depends.empty());
  }

  TEST_CASE("a C++ plugin's note carries its lists, one item a line") {
    const ReadNote note = read_note(TENON_CPP_PLUGIN);

    REQUIRE(note.found);
    CHECK(note.archs == "a2\na3");
    CHECK(note.depends == "/proc/driver/acme/version");
  }

  TEST_CASE("an SDK plugin's note is written by TENON_PLUGIN, with the header's hash") {
    const ReadNote note = read_note(tenon::test::fake_path("fake"));

    REQUIRE(note.found);
    CHECK(note.id == "fake");
    CHECK(note.version == "1.0.0");
    CHECK((note.fixed.header_hash[0] | note.fixed.header_hash[1]) != 0);
  }

  TEST_CASE("the note names the sanitizer that the plugin was built with") {
#if defined(__SANITIZE_ADDRESS__)
    constexpr std::uint32_t expected = TENON_SANITIZER_ADDRESS;
#elif defined(__SANITIZE_THREAD__)
    constexpr std::uint32_t expected = TENON_SANITIZER_THREAD;
#else
    constexpr std::uint32_t expected = TENON_SANITIZER_NONE;
#endif
    CHECK(read_note(tenon::test::fake_path("good")).fixed.sanitizer == expected);
  }

  TEST_CASE("a plugin for an older host of the same major says so in its note") {
    const ReadNote note = read_note(tenon::test::fake_path("v1-minor3-target1"));

    REQUIRE(note.found);
    CHECK(note.fixed.abi_major == 1);
    CHECK(note.fixed.abi_minor == 3);
    CHECK(note.fixed.min_host_minor == 1);
  }

  TEST_CASE("a file without the macro has no note") {
    CHECK_FALSE(read_note(tenon::test::fake_path("no-note")).found);
  }
}
