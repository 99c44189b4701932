// Reads /proc/self/maps and the dynamic linker's segments into sorted ranges.
#include "tenon/loader/memory_map.hpp"

#include <algorithm>
#include <charconv>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

namespace tenon::loader {
namespace {

// More than any process has; beyond it the rest is left out, and what lies there is refused.
constexpr std::size_t kMaxMapBytes = std::size_t{64} << 20;

std::string read_map() {
  const int descriptor = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  std::string text;
  constexpr std::size_t kBlock = 65536;
  while (text.size() < kMaxMapBytes) {
    const std::size_t old = text.size();
    text.resize(old + kBlock);
    const ssize_t got = read(descriptor, text.data() + old, kBlock);
    text.resize(old + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got <= 0) break;
  }
  close(descriptor);
  return text;
}

/// Takes a hexadecimal number and the character behind it off the front.
bool take_number(std::string_view& text, char behind, std::uintptr_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, 16);
  if (error != std::errc() || end == text.data() + text.size() || *end != behind) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return true;
}

/// The lines come in order of addresses; neighbours become one range.
void add(std::vector<MemoryRange>& ranges, MemoryRange range) {
  if (!ranges.empty() && ranges.back().end == range.start) {
    ranges.back().end = range.end;
  } else {
    ranges.push_back(range);
  }
}

/// The range that an address lies in, or null.
const MemoryRange* find(const std::vector<MemoryRange>& ranges, std::uintptr_t address) {
  const auto behind = std::upper_bound(
      ranges.begin(), ranges.end(), address, [](std::uintptr_t wanted, const MemoryRange& range) {
        return wanted < range.end;
      });
  return behind != ranges.end() && behind->start <= address ? &*behind : nullptr;
}

bool holds(const std::vector<MemoryRange>& ranges, const void* data, std::uint64_t size_bytes) {
  if (size_bytes == 0) return true;
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const MemoryRange* range = find(ranges, address);
  return range != nullptr && range->end - address >= size_bytes;
}

}  // namespace

MemoryMap MemoryMap::of_process() { return parse(read_map()); }

MemoryMap MemoryMap::parse(std::string_view text) {
  MemoryMap map;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    MemoryRange range;
    constexpr std::size_t kModeBytes = 4;  // "r-xp"
    if (!take_number(line, '-', range.start) || !take_number(line, ' ', range.end) ||
        line.size() < kModeBytes || range.start >= range.end) {
      continue;
    }
    if (line[0] == 'r') add(map.readable_, range);
    if (line[2] == 'x') add(map.executable_, range);
  }
  return map;
}

bool MemoryMap::readable(const void* data, std::uint64_t size_bytes) const {
  return holds(readable_, data, size_bytes);
}

bool MemoryMap::executable(std::uintptr_t address) const {
  return find(executable_, address) != nullptr;
}

LoadedImage LoadedImage::of_handle(void* handle) {
  struct Search {
    const link_map* wanted = nullptr;
    LoadedImage found;
  } search;
  if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &search.wanted) != 0) return {};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& in = *static_cast<Search*>(data);
        // The linker hands out its own pointer to the name.
        if (info->dlpi_addr != in.wanted->l_addr || info->dlpi_name != in.wanted->l_name) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD) continue;
          const std::uintptr_t start = info->dlpi_addr + segment.p_vaddr;
          in.found.segments_.push_back({start, start + segment.p_memsz});
          if ((segment.p_flags & PF_X) != 0) in.found.code_.push_back(in.found.segments_.back());
        }
        return 1;
      },
      &search);
  return std::move(search.found);  // segments come in order of addresses
}

bool LoadedImage::contains(const void* data, std::uint64_t size_bytes) const {
  return holds(segments_, data, size_bytes);
}

bool LoadedImage::contains_code(std::uintptr_t address) const {
  return find(code_, address) != nullptr;
}

}  // namespace tenon::loader
