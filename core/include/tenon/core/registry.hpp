// The registry: op classes, kernel types and targets, as a sequence of immutable snapshots.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/contract.hpp"
#include "tenon/core/device_table.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/plan.hpp"
#include "tenon/core/plugin_record.hpp"
#include "tenon/plugin.h"

namespace tenon {

class Flow;

/// A plugin as the registry knows it. Never freed before the process ends: kernels outlive
/// registries.
struct PluginInfo {
  std::string id;
  std::string version;
  std::string vendor;
  std::string path;
  std::string build_id;  ///< of the file; empty for a static plugin
  const tenon_host* host = nullptr;
};

/// What one plugin adds to one interface, copied and checked.
struct KernelType {
  const PluginInfo* plugin = nullptr;
  std::string op;  ///< full name: "tenon::RMSNormFwdOp"
  std::string interface;
  std::string key;
  std::string qualified;  ///< "cpu:reference"
  tenon_kernel_type row{};
  std::vector<DeviceKind> devices;
  std::vector<std::string> archs;
  std::vector<std::string> preferred_over;      ///< qualified: "plugin:key" or "plugin:*"
  DTypeSet dtypes;                              ///< empty: whatever the contract has
  std::vector<std::pair<DType, DType>> stored;  ///< dtypes that it gets as another one
  ContractMatch contract;                       ///< how its contract maps to the host's

  [[nodiscard]] bool has(std::uint64_t flag) const { return (row.flags & flag) != 0; }
  [[nodiscard]] bool general() const { return has(TENON_KERNEL_GENERAL); }
  [[nodiscard]] bool reference() const { return has(TENON_KERNEL_REFERENCE); }
  [[nodiscard]] bool serves(DeviceKind kind) const;
  [[nodiscard]] bool takes(std::uint32_t layout) const {
    return layout == TENON_LAYOUT_DENSE || (row.layouts & TENON_LAYOUT_BIT(layout)) != 0;
  }
  /// The dtype in which it gets tensors of `dtype`.
  [[nodiscard]] DType stored_as(DType dtype) const;
  /// The multiple to which the flow pads innermost sizes for it; 1: it takes any.
  [[nodiscard]] std::int64_t alignment() const {
    return row.alignment_elements == 0 || has(TENON_KERNEL_HANDLES_PADDING)
               ? 1
               : std::int64_t{row.alignment_elements};
  }
};

/// The kernel types of one interface, sorted by qualified key, and the order among them.
struct InterfaceTable {
  std::vector<std::shared_ptr<const KernelType>> types;
  /// beats[i * size + j]: i is preferred over j, directly or through others (also absent ones).
  std::vector<bool> beats;
  /// Edges that were dropped because they lie on a cycle across plugins: "a:x > b:y".
  std::vector<std::string> dropped_edges;
  [[nodiscard]] bool prefers(std::size_t i, std::size_t j) const {
    return beats[i * types.size() + j];
  }
};

/// A builder target of a plugin.
struct BuilderTarget {
  const PluginInfo* plugin = nullptr;
  std::string name;
  std::string qualified;  ///< "acme:accel": its kernels' name in records
  tenon_target row{};
  std::vector<DeviceKind> kinds;
  std::vector<std::string>
      ops;  ///< full names, in the plugin's order; empty where no set in force has the op

