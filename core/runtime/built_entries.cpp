// Building once, and destroying after the last launch has passed.
#include "runtime/built_entries.hpp"

#include "runtime/plugin_errors.hpp"
#include "runtime/streams.hpp"
#include "tenon/core/plugin_calls.hpp"

namespace tenon {

Error launch_error(const BuiltEntry& entry, tenon_status status, const tenon_reason& reason) {
  // What an earlier launch left behind is not this one's failure.
  if (auto late = entry.devices().late_error(entry.device(), status, entry.name()))
    return *std::move(late);
  return plugin_error(
      entry.plugin(), entry.description(), "the launch", status, reason, ErrorCode::kLaunchFailed);
}

std::string BuiltEntry::description() const {
  if (type_ != nullptr)
    return "kernel type '" + type_->qualified + "' of interface '" + type_->interface + "'";
  return "target '" + target_->qualified + "'";
}

// A kernel that launches no more, destroyed at its end.
struct BuiltEntry::Launched {
  Launched(const tenon_kernel& built, const PluginInfo& of, std::string qualified)
      : kernel(built), plugin(of), name(std::move(qualified)) {}
  ~Launched() { destroy_kernel(kernel, plugin, name); }
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;

  tenon_kernel kernel;
  const PluginInfo& plugin;  // lives as long as the process
  std::string name;
};

BuiltEntry::~BuiltEntry() {
  if (devices_->is_of_parent(*device_)) return;  // to be called there, not in a forked child
  // A launch may still be on a stream. Rare: eviction, or the end of the last instance.
  devices_->let_go_when_passed(*device_, std::make_shared<Launched>(kernel_, plugin(), name()));
}

void destroy_kernel(const tenon_kernel& kernel,
                    const PluginInfo& plugin,
                    const std::string& qualified) {
  tenon_reason reason = detail::empty_reason();
  const tenon_status status = call_plugin("destroy", qualified, reason, [&] {
    kernel.destroy(kernel.state);
    return TENON_OK;
  });
  if (status != TENON_OK)
    log_for_plugin(plugin,
                   "destroy of a kernel of '" + qualified + "' failed: " + detail::text_of(reason));
}

Result<std::shared_ptr<BuiltEntry>> BuildPool::get(
    const std::vector<std::uint64_t>& identity,
    const std::function<Result<std::shared_ptr<BuiltEntry>>()>& build,
    bool& built) {
  built = false;
  std::shared_ptr<Pending> mine;
  {
    std::unique_lock lock(mutex_);
    if (const auto at = entries_.find(identity); at != entries_.end()) {
      if (auto entry = at->second.lock()) return entry;
    }
    if (const auto at = pending_.find(identity); at != pending_.end()) {
      const std::shared_ptr<Pending> theirs = at->second;
      changed_.wait(lock, [&] { return theirs->done; });
      if (theirs->error) return fail(*theirs->error);
      return theirs->entry;
    }
    mine = std::make_shared<Pending>();
    pending_.emplace(identity, mine);
  }
  // Nobody may wait for a build that never ends, whatever ends this thread.
  const Unfinished unfinished{*this, identity, *mine};
  Result<std::shared_ptr<BuiltEntry>> result = build();  // no lock is held while the plugin builds
  const std::lock_guard lock(mutex_);
  if (result) {
    mine->entry = *result;
    entries_[identity] = *result;
    built = true;
    builds_.fetch_add(1, std::memory_order_relaxed);
    if (entries_.size() > sweep_at_) {
      std::erase_if(entries_, [](const auto& e) { return e.second.expired(); });
      sweep_at_ = std::max<std::size_t>(256, entries_.size() * 2);
    }
  } else {
    mine->error = result.error();
  }
  return result;
}

BuildPool::Unfinished::~Unfinished() {
  {
    const std::lock_guard lock(pool.mutex_);
    if (pending.entry == nullptr && !pending.error)
      pending.error = Error(ErrorCode::kBuildFailed, "the thread that built the kernel has ended");
    pending.done = true;
    pool.pending_.erase(identity);
  }
  pool.changed_.notify_all();
}

std::vector<std::shared_ptr<BuiltEntry>> BuildPool::victims(std::size_t limit,
                                                            const BuiltEntry& newest) {
  std::vector<std::shared_ptr<BuiltEntry>> chosen;
  const std::lock_guard lock(mutex_);
  if (entries_.size() <= limit) return chosen;
  std::erase_if(entries_, [](const auto& e) { return e.second.expired(); });
  if (entries_.size() <= limit) return chosen;
  const std::size_t wanted = entries_.size() - limit + limit / 8;
  auto at = entries_.lower_bound(hand_);
  for (std::size_t steps = 0; steps < 2 * entries_.size() && chosen.size() < wanted; ++steps) {
    if (at == entries_.end()) at = entries_.begin();
    auto entry = at->second.lock();
    if (entry != nullptr && entry.get() != &newest && !entry->forget_use())
      chosen.push_back(std::move(entry));
    ++at;
  }
  hand_ = at == entries_.end() ? std::vector<std::uint64_t>() : at->first;
  evicted_.fetch_add(chosen.size(), std::memory_order_relaxed);
  return chosen;
}

std::size_t BuildPool::live() const {
  const std::lock_guard lock(mutex_);
  std::size_t n = 0;
  for (const auto& [identity, entry] : entries_) n += entry.expired() ? 0 : 1;
  return n;
}

}  // namespace tenon
