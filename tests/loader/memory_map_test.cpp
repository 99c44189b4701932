// The process's memory map, and the image of a loaded object.
#include "tenon/loader/memory_map.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <vector>

#include <doctest/doctest.h>

#include "loader/fakes.hpp"
#include "tenon/plugin.h"

namespace tenon::loader {
namespace {

const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

TEST_SUITE_BEGIN("loader/memory_map");

TEST_CASE("neighbouring lines of a map are one range, and each byte of a range must be readable") {
  const auto map = MemoryMap::parse(
      "1000-2000 r--p 00000000 08:01 1 /a\n"
      "2000-3000 r-xp 00000000 08:01 1 /a\n"
      "4000-5000 ---p 00000000 00:00 0\n"
      "6000-7000 rw-p 00000000 00:00 0 [heap]\n");
  CHECK(map.readable(at(0x1000), 0x2000));
  CHECK_FALSE(map.readable(at(0x1000), 0x2001));
  CHECK_FALSE(map.readable(at(0xfff), 1));
  CHECK_FALSE(map.readable(at(0x4000), 1));
  CHECK(map.readable(at(0x6fff), 1));
  CHECK_FALSE(map.readable(at(0x6fff), UINT64_MAX));
  CHECK(map.readable(nullptr, 0));
  CHECK(map.executable(0x2000));
  CHECK_FALSE(map.executable(0x1fff));
  CHECK_FALSE(map.executable(0x3000));
}

TEST_CASE("lines that are none of a map's are skipped") {
  const auto map = MemoryMap::parse("\nx\n12-\n3000-2000 r-xp\n1000-2000 r\n5000-6000 r-xp");
  CHECK_FALSE(map.readable(at(0x1000), 1));
  CHECK_FALSE(map.readable(at(0x2000), 1));
  CHECK(map.executable(0x5fff));
  CHECK(MemoryMap::parse("").empty());
}

TEST_CASE("of this process the map knows code, constants, the heap and what is unmapped") {
  const std::vector<char> heap(100000, 'x');
  void* page = mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(page != MAP_FAILED);
  REQUIRE(mprotect(page, 4096, PROT_NONE) == 0);
  const auto map = MemoryMap::of_process();
  CHECK(map.readable(heap.data(), heap.size()));
  CHECK(map.readable("a constant", 11));
  CHECK_FALSE(map.readable(page, 1));
  CHECK(map.readable(static_cast<char*>(page) + 4096, 4096));
  CHECK(map.executable(address_of(&dlopen)));
  CHECK_FALSE(map.executable(reinterpret_cast<std::uintptr_t>(heap.data())));
  munmap(page, 8192);
}

TEST_CASE("the image of an object holds what is its own and nothing else") {
  void* handle = dlopen(test::fake("good", "acme").c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  REQUIRE(handle != nullptr);
  const auto* object = static_cast<const tenon_plugin*>(dlsym(handle, TENON_PLUGIN_SYMBOL));
  REQUIRE(object != nullptr);
  const auto image = LoadedImage::of_handle(handle);
  CHECK(image.contains(object, sizeof *object));
  CHECK(image.contains(object->id.data, object->id.size_bytes));
  CHECK(image.contains_code(address_of(object->init)));
  CHECK_FALSE(image.contains_code(reinterpret_cast<std::uintptr_t>(object->id.data)));
  CHECK_FALSE(image.contains_code(address_of(&dlopen)));
  CHECK_FALSE(image.contains("a constant of the test", 10));
  CHECK(LoadedImage::of_handle(nullptr).empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::loader
