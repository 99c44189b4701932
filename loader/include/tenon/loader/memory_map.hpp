// What of this process's memory may be read and run, as the system tells it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::loader {

/// Addresses [start, end).
struct MemoryRange {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
};

/// A snapshot of /proc/self/maps: which addresses are readable, and which hold code. Ranges that
/// touch are one range.
class MemoryMap {
 public:
  /// The process's own, now. Empty where the system does not tell.
  static MemoryMap of_process();
  /// Of lines as /proc/PID/maps has them; a malformed line is skipped.
  static MemoryMap parse(std::string_view text);

  /// True where nothing could be read: then nothing can be said of any address.
  [[nodiscard]] bool empty() const { return readable_.empty(); }
  /// True where every byte of [data, data + size_bytes) is readable. No bytes always are.
  [[nodiscard]] bool readable(const void* data, std::uint64_t size_bytes) const;
  /// True where code may lie at the address.
  [[nodiscard]] bool executable(std::uintptr_t address) const;

 private:
  std::vector<MemoryRange> readable_;    // sorted, disjoint
  std::vector<MemoryRange> executable_;  // sorted, disjoint
};

/// The image of one loaded object: its segments in memory.
class LoadedImage {
 public:
  /// Of the object that the dynamic linker's handle stands for. Empty where it knows no such.
  static LoadedImage of_handle(void* handle);
  /// Of segments that are known otherwise; each list sorted and disjoint.
  static LoadedImage of_ranges(std::vector<MemoryRange> segments, std::vector<MemoryRange> code) {
    LoadedImage made;
    made.segments_ = std::move(segments);
    made.code_ = std::move(code);
    return made;
  }

  [[nodiscard]] bool empty() const { return segments_.empty(); }
  /// True where [data, data + size_bytes) lies inside one segment.
  [[nodiscard]] bool contains(const void* data, std::uint64_t size_bytes) const;
  /// True where the address lies inside a segment that holds code.
  [[nodiscard]] bool contains_code(std::uintptr_t address) const;

 private:
  std::vector<MemoryRange> segments_;
  std::vector<MemoryRange> code_;
};

/// The address of a function, as a number.
template <class R, class... A>
[[nodiscard]] std::uintptr_t address_of(R (*function)(A...)) noexcept {
  return reinterpret_cast<std::uintptr_t>(function);
}

}  // namespace tenon::loader
