// What the operating system says about this machine: processor name, units, memory.
#include "device/host_facts.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sched.h>
#include <thread>
#include <unistd.h>

namespace tenon::cpu {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

/// Value of the first line "key : value".
std::string_view value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || trimmed(line.substr(0, colon)) != key) continue;
    return trimmed(line.substr(colon + 1));
  }
  return {};
}

}  // namespace

std::string processor_name(std::string_view cpuinfo) {
  // x86 writes "model name"; aarch64 writes "Model" on some boards and nothing on others.
  for (const std::string_view key : {"model name", "Model", "Hardware"}) {
    if (const std::string_view name = value_of(cpuinfo, key); !name.empty())
      return std::string(name);
  }
  return {};
}

std::optional<std::uint64_t> meminfo_bytes(std::string_view meminfo, std::string_view field) {
  const std::string_view value = value_of(meminfo, field);
  std::uint64_t kibibytes = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), kibibytes);
  if (error != std::errc{} || kibibytes > UINT64_MAX / 1024) return std::nullopt;
  if (trimmed(value.substr(static_cast<std::size_t>(end - value.data()))) != "kB")
    return std::nullopt;
  return kibibytes * 1024;
}

std::optional<MemoryNow> memory_now() {
  const std::string text = read_proc("/proc/meminfo");
  const auto total = meminfo_bytes(text, "MemTotal");
  const auto available = meminfo_bytes(text, "MemAvailable");
  if (!total || !available) return std::nullopt;
  return MemoryNow{*available, *total};
}

std::string read_proc(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::uint32_t usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return std::max(1U, static_cast<std::uint32_t>(CPU_COUNT(&set)));
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace tenon::cpu
