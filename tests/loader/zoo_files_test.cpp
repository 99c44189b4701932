// The zoo of bad plugins, third part: files that are no plugin, damaged ones, and twins.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "zoo/beside_good.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using test::Expected;
using test::fake_path;

std::string good_bytes() { return test::read_file(fake_path("good")); }

/// Where the note's descriptor begins in a plugin's bytes.
std::size_t note_at(const std::string& bytes) {
  const std::size_t owner = bytes.find(std::string_view("\1\0\0\0TENON\0\0\0", 12));
  REQUIRE(owner != std::string::npos);
  return owner + 12;
}

std::string with_word(std::string bytes, std::size_t at, std::uint32_t value) {
  REQUIRE(at + sizeof value <= bytes.size());
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}
std::string with_note_word(std::size_t index, std::uint32_t value) {
  const std::string bytes = good_bytes();
  return with_word(bytes, note_at(bytes) + 4 * index, value);
}
std::string with_byte(std::size_t at, char value) {
  std::string bytes = good_bytes();
  bytes.at(at) = value;
  return bytes;
}

struct Case {
  const char* name;
  PluginStage stage;
  tenon_status code;
  const char* part;                   // of the reason
  std::function<std::string()> make;  // the file's bytes
};

const Case kFiles[] = {
    {"empty", PluginStage::kNote, TENON_INVALID_ARGUMENT, "the file is empty", [] { return ""; }},
    {"text",
     PluginStage::kNote,
     TENON_INVALID_ARGUMENT,
     "ELF magic number",
     [] { return "#!/bin/sh\n"; }},
    {"truncated-header",
     PluginStage::kNote,
     TENON_INVALID_ARGUMENT,
     "truncated ELF file",
     [] { return good_bytes().substr(0, 40); }},
    {"truncated-segments",
     PluginStage::kNote,
     TENON_INVALID_ARGUMENT,
     "truncated ELF file",
     [] { return good_bytes().substr(0, 4096); }},
    {"class-32",
     PluginStage::kNote,
     TENON_INCOMPATIBLE,
     "wrong ELF class: 32-bit",
     [] { return with_byte(4, 1); }},
    {"big-endian",
     PluginStage::kNote,
     TENON_INCOMPATIBLE,
     "wrong byte order",
     [] { return with_byte(5, 2); }},
    {"machine-riscv",
     PluginStage::kNote,
     TENON_INCOMPATIBLE,
     "RISC-V (243)",
     [] { return with_byte(18, static_cast<char>(243)); }},
    {"executable",
     PluginStage::kNote,
     TENON_INVALID_ARGUMENT,
     "an ELF file of type 2",
     [] { return with_byte(16, 2); }},
    {"headers-outside",
     PluginStage::kNote,
     TENON_INVALID_ARGUMENT,
     "program headers",
     [] { return with_word(good_bytes(), 36, 0x7fffffffu); }},
    {"no-headers",
     PluginStage::kNote,
     TENON_INVALID_ARGUMENT,
     "0 program headers",
     [] { return with_byte(56, 0); }},
    {"note-version-0",
     PluginStage::kNote,
     TENON_INVALID_ARGUMENT,
     "its version is 0",
     [] { return with_note_word(0, 0); }},
    {"note-major",
     PluginStage::kNote,
     TENON_INCOMPATIBLE,
     "ABI 9.",
     [] { return with_note_word(1, 9); }},
    {"note-minor",
     PluginStage::kNote,
     TENON_INCOMPATIBLE,
     "needs ABI 0.77",
     [] { return with_note_word(2, 77); }},
    {"note-sanitizer",
     PluginStage::kNote,
     TENON_INCOMPATIBLE,
     "MemorySanitizer",
     [] { return with_note_word(4, 3); }},
    {"note-text-huge",
     PluginStage::kNote,
     TENON_INVALID_ARGUMENT,
     "malformed TENON note: text 0",
     [] { return with_note_word(7, 0xfffffff0u); }},
    {"note-text-unended",
     PluginStage::kNote,
     TENON_INVALID_ARGUMENT,
     "does not end with a zero",
     [] { return with_note_word(7, 2); }},
    {"note-text-empty",
     PluginStage::kNote,
     TENON_INVALID_ARGUMENT,
     "malformed TENON note: text 1",
     [] { return with_note_word(8, 0); }},
    {"note-id-upper",
     PluginStage::kNote,
     TENON_INVALID_ARGUMENT,
     "'Good' is not of the form",
     [] {
       std::string bytes = good_bytes();
       bytes[note_at(bytes) + 44] = 'G';
       return bytes;
     }},
    {"note-id-bytes",
     PluginStage::kNote,
     TENON_INVALID_ARGUMENT,
     "text 0 is not UTF-8",
     [] {
       std::string bytes = good_bytes();
       bytes[note_at(bytes) + 44] = '\xff';
       return bytes;
     }},
};

