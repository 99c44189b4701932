// The staging registrar: copies rows of any size that a plugin may know, and remembers the first
// fault.
#include "registry/transaction.hpp"

#include <cstdio>

#include "registry/abi_text.hpp"

namespace tenon {

using detail::kMaxStructBytes;
using detail::normalised;

namespace {

// Sizes of the structs as of ABI 0.1: a plugin's may be larger, never smaller.
constexpr std::uint64_t kMinKernelTypeBytes = sizeof(tenon_kernel_type);
constexpr std::uint64_t kMinDeviceKindBytes = sizeof(tenon_device_kind);
constexpr std::uint64_t kMinTargetBytes = sizeof(tenon_target);
constexpr std::uint64_t kMaxRowsPerPlugin = 1u << 20;

// Notes the fault and answers the plugin with the same words.
template <class S>
tenon_status refuse(S& staged, tenon_status status, const std::string& text, tenon_reason* reason) {
  if (reason != nullptr) std::snprintf(reason->text, sizeof reason->text, "%s", text.c_str());
  if (staged.status == TENON_OK) {
    staged.status = status;
    staged.fault = text;
  }
  return status;
}

// Why a struct of this size is none of ours, or nothing.
std::string size_fault(const char* what, std::uint64_t size, std::uint64_t least) {
  if (size >= least && size <= kMaxStructBytes) return {};
  return std::string(what) + ".struct_size is " + std::to_string(size) + "; expected " +
         std::to_string(least) + " to " + std::to_string(kMaxStructBytes);
}

// A row as ours, or what is wrong with it: where it lies, its size, what it points to.
template <class T>
tenon_status take(PluginTransaction::Staged& staged,
                  const char* what,
                  const T* theirs,
                  std::uint64_t least,
                  T& ours,
                  std::string& fault) {
  const std::string unreadable = std::string(what) + " lies in memory that cannot be read";
  if (!RowMemory::aligned(theirs, alignof(T))) {
    fault = std::string(what) + " lies at an address that is not aligned";
    return TENON_INVALID_ARGUMENT;
  }
  if (!staged.memory.readable(theirs, sizeof theirs->struct_size)) {
    fault = unreadable;
    return TENON_INVALID_ARGUMENT;
  }
  fault = size_fault(what, theirs->struct_size, least);
  if (!fault.empty()) return TENON_INCOMPATIBLE;
  if (!staged.memory.readable(theirs, theirs->struct_size)) {
    fault = unreadable;
    return TENON_INVALID_ARGUMENT;
  }
  ours = normalised(theirs, theirs->struct_size);
  fault = staged.memory.fault_of(ours);
  if (!fault.empty()) fault = std::string(what) + ": " + fault;
  return fault.empty() ? TENON_OK : TENON_INVALID_ARGUMENT;
}

tenon_status add_device_kind(void* context, const tenon_device_kind* kind, tenon_reason* reason) {
  auto& staged = *static_cast<PluginTransaction::Staged*>(context);
  if (kind == nullptr)
    return refuse(staged, TENON_INVALID_ARGUMENT, "add_device_kind was given null", reason);
  tenon_device_kind ours{};
  std::string fault;
  const tenon_status status =
      take(staged, "tenon_device_kind", kind, kMinDeviceKindBytes, ours, fault);
  if (status != TENON_OK) return refuse(staged, status, fault, reason);
  staged.kinds.push_back(ours);
  return TENON_OK;
}

tenon_status add_kernel_types(void* context,
                              const tenon_kernel_type* rows,
                              std::uint64_t count,
                              std::uint64_t element_size,
                              tenon_reason* reason) {
  auto& staged = *static_cast<PluginTransaction::Staged*>(context);
  if (count == 0) return TENON_OK;
  if (rows == nullptr)
    return refuse(staged, TENON_INVALID_ARGUMENT, "add_kernel_types was given null rows", reason);
  if (auto fault =
          size_fault("element size of tenon_kernel_type", element_size, kMinKernelTypeBytes);
      !fault.empty()) {
    return refuse(staged, TENON_INCOMPATIBLE, fault, reason);
  }
  if (count > kMaxRowsPerPlugin - staged.types.size()) {
    return refuse(staged,
                  TENON_INVALID_ARGUMENT,
                  std::to_string(count) + " kernel types are more than the " +
                      std::to_string(kMaxRowsPerPlugin) + " that a plugin may have",
                  reason);
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(rows);
  for (std::uint64_t i = 0; i < count; ++i, bytes += element_size) {
    const auto* row = reinterpret_cast<const tenon_kernel_type*>(bytes);
    tenon_kernel_type ours{};
    std::string fault;
    tenon_status status = take(staged, "tenon_kernel_type", row, kMinKernelTypeBytes, ours, fault);
    if (status == TENON_OK && row->struct_size > element_size) {
      status = TENON_INCOMPATIBLE;
      fault = "tenon_kernel_type.struct_size exceeds the element size";
    }
    if (status != TENON_OK)
      return refuse(staged, status, "row " + std::to_string(i) + ": " + fault, reason);
    staged.types.push_back(ours);
  }
  return TENON_OK;
}

tenon_status add_target(void* context, const tenon_target* target, tenon_reason* reason) {
  auto& staged = *static_cast<PluginTransaction::Staged*>(context);
  if (target == nullptr)
    return refuse(staged, TENON_INVALID_ARGUMENT, "add_target was given null", reason);
  tenon_target ours{};
  std::string fault;
  const tenon_status status = take(staged, "tenon_target", target, kMinTargetBytes, ours, fault);
  if (status != TENON_OK) return refuse(staged, status, fault, reason);
  staged.targets.push_back(ours);
  return TENON_OK;
}

}  // namespace

PluginTransaction::PluginTransaction(const PluginInfo* plugin, const MemoryCheck* memory)
    : staged_(std::make_unique<Staged>(plugin, memory)) {
  tenon_registrar& r = staged_->registrar;
  r.struct_size = sizeof r;
  r.context = staged_.get();
  r.add_device_kind = add_device_kind;
  r.add_kernel_types = add_kernel_types;
  r.add_target = add_target;
}

PluginTransaction::~PluginTransaction() = default;

const tenon_registrar* PluginTransaction::registrar() const { return &staged_->registrar; }

}  // namespace tenon
