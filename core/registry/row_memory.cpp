// Goes through the pointers of a row, each behind its bound.
#include "registry/row_memory.hpp"

#include "registry/abi_text.hpp"

namespace tenon {
namespace {

// Counts above these are refused where the row is validated, or here.
constexpr std::uint64_t kMaxItems = 4096;
constexpr std::uint64_t kMaxTextBytes = 4096;

template <class R, class... A>
void (*any(R (*function)(A...)))() {
  return reinterpret_cast<void (*)()>(function);
}

}  // namespace

// Null pointers are refused as empty where the row is validated.
std::string RowMemory::text_fault(const std::string& what, tenon_str text) const {
  if (text.data == nullptr) return {};
  if (text.size_bytes > kMaxTextBytes) {
    return what + " has " + std::to_string(text.size_bytes) + " bytes; at most " +
           std::to_string(kMaxTextBytes) + " are believed";
  }
  if (!readable(text.data, text.size_bytes)) return what + " lies in memory that cannot be read";
  return detail::valid_utf8(detail::view_of(text)) ? "" : what + " is not UTF-8";
}

std::string RowMemory::array_fault(const std::string& what,
                                   const void* items,
                                   std::uint64_t count,
                                   std::uint64_t element_bytes,
                                   std::uint64_t align_bytes) const {
  if (count == 0 || items == nullptr) return {};
  if (!aligned(items, align_bytes)) return what + " lies at an address that is not aligned";
  if (count > kMaxItems) {
    return what + " has " + std::to_string(count) + " items; at most " + std::to_string(kMaxItems) +
           " are believed";
  }
  if (readable(items, count * element_bytes)) return {};
  return what + " lies in memory that cannot be read";
}

std::string RowMemory::list_fault(const std::string& what,
                                  const tenon_str* items,
                                  std::uint64_t count) const {
  if (auto fault = array_fault(what, items, count, sizeof(tenon_str), alignof(tenon_str));
      !fault.empty())
    return fault;
  for (std::uint64_t i = 0; items != nullptr && i < count; ++i) {
    if (auto fault = text_fault(what, items[i]); !fault.empty()) return fault;
  }
  return {};
}

std::string RowMemory::call_fault(std::initializer_list<NamedFunction> functions) const {
  if (memory_ == nullptr) return {};
  for (const auto& [name, function] : functions) {
    if (function == nullptr || memory_->callable(reinterpret_cast<std::uintptr_t>(function))) {
      continue;
    }
    return std::string("its function '") + name + "' lies in memory that holds no code";
  }
  return {};
}

std::string RowMemory::contract_fault(const tenon_contract* contract) const {
  if (contract == nullptr) return {};
  if (!aligned(contract, alignof(tenon_contract)))
    return "its contract lies at an address that is not aligned";
  if (!readable(contract, sizeof contract->struct_size))
    return "its contract lies in memory that cannot be read";
  if (contract->struct_size < sizeof *contract) return {};  // refused for that
  if (!readable(contract, sizeof *contract))
    return "its contract lies in memory that cannot be read";
  const std::string fields = "a field of its contract";
  const std::string args = "an argument of its contract";
  std::string fault = array_fault("fields of its contract",
                                  contract->fields,
                                  contract->n_fields,
                                  sizeof(tenon_field),
                                  alignof(tenon_field));
  for (std::uint64_t i = 0; fault.empty() && contract->fields != nullptr && i < contract->n_fields;
       ++i) {
    const tenon_field& field = contract->fields[i];
    fault = text_fault(fields, field.name);
    if (fault.empty()) fault = list_fault(fields, field.values, field.n_values);
  }
  if (fault.empty())
    fault = array_fault("arguments of its contract",
                        contract->args,
                        contract->n_args,
                        sizeof(tenon_arg),
                        alignof(tenon_arg));
  for (std::uint64_t i = 0; fault.empty() && contract->args != nullptr && i < contract->n_args;
       ++i) {
    const tenon_arg& arg = contract->args[i];
    fault = text_fault(args, arg.name);
    if (fault.empty())
      fault =
          array_fault(args, arg.dtypes, arg.n_dtypes, sizeof(tenon_dtype), alignof(tenon_dtype));
  }
  return fault;
}

std::string RowMemory::fault_of(const tenon_kernel_type& row) {
  std::string fault = text_fault("its op", row.op);
  if (fault.empty()) fault = text_fault("its interface", row.interface);
  if (fault.empty()) fault = text_fault("its key", row.key);
  if (fault.empty()) fault = list_fault("devices", row.devices, row.n_devices);
  if (fault.empty()) fault = list_fault("archs", row.archs, row.n_archs);
  if (fault.empty()) fault = list_fault("preferred_over", row.preferred_over, row.n_preferred_over);
  if (fault.empty())
    fault = array_fault(
        "storage", row.storage, row.n_storage, sizeof(tenon_storage), alignof(tenon_storage));
  if (fault.empty() && !sound_contracts_.contains(row.contract)) {
    fault = contract_fault(row.contract);
    if (fault.empty()) sound_contracts_.insert(row.contract);
  }
  if (!fault.empty()) return fault;
  return call_fault(
      {{"refuse", any(row.refuse)}, {"identity", any(row.identity)}, {"build", any(row.build)}});
}

std::string RowMemory::fault_of(const tenon_device_kind& kind) const {
  if (auto fault = text_fault("its name", kind.kind); !fault.empty()) return fault;
  return call_fault({{"count", any(kind.count)},
                     {"describe", any(kind.describe)},
                     {"alloc", any(kind.alloc)},
                     {"free", any(kind.free)},
                     {"copy", any(kind.copy)},
                     {"fill", any(kind.fill)},
                     {"mem_info", any(kind.mem_info)},
                     {"stream_create", any(kind.stream_create)},
                     {"stream_destroy", any(kind.stream_destroy)},
                     {"stream_default", any(kind.stream_default)},
                     {"stream_synchronize", any(kind.stream_synchronize)},
                     {"stream_wait_event", any(kind.stream_wait_event)},
                     {"stream_is_capturing", any(kind.stream_is_capturing)},
                     {"event_create", any(kind.event_create)},
                     {"event_record", any(kind.event_record)},
                     {"event_query", any(kind.event_query)},
                     {"event_elapsed_ns", any(kind.event_elapsed_ns)},
                     {"event_destroy", any(kind.event_destroy)},
                     {"synchronize", any(kind.synchronize)},
                     {"last_error", any(kind.last_error)},
                     {"extension", any(kind.extension)}});
}

std::string RowMemory::fault_of(const tenon_target& target) const {
  std::string fault = text_fault("its name", target.name);
  if (fault.empty()) fault = list_fault("kinds", target.kinds, target.n_kinds);
  if (fault.empty()) fault = list_fault("ops", target.ops, target.n_ops);
  if (!fault.empty()) return fault;
  return call_fault({{"claims", any(target.claims)}, {"build", any(target.build)}});
}

}  // namespace tenon