/// zoo/KIND-1/KIND-1.tenon.so
std::string twin(const std::string& name) {
  return std::string(TENON_ZOO) + "/" + name + "/" + name + ".tenon.so";
}

}  // namespace

TEST_SUITE("loader/zoo") {
  TEST_CASE("a damaged file is refused by its bytes, and the good one beside it computes") {
    const test::TempDir folder;
    for (const Case& each : kFiles) {
      CAPTURE(std::string(each.name));
      const std::string path = folder.write(std::string(each.name) + ".tenon.so", each.make());
      test::check_beside_good(
          path, {PluginState::kRejected, each.stage, each.code, each.part}, folder);
    }
  }

  TEST_CASE("what is no regular file is refused without waiting, and the good one computes") {
    const test::TempDir folder;
    const auto check = [&](const std::string& name, const Expected& expected) {
      CAPTURE(name);
      test::check_beside_good(folder / name, expected, folder);
    };
    REQUIRE(mkfifo((folder / "fifo.tenon.so").c_str(), 0600) == 0);
    check("fifo.tenon.so",
          {PluginState::kRejected, PluginStage::kFound, TENON_INVALID_ARGUMENT, "FIFO"});
    fs::create_symlink("loop.tenon.so", folder / "loop.tenon.so");
    check("loop.tenon.so",
          {PluginState::kRejected, PluginStage::kFound, TENON_IO, "symbolic link to"});
    fs::create_symlink("gone.tenon.so", folder / "dangling.tenon.so");
    check("dangling.tenon.so",
          {PluginState::kRejected, PluginStage::kFound, TENON_NOT_FOUND, "'gone.tenon.so'"});
    check("absent.tenon.so",
          {PluginState::kRejected, PluginStage::kFound, TENON_NOT_FOUND, "cannot be opened"});
    fs::create_symlink("/dev/null", folder / "device.tenon.so");
    check("device.tenon.so",
          {PluginState::kRejected,
           PluginStage::kFound,
           TENON_INVALID_ARGUMENT,
           "not a shared object"});
  }

  TEST_CASE(
      "a folder that is named like a plugin is looked into or refused, and takes nothing away") {
    const test::TempDir folder;
    fs::create_directories(folder / "place/folder.tenon.so");
    folder.copy(fake_path("alpha-cpu"), "place/alpha.tenon.so");
    const Runtime runtime = test::runtime_of({folder / "place"}, folder);
    REQUIRE(runtime.plugins().size() == 3);
    test::check_record(
        runtime.plugins()[1],
        {PluginState::kRejected, PluginStage::kFound, TENON_INVALID_ARGUMENT, "it is a folder"});
    test::check_computes(runtime, "alpha:fast");
  }

  TEST_CASE("D76 a library that is no plugin is told so, and the good one computes") {
    const test::TempDir folder;
    test::check_beside_good(std::string(TENON_ZOO) + "/library.so",
                            {PluginState::kRejected,
                             PluginStage::kNote,
                             TENON_NOT_FOUND,
                             "not a plugin: no entry symbol"},
                            folder);
  }

  TEST_CASE("D77 a plugin whose library is missing is refused with the library's name") {
    const test::TempDir folder;
    test::check_beside_good(
        std::string(TENON_ZOO) + "/needy/needy.tenon.so",
        {PluginState::kRejected, PluginStage::kLoad, TENON_UNAVAILABLE, "libthat-nobody-has.so.7"},
        folder);
  }

  TEST_CASE("a plugin that others may write is refused, and the good one computes") {
    const test::TempDir folder;
    const std::string path = folder.copy(fake_path("good"), "writable.tenon.so");
    REQUIRE(chmod(path.c_str(), 0777) == 0);
    test::check_beside_good(
        path,
        {PluginState::kRejected, PluginStage::kFound, TENON_INVALID_ARGUMENT, "not trusted"},
        folder);
  }

  TEST_CASE("a copy of a plugin, and another plugin of its id, are shadowed by the first") {
    const test::TempDir folder;
    const std::string good = fake_path("alpha-cpu");
    const std::string copy = folder.copy(good, "copy.tenon.so");
    for (const auto& [path, part] :
         {std::pair(copy, "a copy of the same build"), {fake_path("alpha"), "comes first"}}) {
      const Runtime runtime = test::runtime_of({good, path}, folder);
      REQUIRE(runtime.plugins().size() == 3);
      Expected expected{PluginState::kShadowed, PluginStage::kNote, TENON_ALREADY_EXISTS, part};
      test::check_record(runtime.plugins()[1], expected);
      test::check_computes(runtime, "alpha:fast");
    }
  }

  TEST_CASE("two plugins that declare one device kind: the second is refused by both names") {
    const test::TempDir folder;
    const Runtime runtime = test::runtime_of(
        {fake_path("fake"), fake_path("second-owner"), fake_path("alpha-cpu")}, folder);
    REQUIRE(runtime.plugins().size() == 4);
    test::check_record(runtime.plugins()[1],
                       {PluginState::kRejected,
                        PluginStage::kValidate,
                        TENON_ALREADY_EXISTS,
                        "device kind 'fake'"});
    CHECK(runtime.plugins()[1].reason.find("second-owner") != std::string::npos);
    test::check_computes(runtime, "alpha:fast");
  }

  TEST_CASE("plugins of one SONAME are each themselves") {
    const test::TempDir folder;
    const Runtime runtime =
        test::runtime_of({twin("soname-1"), twin("soname-2"), fake_path("alpha-cpu")}, folder);
    REQUIRE(runtime.plugins().size() == 4);
    for (const PluginRecord& record : runtime.plugins()) {
      CHECK_MESSAGE(record.state == PluginState::kActive, record.reason);
    }
    CHECK(runtime.plugins()[1].id == "soname-2");
    test::check_computes(runtime, "alpha:fast");
  }

  TEST_CASE("D87 the second of two plugins that share an object fails by itself, with its reason") {
    // The process cannot keep them apart; tenon-plugin-lint names both causes before.
    std::vector<std::string> kinds{"library"};
#if defined(__GNUC__) && !defined(__clang__)
    kinds.emplace_back("unique");
#endif
    for (const std::string& kind : kinds) {
      CAPTURE(kind);
      const test::TempDir folder;
      const Runtime runtime =
          test::runtime_of({twin(kind + "-1"), twin(kind + "-2"), fake_path("alpha-cpu")}, folder);
      REQUIRE(runtime.plugins().size() == 4);
      CHECK(runtime.plugins()[0].state == PluginState::kActive);
      test::check_record(
          runtime.plugins()[1],
          {PluginState::kRejected, PluginStage::kValidate, TENON_INTERNAL, "it met its twin"});
      test::check_computes(runtime, "alpha:fast");
    }
  }

  TEST_CASE("under plugins.strict a file that fails a rule of tenon-plugin-lint is not loaded") {
    const test::TempDir folder;
    RuntimeOptions options;
    options.plugin_paths = {
        twin("library-1"), twin("library-2"), fake_path("no-rows"), TENON_CPU_PLUGIN};
#if defined(__GNUC__) && !defined(__clang__)
    options.plugin_paths.push_back(twin("unique-1"));
#endif
    options.standard_folders = false;
    options.environment = loader::Environment::of({});
    options.settings = {{"caches.directory", folder / "cache"}, {"plugins.strict", "true"}};
    const auto runtime = Runtime::create(options);
    if (!runtime) FAIL(runtime.error().to_string());
    const auto& plugins = runtime->plugins();
    CHECK_MESSAGE(plugins[0].state == PluginState::kActive, plugins[0].reason);
    test::check_record(plugins[1],
                       {PluginState::kRejected,
                        PluginStage::kNote,
                        TENON_INVALID_ARGUMENT,
                        "library-clash: libzoo-shipped.so.1 is"});
    CHECK(plugins[2].state == PluginState::kActive);
    CHECK(plugins[3].state == PluginState::kActive);
    if (plugins.size() > 4) {
      test::check_record(plugins[4],
                         {PluginState::kRejected,
                          PluginStage::kNote,
                          TENON_INVALID_ARGUMENT,
                          "_ZN6SharedIiE6numberE"});
    }
  }
}

}  // namespace tenon
