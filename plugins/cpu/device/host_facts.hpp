// What the operating system says about this machine: processor name, units, memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::cpu {

/// The processor's name out of the text of /proc/cpuinfo; empty where no line gives one. Pure.
[[nodiscard]] std::string processor_name(std::string_view cpuinfo);

/// A field of the text of /proc/meminfo ("MemTotal"), in bytes. Pure.
[[nodiscard]] std::optional<std::uint64_t> meminfo_bytes(std::string_view meminfo,
                                                         std::string_view field);

struct MemoryNow {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
};
/// Memory as /proc/meminfo has it now; nothing where it cannot be read.
[[nodiscard]] std::optional<MemoryNow> memory_now();

/// Whole text of a file of /proc; empty where it cannot be read.
[[nodiscard]] std::string read_proc(const char* path);

/// Processors that this process may run on, at least 1.
[[nodiscard]] std::uint32_t usable_processors();

}  // namespace tenon::cpu
