// The device kind's functions, called through the table that the plugin registers.
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "support/launcher.hpp"

namespace tenon::test {
namespace {

std::string_view view(tenon_str text) { return {text.data, text.size_bytes}; }

tenon_reason empty_reason() {
  tenon_reason reason{};
  reason.struct_size = sizeof(reason);
  return reason;
}

TEST_SUITE("plugins/cpu/device_kind") {
  TEST_CASE("the plugin registers one kind, cpu, with one device") {
    REQUIRE(registered().kinds.size() == 1);
    const tenon_device_kind& kind = registered().kinds.front();
    std::uint32_t count = 0;
    tenon_reason reason = empty_reason();

    REQUIRE(kind.count(kind.context, &count, &reason) == TENON_OK);

    CHECK(view(kind.kind) == "cpu");
    CHECK(count == 1);
    CHECK((kind.flags & TENON_DEVICE_FLAG_SYNCHRONOUS) != 0);
    CHECK((kind.flags & TENON_DEVICE_FLAG_HOST_MEMORY) != 0);
  }

  TEST_CASE("the device is described with its level, units, memory and name") {
    const tenon_device& cpu = device();

    CHECK(view(cpu.kind) == "cpu");
    CHECK(cpu.index == 0);
    CHECK(cpu.unit_count >= 1);
    CHECK(cpu.warp_size == 1);
    CHECK(cpu.memory_bytes > (std::uint64_t{1} << 20));
    CHECK_FALSE(view(cpu.name).empty());
    REQUIRE(cpu.n_runs_archs >= 1);
    CHECK(view(cpu.runs_archs[0]) == view(cpu.arch));
    CHECK(cpu.flags == registered().kinds.front().flags);
    CHECK(cpu.native == nullptr);
  }

  TEST_CASE("an index that does not exist is an invalid argument that names the index") {
    const tenon_device_kind& kind = registered().kinds.front();
    tenon_device out{};
    out.struct_size = sizeof(out);
    tenon_reason reason = empty_reason();

    CHECK(kind.describe(kind.context, 7, &out, &reason) == TENON_INVALID_ARGUMENT);
    CHECK(std::string(reason.text).find('7') != std::string::npos);
  }

  TEST_CASE("memory of every size is aligned to 256 bytes and holds what is copied and filled") {
    const tenon_device_kind& kind = registered().kinds.front();
    for (const std::uint64_t size_bytes :
         {0ULL, 1ULL, 255ULL, 256ULL, 512ULL, 513ULL, 100'003ULL}) {
      for (const std::uint32_t memory_kind :
           {TENON_MEMORY_DEVICE, TENON_MEMORY_PINNED, TENON_MEMORY_MANAGED}) {
        CAPTURE(size_bytes);
        tenon_reason reason = empty_reason();
        void* memory = nullptr;
        REQUIRE(kind.alloc(
                    kind.context, &device(), memory_kind, size_bytes, nullptr, &memory, &reason) ==
                TENON_OK);
        REQUIRE(memory != nullptr);
        CHECK(reinterpret_cast<std::uintptr_t>(memory) % 256 == 0);
        CHECK(kind.fill(kind.context, &device(), memory, 0x1a5U, size_bytes, nullptr, &reason) ==
              TENON_OK);
        std::string back(size_bytes, '\0');
        CHECK(kind.copy(kind.context,
                        &device(),
                        back.data(),
                        &device(),
                        memory,
                        size_bytes,
                        nullptr,
                        &reason) == TENON_OK);
        CHECK(back == std::string(size_bytes, '\xa5'));
        CHECK(
            kind.free(kind.context, &device(), memory_kind, memory, size_bytes, nullptr, &reason) ==
            TENON_OK);
      }
    }
  }

  TEST_CASE("a copy between overlapping ranges keeps the source's bytes") {
    const tenon_device_kind& kind = registered().kinds.front();
    std::array<char, 8> bytes{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'};
    tenon_reason reason = empty_reason();

    CHECK(kind.copy(kind.context,
                    &device(),
                    bytes.data() + 2,
                    &device(),
                    bytes.data(),
                    6,
                    nullptr,
                    &reason) == TENON_OK);

    CHECK(std::string(bytes.data(), 8) == "ababcdef");
  }

  TEST_CASE("memory that the host does not have is out of memory with the size in the text") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    MESSAGE("skipped: the sanitizer's allocator ends the process on such a size");
#else
    const tenon_device_kind& kind = registered().kinds.front();
    tenon_reason reason = empty_reason();
    void* memory = nullptr;
    const std::uint64_t size_bytes = std::uint64_t{1} << 60;

    CHECK(
        kind.alloc(
            kind.context, &device(), TENON_MEMORY_DEVICE, size_bytes, nullptr, &memory, &reason) ==
        TENON_OUT_OF_MEMORY);

    CHECK(memory == nullptr);
    CHECK(std::string(reason.text).find(std::to_string(size_bytes)) != std::string::npos);
#endif
  }

  TEST_CASE("an unknown memory kind is an invalid argument") {
    const tenon_device_kind& kind = registered().kinds.front();
    tenon_reason reason = empty_reason();
    void* memory = nullptr;

    CHECK(kind.alloc(kind.context, &device(), 9, 16, nullptr, &memory, &reason) ==
          TENON_INVALID_ARGUMENT);

    CHECK(std::string(reason.text).find('9') != std::string::npos);
  }

  TEST_CASE(
      "free memory is part of the total, and there is nothing to wait for and no error left") {
    const tenon_device_kind& kind = registered().kinds.front();
    std::uint64_t free_bytes = 0;
    std::uint64_t total_bytes = 0;
    tenon_reason reason = empty_reason();

    CHECK(kind.mem_info(kind.context, &device(), &free_bytes, &total_bytes, &reason) == TENON_OK);

    CHECK(free_bytes > 0);
    CHECK(free_bytes <= total_bytes);
    CHECK(kind.synchronize(kind.context, &device(), &reason) == TENON_OK);
    CHECK(kind.last_error(kind.context, &device(), 1, &reason) == TENON_OK);
  }

  TEST_CASE("every required function of a device kind is there") {
    const tenon_device_kind& kind = registered().kinds.front();
    CHECK((kind.count != nullptr));
    CHECK((kind.describe != nullptr));
    CHECK((kind.alloc != nullptr));
    CHECK((kind.free != nullptr));
    CHECK((kind.copy != nullptr));
    CHECK((kind.synchronize != nullptr));
    CHECK((kind.last_error != nullptr));
  }
}

}  // namespace
}  // namespace tenon::test
