// What an instance holds, told from its own tables.
#include <algorithm>
#include <set>

#include "runtime/instance.hpp"

namespace tenon {

std::vector<HeldDelegate> Op::held_delegates() const {
  std::vector<HeldDelegate> held;
  for (const auto& sub : instance_->held_sub_ops())
    held.push_back({decl().stages[sub->stage].name, sub->identity, sub->op});
  return held;
}

std::vector<std::pair<std::string, std::string>> Op::iter_kernels() const {
  std::vector<std::pair<std::string, std::string>> kernels;
  const OpClass& op_class = *instance_->construction.op_class;
  for (std::size_t i = 0; i < op_class.interfaces.size(); ++i) {
    for (const auto& type : op_class.interfaces[i].types)
      kernels.emplace_back(decl().interfaces[i].name, type->qualified);
  }
  std::sort(kernels.begin(), kernels.end());
  return kernels;
}

std::vector<std::shared_ptr<BuiltEntry>> Op::Instance::reachable() const {
  std::vector<std::shared_ptr<BuiltEntry>> entries;
  {
    const std::lock_guard lock(binding.mutex);
    const Binding* now = binding.current.load(std::memory_order_acquire);
    if (now != nullptr) {
      for (const auto& slot : now->slots) {
        if (slot != nullptr && slot->built != nullptr) entries.push_back(slot->built);
      }
    }
  }
  for (const auto& sub : held_sub_ops()) {
    auto below = sub->op->instance().reachable();
    std::move(below.begin(), below.end(), std::back_inserter(entries));
  }
  std::set<const BuiltEntry*> seen;
  std::erase_if(entries, [&](const auto& e) { return !seen.insert(e.get()).second; });
  return entries;
}

std::vector<BuiltKernel> Op::built_entries() const {
  std::vector<BuiltKernel> built;
  for (const auto& entry : instance_->reachable()) {
    built.push_back({entry->interface(),
                     entry->name(),
                     entry->device().device,
                     config_of(entry->kernel(), entry->name()),
                     entry->is_tuned()});
  }
  std::sort(built.begin(), built.end(), [](const BuiltKernel& a, const BuiltKernel& b) {
    return std::tie(a.interface, a.kernel) < std::tie(b.interface, b.kernel);
  });
  return built;
}

void Op::Instance::drop(const std::set<const BuiltEntry*>& victims, Retired& retired) {
  const std::lock_guard lock(binding.mutex);
  const Binding* now = binding.current.load(std::memory_order_acquire);
  if (now == nullptr) return;
  if (auto next = now->without(victims)) publish(std::move(next), retired);
}

void Engine::Internals::keep_bounds(const BuiltEntry& newest) {
  const auto victims = builds.victims(options.built_entries, newest);
  if (victims.empty()) return;
  std::set<const BuiltEntry*> chosen;
  for (const auto& victim : victims) chosen.insert(victim.get());
  std::vector<std::unique_ptr<const Binding>>
      retired;  // dropped after the lock, as are the victims
  const std::lock_guard lock(instances_mutex);
  for (const auto& [key, instance] : instances) instance->drop(chosen, retired);
}

EngineCounters Engine::counters() const {
  EngineCounters c;
  {
    const std::lock_guard lock(internals_->instances_mutex);
    c.instances = internals_->instances.size();
  }
  c.kernels_built = internals_->builds.builds();
  c.kernels_live = internals_->builds.live();
  c.kernels_evicted = internals_->builds.evicted();
  c.call_keys_evicted = internals_->call_keys_evicted.load(std::memory_order_relaxed);
  c.sub_ops_evicted = internals_->sub_ops_evicted.load(std::memory_order_relaxed);
  c.kernels_tuned = internals_->kernels_tuned.load(std::memory_order_relaxed);
  return c;
}

}  // namespace tenon
