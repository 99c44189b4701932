// Which libraries belong to a plugin, and how they change what is known of it.
#include "needed_files.hpp"

#include <fcntl.h>

#include <doctest/doctest.h>

#include "loader/fakes.hpp"
#include "probe_cache.hpp"
#include "support/test_env.hpp"

namespace tenon::loader {
namespace {

using test::TempDir;

ElfFile elf_of(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  auto elf = read_elf(file.get());
  REQUIRE(elf);
  return *elf;
}

TEST_SUITE_BEGIN("loader/needed_files");

TEST_CASE("the libraries that a run path leads to are found, those of the system are left out") {
  const TempDir folder;
  const std::string plugin = folder.copy(test::fake("leans", "leans"), "leans.tenon.so");
  const ElfFile elf = elf_of(plugin);
  CHECK(elf.run_path == "$ORIGIN");
  CHECK(needed_files(plugin, elf).empty());
  const std::string library =
      folder.copy(std::string(TENON_LOADER_FAKES) + "/leans/libtenon_fake_prop_good.so",
                  "libtenon_fake_prop.so");
  CHECK(needed_files(plugin, elf) == std::vector{library});
}

TEST_CASE("what such a library needs itself is found by its own run path or beside the plugin") {
  const TempDir folder;
  const std::string plugin = folder.copy(test::fake("leans", "leans"), "a/leans.tenon.so");
  ElfFile elf = elf_of(plugin);
  // The plugin as a library that it needs, for it has needs and a run path of its own.
  const std::string middle = folder.copy(test::fake("leans", "leans"), "b/middle.so");
  const std::string last =
      folder.copy(std::string(TENON_LOADER_FAKES) + "/leans/libtenon_fake_prop_good.so",
                  "b/libtenon_fake_prop.so");
  elf.needed = {"middle.so"};
  elf.run_path = "relative:${ORIGIN}/../b:/nowhere";
  const auto files = needed_files(plugin, elf);
  REQUIRE(files.size() == 2);
  CHECK(std::filesystem::equivalent(files[0], middle));
  CHECK(std::filesystem::equivalent(files[1], last));
}

TEST_CASE("a library that is replaced makes another key, also where size and time are the same") {
  const TempDir folder;
  const std::string library = folder.write("libx.so", "one");
  ProbeSubject subject;
  subject.path = folder / "x.tenon.so";
  subject.libraries = {library};
  const std::string before = probe_key(subject);
  CHECK(probe_key(subject) == before);
  const auto time = std::filesystem::last_write_time(library);
  const std::string other = folder.write("other", "two");
  std::filesystem::last_write_time(other, time);
  std::filesystem::rename(other, library);
  CHECK(probe_key(subject) != before);
}

TEST_CASE("however many libraries there are, only so many are looked at") {
  const TempDir folder;
  ElfFile elf;
  for (std::size_t i = 0; i < 2 * kMostNeededFiles; ++i) {
    elf.needed.push_back("lib" + std::to_string(i) + ".so");
    (void)folder.write(elf.needed.back(), "no library");
  }
  CHECK(needed_files(folder / "x.tenon.so", elf).size() == kMostNeededFiles);
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::loader
