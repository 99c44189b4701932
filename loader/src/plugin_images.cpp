// A table that only grows: entries are written before their count is.
#include "tenon/loader/plugin_images.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <link.h>
#include <mutex>

namespace tenon::loader {
namespace {

struct Entry {
  MemoryRange range;
  std::array<char, 65> id{};
  bool brought = false;
};

constexpr std::size_t kMostEntries = 512;
std::array<Entry, kMostEntries> entries;
std::atomic<std::size_t> n_entries{0};
std::mutex adding;

}  // namespace

PluginCode plugin_at(std::uintptr_t address) noexcept {
  const std::size_t n = n_entries.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < n; ++i) {
    const Entry& entry = entries[i];
    if (address < entry.range.start || address >= entry.range.end) continue;
    return {{entry.id.data(), strnlen(entry.id.data(), entry.id.size())}, entry.brought};
  }
  return {};
}

std::vector<MemoryRange> mapped_objects() {
  std::vector<MemoryRange> all;
  (void)dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        MemoryRange range{UINTPTR_MAX, 0};
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD) continue;
          const std::uintptr_t start = info->dlpi_addr + segment.p_vaddr;
          range.start = std::min(range.start, start);
          range.end = std::max(range.end, start + segment.p_memsz);
        }
        if (range.start < range.end) static_cast<std::vector<MemoryRange>*>(data)->push_back(range);
        return 0;
      },
      &all);
  return all;
}

void keep_plugin_code(std::string_view id,
                      const std::vector<MemoryRange>& before,
                      std::uintptr_t own) {
  const std::vector<MemoryRange> now = mapped_objects();
  const std::lock_guard lock(adding);
  std::size_t n = n_entries.load(std::memory_order_relaxed);
  for (const MemoryRange& range : now) {
    const bool was_there = std::any_of(before.begin(), before.end(), [&](const MemoryRange& each) {
      return each.start == range.start;
    });
    const bool is_kept = std::any_of(
        entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(n), [&](const Entry& each) {
          return each.range.start == range.start;
        });
    if (was_there || is_kept || n == kMostEntries) continue;
    Entry& entry = entries[n++];
    entry.range = range;
    entry.brought = own < range.start || own >= range.end;
    std::copy_n(id.data(), std::min(id.size(), entry.id.size() - 1), entry.id.begin());
  }
  n_entries.store(n, std::memory_order_release);
}

}  // namespace tenon::loader
