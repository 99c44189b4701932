// Whether what a plugin's rows point to can be read and called, asked before anybody does.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "tenon/core/registry.hpp"

namespace tenon {

/// Checks rows that were copied, and everything behind their pointers, within fixed bounds. Without
/// a MemoryCheck only the bounds hold.
class RowMemory {
 public:
  explicit RowMemory(const MemoryCheck* memory) : memory_(memory) {}

  /// True where the bytes may be read.
  [[nodiscard]] bool readable(const void* data, std::uint64_t size_bytes) const {
    return memory_ == nullptr || memory_->readable(data, size_bytes);
  }
  /// True where a struct of this alignment may lie at the address.
  [[nodiscard]] static bool aligned(const void* data, std::uint64_t align_bytes) {
    return reinterpret_cast<std::uintptr_t>(data) % align_bytes == 0;
  }
  /// What is wrong, or empty.
  [[nodiscard]] std::string fault_of(const tenon_kernel_type& row);
  [[nodiscard]] std::string fault_of(const tenon_device_kind& kind) const;
  [[nodiscard]] std::string fault_of(const tenon_target& target) const;

 private:
  using Function = void (*)();
  struct NamedFunction {
    const char* name;
    Function function;
  };
  [[nodiscard]] std::string text_fault(const std::string& what, tenon_str text) const;
  [[nodiscard]] std::string list_fault(const std::string& what,
                                       const tenon_str* items,
                                       std::uint64_t count) const;
  [[nodiscard]] std::string array_fault(const std::string& what,
                                        const void* items,
                                        std::uint64_t count,
                                        std::uint64_t element_bytes,
                                        std::uint64_t align_bytes) const;
  [[nodiscard]] std::string call_fault(std::initializer_list<NamedFunction> functions) const;
  [[nodiscard]] std::string contract_fault(const tenon_contract* contract) const;

  const MemoryCheck* memory_;
  std::set<const tenon_contract*> sound_contracts_;  // many rows share one
};

}  // namespace tenon
