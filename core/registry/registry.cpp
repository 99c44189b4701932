// The registry's staged state and the snapshots made from it.
#include "tenon/core/registry.hpp"

#include <algorithm>
#include <set>

#include "registry/abi_text.hpp"
#include "registry/precedence.hpp"
#include "registry/validate.hpp"
#include "tenon/core/flow.hpp"
#include "tenon/core/nearest.hpp"

namespace tenon {

bool KernelType::serves(DeviceKind kind) const {
  return std::find(devices.begin(), devices.end(), kind) != devices.end();
}

bool BuilderTarget::serves(DeviceKind kind) const {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

std::optional<std::uint64_t> BuilderTarget::index_of(std::string_view full_name) const {
  const auto at = std::find(ops.begin(), ops.end(), full_name);
  if (at == ops.end()) return std::nullopt;
  return static_cast<std::uint64_t>(at - ops.begin());
}

// ---- Snapshot ---------------------------------------------------------------------------------

const OpClass* Snapshot::find(std::string_view op) const {
  if (op.find("::") == std::string_view::npos) {
    const auto at = ops_.find("tenon::" + std::string(op));
    return at == ops_.end() ? nullptr : &at->second;
  }
  const auto at = ops_.find(op);
  return at == ops_.end() ? nullptr : &at->second;
}

Result<const OpClass*> Snapshot::op(std::string_view op) const {
  if (const OpClass* found = find(op)) return found;
  std::vector<std::string> names;
  for (const auto& [name, op_class] : ops_) {
    const OpDecl& decl = op_class.plan->decl();
    names.push_back(decl.ns == "tenon" ? decl.name : name);
  }
  const auto near = nearest_names(op, names);
  Error error(ErrorCode::kOpNotFound, "there is no op '" + std::string(op) + "'");
  if (!near.empty()) {
    std::string hint = "did you mean ";
    for (std::size_t i = 0; i < near.size(); ++i)
      hint += (i == 0 ? "'" : i + 1 == near.size() ? " or '" : ", '") + near[i] + "'";
    error.with_hint(hint + "?");
  } else {
    error.with_hint("`tenon ops` lists all " + std::to_string(names.size()));
  }
  return fail(std::move(error));
}

std::vector<std::string> Snapshot::target_names() const {
  std::vector<std::string> names{"builtin"};
  for (const DeviceKind kind : kinds_) names.emplace_back(kind.name());
  for (const auto& target : targets_) names.push_back(target->name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string_view Snapshot::owner_of(DeviceKind kind) const {
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (kinds_[i] == kind) return kind_owners_[i];
  }
  return {};
}

const KernelType* Snapshot::reference_of(const InterfaceTable& table, DeviceKind kind) const {
  const std::string_view owner = owner_of(kind);
  const KernelType* first = nullptr;
  for (const auto& type : table.types) {
    if (!type->reference() || !type->serves(kind)) continue;
    if (type->plugin->id == owner) return type.get();
    if (first == nullptr) first = type.get();
  }
  return first;
}

// ---- Registry ---------------------------------------------------------------------------------

struct Registry::State {
  mutable std::mutex mutex;
  std::map<std::string, std::shared_ptr<const SignaturePlan>, std::less<>> plans;  // by full name
  std::map<std::string, const Flow*, std::less<>> flows;       // of ops that brought their own
  std::map<std::string, std::string, std::less<>> interfaces;  // name -> "op (file:line)"
  std::map<std::string, AcceptedPlugin, std::less<>> plugins;  // by id: the same in any load order
  std::vector<PluginRecord> records;
  std::vector<std::string> warnings;
  std::uint64_t version = 0;

  [[nodiscard]] const SignaturePlan* find_plan(std::string_view op) const {
    const auto at = plans.find(op.find("::") == std::string_view::npos ? "tenon::" + std::string(op)
                                                                       : std::string(op));
    return at == plans.end() ? nullptr : at->second.get();
  }
};

Registry::Registry(DeviceTable& devices)
    : devices_(devices),
      state_(std::make_unique<State>()),
      snapshot_(std::make_shared<const Snapshot>()) {}
Registry::~Registry() = default;

namespace {

// The way from a composition back to `op`, as "A -> B -> A", or empty. The circle that an entry
// closes is found when it is added, so all others are open.
template <class FindPlan>
std::string way_back(const OpDecl& from,
                     const std::string& op,
                     const FindPlan& find_plan,
                     std::set<std::string>& seen) {
  for (const StageDecl& stage : from.stages) {
    if (stage.op.empty()) continue;
    const std::string next =
        stage.op.find("::") == std::string::npos ? "tenon::" + stage.op : stage.op;
    if (next == op) return from.name + " -> " + stage.op;
    if (!seen.insert(next).second) continue;
    const SignaturePlan* plan = find_plan(next);
    if (plan == nullptr) continue;
    const std::string rest = way_back(plan->decl(), op, find_plan, seen);
    if (!rest.empty()) return from.name + " -> " + rest;
  }
  return {};
}

}  // namespace

Result<void> Registry::add_op(std::shared_ptr<const SignaturePlan> plan, const Flow* flow) {
  const std::lock_guard lock(state_->mutex);
  const OpDecl& decl = plan->decl();
  std::set<std::string> seen;
  const auto find_plan = [&](const std::string& name) { return state_->find_plan(name); };
  if (const auto way = way_back(decl, decl.full_name(), find_plan, seen); !way.empty()) {
    return fail(
        Error(ErrorCode::kManifestInvalid,
              "the composition of op '" + decl.full_name() + "' leads back to itself: " + way)
            .with_where(decl.where.to_string()));
  }
  if (const auto at = state_->plans.find(decl.full_name()); at != state_->plans.end()) {
    return fail(Error(ErrorCode::kManifestInvalid,
                      "op '" + decl.full_name() + "' is declared twice: here and at " +
                          at->second->decl().where.to_string())
                    .with_where(decl.where.to_string()));
  }
  for (const auto& interface : decl.interfaces) {
    const std::string name = decl.ns + "::" + interface.name;
    if (const auto at = state_->interfaces.find(name); at != state_->interfaces.end()) {
      return fail(Error(ErrorCode::kManifestInvalid,
                        "interface '" + interface.name + "' of op '" + decl.name +
                            "' is taken by " + at->second)
                      .with_where(interface.where.to_string()));
    }
  }
  for (const auto& interface : decl.interfaces) {
    state_->interfaces.emplace(decl.ns + "::" + interface.name,
                               "op '" + decl.name + "' (" + interface.where.to_string() + ")");
  }
  if (flow != nullptr) state_->flows[decl.full_name()] = flow;
  state_->plans.emplace(decl.full_name(), std::move(plan));
  return {};
}

void Registry::drop_ops(std::string_view ns) {
  const std::lock_guard lock(state_->mutex);
  const std::string prefix = std::string(ns) + "::";
  const auto of_namespace = [&](const auto& entry) { return entry.first.starts_with(prefix); };
  std::erase_if(state_->plans, of_namespace);
  std::erase_if(state_->flows, of_namespace);
  std::erase_if(state_->interfaces, of_namespace);
}

Result<void> Registry::commit(PluginTransaction& transaction, PluginRecord& record) {
  const std::lock_guard lock(state_->mutex);
  const PluginInfo& info = *transaction.staged_->plugin;
  const auto rejected = [&](tenon_status status, std::string text) {
    return fail(Error(ErrorCode::kPluginRejected, std::move(text))
                    .with_where(info.path)
                    .with("plugin", info.id)
                    .with("status", std::string(status_name(status))));
  };
  record.stage = PluginStage::kValidate;
  if (const auto at = state_->plugins.find(info.id); at != state_->plugins.end()) {
    return rejected(TENON_ALREADY_EXISTS,
                    "plugin id '" + info.id + "' is in use by " + at->second.info->path +
                        " (version " + at->second.info->version + "); this one is " + info.path +
                        " (version " + info.version + ")");
  }
  ValidationContext ops{state_.get(),
                        [](const void* context, std::string_view op) {
                          return static_cast<const State*>(context)->find_plan(op);
                        },
                        {}};
  for (const auto& [name, plan] : state_->plans)
    ops.op_names.push_back(plan->decl().ns == "tenon" ? plan->decl().name : name);
  PluginRecord filled = record;
  auto accepted = validate(*transaction.staged_, ops, filled);
  if (!accepted) return fail(std::move(accepted).error());
  for (const auto& target : accepted->targets) {
    for (const auto& [id, other] : state_->plugins) {
      for (const auto& theirs : other.targets) {
        if (theirs->name == target->name) {
          return rejected(TENON_ALREADY_EXISTS,
                          "target '" + target->name + "' of plugin '" + info.id + "' (" +
                              info.path + ") exists already: plugin '" + id + "' (" +
                              other.info->path + ") registered it first");
        }
      }
    }
  }
  for (const auto& kind : accepted->kinds) {
    const DeviceKindEntry* owner = devices_.kind(kind.kind);
    if (owner != nullptr && owner->plugin != info.id) {
      return rejected(TENON_ALREADY_EXISTS,
                      "device kind '" + std::string(kind.kind.name()) + "' of plugin '" + info.id +
                          "' is owned by plugin '" + owner->plugin + "' already");
    }
  }
  for (const auto& kind : accepted->kinds) {
    if (devices_.kind(kind.kind) == nullptr) TENON_TRY(devices_.add(kind));
  }
  record = std::move(filled);
  record.stage = PluginStage::kCommit;
  record.state = PluginState::kActive;
  state_->plugins.emplace(info.id, std::move(*accepted));
  return {};
}

bool Registry::withdraw(std::string_view plugin_id) {
  const std::lock_guard lock(state_->mutex);
  const auto at = state_->plugins.find(plugin_id);
  if (at == state_->plugins.end()) return false;
  state_->plugins.erase(at);
  return true;
}

void Registry::set_records(std::vector<PluginRecord> records) {
  const std::lock_guard lock(state_->mutex);
  state_->records = std::move(records);
}

namespace {

// Kinds and keys that a plugin's rows name and nobody has loaded.
std::vector<std::string> pending_of(const AcceptedPlugin& plugin,
                                    const std::set<std::string>& kinds,
                                    const std::set<std::string>& plugins) {
  std::set<std::string> pending;
  for (const auto& [place, types] : plugin.types) {
    for (const auto& type : types) {
      for (const DeviceKind kind : type->devices) {
        if (!kinds.contains(std::string(kind.name())))
          pending.insert("device kind '" + std::string(kind.name()) + "'");
      }
      for (const std::string& over : type->preferred_over) {
        if (!plugins.contains(over.substr(0, over.find(':'))))
          pending.insert("preferred_over '" + over + "'");
      }
    }
  }
  return {pending.begin(), pending.end()};
}

}  // namespace

void Registry::publish() {
  const std::lock_guard lock(state_->mutex);
  auto next = std::make_shared<Snapshot>();
  next->version_ = ++state_->version;
  state_->warnings.clear();
  std::set<std::string> kind_names;
  std::set<std::string> plugin_ids;
  std::map<std::pair<std::string, std::string>, std::vector<std::shared_ptr<const KernelType>>>
      by_place;
  for (const auto& [id, plugin] : state_->plugins) {
    plugin_ids.insert(id);
    for (const auto& [place, types] : plugin.types) {
      auto& all = by_place[place];
      all.insert(all.end(), types.begin(), types.end());
    }
    next->targets_.insert(next->targets_.end(), plugin.targets.begin(), plugin.targets.end());
    for (const auto& kind : plugin.kinds) kind_names.insert(std::string(kind.kind.name()));
  }
  std::sort(next->targets_.begin(), next->targets_.end(), [](const auto& a, const auto& b) {
    return a->name < b->name;
  });
  for (const std::string& name : kind_names) {
    next->kinds_.push_back(DeviceKind::of(name));
    next->kind_owners_.push_back(devices_.kind(DeviceKind::of(name))->plugin);
  }
  for (const auto& [name, plan] : state_->plans) {
    const auto own_flow = state_->flows.find(name);
    OpClass op_class{
        plan,
        own_flow == state_->flows.end() ? find_flow(plan->decl().flow) : own_flow->second,
        {}};
    for (const auto& interface : plan->decl().interfaces) {
      InterfaceTable table;
      if (auto at = by_place.find({name, interface.name}); at != by_place.end())
        table.types = std::move(at->second);
      std::sort(table.types.begin(), table.types.end(), [](const auto& a, const auto& b) {
        return a->qualified < b->qualified;
      });
      order_kernel_types(table);
      for (const std::string& edge : table.dropped_edges) {
        state_->warnings.push_back("interface '" + interface.name +
                                   "': preferred_over goes in a circle across plugins; dropped " +
                                   edge);
      }
      op_class.interfaces.push_back(std::move(table));
    }
    next->ops_.emplace(name, std::move(op_class));
  }
  next->plugins_ = state_->records;
  for (PluginRecord& record : next->plugins_) {
    const auto at = state_->plugins.find(record.id);
    if (record.state == PluginState::kActive && at != state_->plugins.end())
      record.pending = pending_of(at->second, kind_names, plugin_ids);
  }
  std::atomic_store(&snapshot_, std::shared_ptr<const Snapshot>(std::move(next)));
}

std::vector<std::string> Registry::warnings() const {
  const std::lock_guard lock(state_->mutex);
  return state_->warnings;
}

}  // namespace tenon
