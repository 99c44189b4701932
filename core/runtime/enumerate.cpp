// What an instance holds, told from its own tables.
#include <algorithm>
#include <set>

#include "runtime/instance.hpp"

namespace tenon {

std::vector<HeldDelegate> Op::held_delegates() const {
  std::vector<HeldDelegate> held;
  const DelegateNode* node = instance_->running.delegates.load(std::memory_order_acquire);
  for (; node != nullptr; node = node->next)
    held.push_back({decl().stages[node->stage].name, node->identity, node->op.get()});
  std::reverse(held.begin(), held.end());
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

namespace {

std::string config_of(const tenon_kernel& kernel) {
  if (kernel.config == nullptr) return {};
  std::string text(256, '\0');
  std::uint64_t size = 0;
  tenon_status status = kernel.config(kernel.state, text.data(), text.size(), &size);
  if (status == TENON_OK && size > text.size() && size < (std::uint64_t{1} << 20)) {
    text.resize(static_cast<std::size_t>(size));
    status = kernel.config(kernel.state, text.data(), text.size(), &size);
  }
  if (status != TENON_OK || size > text.size()) return {};
  text.resize(static_cast<std::size_t>(size));
  return text;
}

}  // namespace

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
  const DelegateNode* node = running.delegates.load(std::memory_order_acquire);
  for (; node != nullptr; node = node->next) {
    auto below = node->op->instance().reachable();
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
                     config_of(entry->kernel()),
                     entry->is_tuned()});
  }
  std::sort(built.begin(), built.end(), [](const BuiltKernel& a, const BuiltKernel& b) {
    return std::tie(a.interface, a.kernel) < std::tie(b.interface, b.kernel);
  });
  return built;
}

}  // namespace tenon
