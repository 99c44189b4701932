// Plugin files read from their bytes: what good ones say, and how bad ones are refused.
#include "tenon/loader/elf.hpp"

#include <cstring>
#include <random>

#include <doctest/doctest.h>

#include "loader/fakes.hpp"
#include "support/test_env.hpp"

namespace tenon::loader {
namespace {

using test::fake;
using test::read_file;

FileResult<ElfFile> parse(const std::string& bytes) {
  return parse_elf(std::as_bytes(std::span(bytes)));
}

PluginFault fault_of(const std::string& bytes) {
  auto file = parse(bytes);
  REQUIRE_FALSE(file);
  return file.error();
}

TEST_SUITE_BEGIN("loader/elf");

TEST_CASE("the note, the build id and the entry symbol of a plugin are read from its bytes") {
  const auto file = parse(read_file(fake("good", "acme")));
  REQUIRE(file);
  REQUIRE(file->note);
  CHECK(file->note->id == "acme");
  CHECK(file->note->version == "1.0.0");
  CHECK(file->note->abi_major == TENON_ABI_MAJOR);
  CHECK(file->note->abi_minor == TENON_ABI_MINOR);
  CHECK(file->note->archs == std::vector<std::string>{"a2", "a3"});
  CHECK(file->note->depends == std::vector<std::string>{"/etc/fake-driver-version"});
  CHECK(file->exports_entry);
  CHECK(file->build_id.size() == 40);
  CHECK(file->soname == "acme.tenon.so");
  CHECK(vet(*file));
}

TEST_CASE("D76 what is no shared object is told apart in one line") {
  CHECK(fault_of("").text == "not a shared object: the file is empty");
  CHECK(fault_of("#!/bin/sh\necho hello\n").text.starts_with("not a shared object: "));
  CHECK(fault_of("\177ELF").text.starts_with("truncated ELF file"));
}

TEST_CASE("D77 a wrong class or machine is named with what was found and wanted") {
  std::string bytes = read_file(fake("good", "acme"));
  bytes[4] = 1;
  CHECK(fault_of(bytes).text == "wrong ELF class: 32-bit, this host is 64-bit");
  CHECK(fault_of(bytes).code == TENON_INCOMPATIBLE);
  bytes[4] = 2;
  bytes[18] = 40;
  CHECK(fault_of(bytes).text.find("built for machine ARM (40), this host is") == 0);
  CHECK(fault_of(bytes).stage == PluginStage::kNote);
}

TEST_CASE("a plugin without a note is refused with advice, a library without both as no plugin") {
  const auto without_note = parse(read_file(fake("no_note", "nonote")));
  REQUIRE(without_note);
  CHECK(without_note->exports_entry);
  const auto vetted = vet(*without_note);
  REQUIRE_FALSE(vetted);
  CHECK(vetted.error().stage == PluginStage::kNote);
  CHECK(vetted.error().text.find("TENON_PLUGIN_NOTE(id, version)") != std::string::npos);

  ElfFile library = *without_note;
  library.exports_entry = false;
  CHECK(vet(library).error().text == "not a plugin: no entry symbol " TENON_PLUGIN_SYMBOL
                                     " and no TENON note");
}

TEST_CASE("a note without the entry symbol is refused, naming the symbol") {
  const auto file = parse(read_file(fake("no_entry", "noentry")));
  REQUIRE(file);
  REQUIRE_FALSE(vet(*file));
  CHECK(vet(*file).error().code == TENON_NOT_FOUND);
  CHECK(vet(*file).error().text.find(TENON_PLUGIN_SYMBOL) != std::string::npos);
}

TEST_CASE("D12 another ABI is refused before anything is loaded, with id and version") {
  for (const auto& [variant, id] :
       {std::pair("new_minor", "newer"), std::pair("new_major", "major")}) {
    const auto file = parse(read_file(fake(variant, id)));
    REQUIRE(file);
    REQUIRE_FALSE(vet(*file));
    CHECK(vet(*file).error().code == TENON_INCOMPATIBLE);
    CHECK(vet(*file).error().stage == PluginStage::kNote);
    CHECK(vet(*file).error().text.find(std::string("plugin ") + id + " 1.0.0") == 0);
  }
}

TEST_CASE("every truncation of a plugin is refused or read as what is left, never beyond its end") {
  const std::string bytes = read_file(fake("good", "acme"));
  std::size_t refused = 0;
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 16) {
    // A copy of exactly that size, so that a sanitizer sees any read behind it.
    const std::string part = bytes.substr(0, size);
    if (!parse(part)) ++refused;
  }
  CHECK(refused > 20);
}

TEST_CASE("mutated files never crash the reader and never make it work without bound") {
  const std::string good = read_file(fake("good", "acme"));
  std::mt19937 random(20260101);
  std::size_t read = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = good;
    // Mostly in the headers and tables, where offsets are.
    const std::size_t range = round % 2 == 0 ? 1024 : bytes.size();
    for (int edits = 1 + round % 4; edits > 0; --edits) {
      const std::size_t at = random() % range;
      const std::size_t width = std::min<std::size_t>(1u << (random() % 4), bytes.size() - at);
      const std::uint64_t value = random() % 3 == 0 ? ~std::uint64_t{0} : random();
      std::memcpy(bytes.data() + at, &value, width);
    }
    if (auto file = parse(bytes)) {
      ++read;
      (void)vet(*file);
    }
  }
  CHECK(read > 100);  // not everything was refused at the first check
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::loader