  [[nodiscard]] bool serves(DeviceKind kind) const;
  /// The plugin's index of an op, or nothing.
  [[nodiscard]] std::optional<std::uint64_t> index_of(std::string_view full_name) const;
};

/// A manifest entry with everything installed for it.
struct OpClass {
  std::shared_ptr<const SignaturePlan> plan;
  const Flow* flow = nullptr;              ///< null where no flow of that name is known
  std::vector<InterfaceTable> interfaces;  ///< parallel to plan->decl().interfaces
};

/// The registry at one moment. Immutable.
class Snapshot {
 public:
  /// By "Name" (namespace tenon) or "ns::Name".
  [[nodiscard]] const OpClass* find(std::string_view op) const;
  /// The same, or OpNotFound with the nearest names.
  [[nodiscard]] Result<const OpClass*> op(std::string_view op) const;
  [[nodiscard]] const std::map<std::string, OpClass, std::less<>>& ops() const { return ops_; }
  [[nodiscard]] const std::vector<std::shared_ptr<const BuilderTarget>>& targets() const {
    return targets_;
  }
  /// Names that a target request may use: "builtin", every kind, every builder target. Sorted.
  [[nodiscard]] std::vector<std::string> target_names() const;
  [[nodiscard]] const std::vector<DeviceKind>& kinds() const { return kinds_; }
  [[nodiscard]] std::string_view owner_of(DeviceKind kind) const;
  /// The reference kernel type of an interface on a kind, or null: that of the kind's owner where
  /// it has one, so that no other plugin's stands for what is right.
  [[nodiscard]] const KernelType* reference_of(const InterfaceTable& table, DeviceKind kind) const;
  /// Every plugin file found, active or not: the loader's account at this moment.
  [[nodiscard]] const std::vector<PluginRecord>& plugins() const { return plugins_; }
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  friend class Registry;
  std::map<std::string, OpClass, std::less<>> ops_;  // full name
  std::vector<std::shared_ptr<const BuilderTarget>> targets_;
  std::vector<DeviceKind> kinds_;
  std::vector<std::string> kind_owners_;
  std::vector<PluginRecord> plugins_;
  std::uint64_t version_ = 0;
};

/// Which of this process's memory may be read and called; what rows point to is held against it.
class MemoryCheck {
 public:
  MemoryCheck() = default;
  MemoryCheck(const MemoryCheck&) = delete;
  MemoryCheck& operator=(const MemoryCheck&) = delete;
  virtual ~MemoryCheck() = default;
  [[nodiscard]] virtual bool readable(const void* data, std::uint64_t size_bytes) const = 0;
  [[nodiscard]] virtual bool callable(std::uintptr_t function) const = 0;
};

/// The rows of one plugin while its `enumerate` runs; committed as one, or dropped as one.
class PluginTransaction {
 public:
  /// `memory` outlives the transaction; null: what rows point to is believed.
  explicit PluginTransaction(const PluginInfo* plugin, const MemoryCheck* memory = nullptr);
  PluginTransaction(const PluginTransaction&) = delete;
  PluginTransaction& operator=(const PluginTransaction&) = delete;
  ~PluginTransaction();

  /// Hand this to the plugin's enumerate. Every row is copied at once; a bad one fails the call and
  /// the commit.
  [[nodiscard]] const tenon_registrar* registrar() const;

  struct Staged;  ///< the registry's own

 private:
  friend class Registry;
  std::unique_ptr<Staged> staged_;
};

/// Ops, plugins' rows and targets of one Runtime. Changes are staged and published together.
class Registry {
 public:
  explicit Registry(DeviceTable& devices);
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;
  ~Registry();

  /// Adds an entry. `flow` stands for the one that the entry names; it outlives the registry.
  /// @errors ManifestInvalid when its name or an interface's is taken (both places are named), or
  /// when its composition leads back to it (the way is named).
  Result<void> add_op(std::shared_ptr<const SignaturePlan> plan, const Flow* flow = nullptr);

  /// Takes every op of a namespace out again, with its interfaces; for a plugin that brought them
  /// and is not in use.
  void drop_ops(std::string_view ns);

  /// Validates everything that the transaction staged and keeps it, or keeps nothing and says why.
  /// Fills kinds, targets, ops, kernel_types, rejected_rows and pending of the record.
  /// Rows for an unknown op or interface, or with an incompatible contract, are dropped alone.
  Result<void> commit(PluginTransaction& transaction, PluginRecord& record);
  /// Takes a plugin's rows and targets out. Its device kind stays known to existing tensors. False:
  /// no such plugin.
  bool withdraw(std::string_view plugin_id);
  /// Replaces the account of plugin files that snapshots carry.
  void set_records(std::vector<PluginRecord> records);

  /// Makes what was staged since the last call visible. [load-thread]
  void publish();
  /// The published state. Never null. Lock-free.
  [[nodiscard]] std::shared_ptr<const Snapshot> snapshot() const {
    return std::atomic_load(&snapshot_);
  }
  /// Cycles across plugins and other things that are reported, not refused; since the last publish.
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  struct State;
  DeviceTable& devices_;
  std::unique_ptr<State> state_;
  std::shared_ptr<const Snapshot> snapshot_;
};

}  // namespace tenon
