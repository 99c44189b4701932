// The binding of an instance and its undo, the states of threads.
#include "runtime/instance.hpp"

#include <algorithm>
#include <unordered_map>

#include "runtime/fence.hpp"
#include "runtime/hit_memo.hpp"

namespace tenon {
namespace {

constexpr std::uint64_t kOwnTarget = ~std::uint64_t{0};

// This thread's states by instance key. Keys are never reused, so a stale entry is garbage, never
// wrong.
struct RecentState {
  std::uint64_t key = 0;
  ThreadState* state = nullptr;
  Op::Instance* instance = nullptr;
};
constexpr std::size_t kRecentStates = 64;
constinit thread_local std::array<RecentState, kRecentStates> recent_states{};

struct ThreadTable {
  std::unordered_map<std::uint64_t, std::shared_ptr<ThreadState>> all;
  std::size_t sweep_at = 128;

  ThreadTable() = default;
  ThreadTable(const ThreadTable&) = delete;
  ThreadTable& operator=(const ThreadTable&) = delete;
  ~ThreadTable() {
    recent_states.fill({});
    for (auto& [key, state] : all) state->thread_alive.store(false, std::memory_order_release);
  }
};

ThreadTable& thread_table() {
  static thread_local ThreadTable mine;
  return mine;
}

}  // namespace

ThreadState::ThreadState() = default;
ThreadState::~ThreadState() = default;

Op::Instance::~Instance() {
  if (construction.engine != nullptr) {
    const std::lock_guard lock(engine().instances_mutex);
    engine().instances.erase(construction.key);
  }
  // Sub-ops end after the lock: their ends take others.
  SubOps gone;
  std::vector<StageTrace> records;
  const auto take = [](auto& from, auto& into) {
    std::move(from.begin(), from.end(), std::back_inserter(into));
    from.clear();
  };
  const std::lock_guard lock(running.mutex);
  gone = running.sub_ops.release();
  for (const auto& state : running.threads) {
    take(state->sub_ops, gone);
    take(state->record.stages, records);
    take(state->stage_traces, records);
    state->record.stage_count = 0;
    state->instance_alive.store(false, std::memory_order_release);
  }
}

ThreadState& Op::Instance::thread_state() {
  RecentState& slot = recent_states[construction.key % kRecentStates];
  if (slot.key == construction.key) return *slot.state;
  ThreadTable& table = thread_table();
  auto& mine = table.all[construction.key];
  if (mine == nullptr) {
    mine = std::make_shared<ThreadState>();
    mine->frame = plan().make_frame();
    std::vector<std::shared_ptr<ThreadState>> ended;  // outlives the lock: they may hold sub-ops
    const std::lock_guard lock(running.mutex);
    auto& threads = running.threads;
    const auto dead = std::partition(threads.begin(), threads.end(), [](const auto& s) {
      return s->thread_alive.load(std::memory_order_acquire);
    });
    std::move(dead, threads.end(), std::back_inserter(ended));
    threads.erase(dead, threads.end());
    threads.push_back(mine);
  }
  slot = {construction.key, mine.get(), this};
  ThreadState& state = *mine;
  if (table.all.size() > table.sweep_at) {
    std::erase_if(table.all, [](const auto& e) {
      if (e.second->instance_alive.load(std::memory_order_acquire)) return false;
      // Asked once for both: an instance may end between two questions.
      RecentState& recent = recent_states[e.first % kRecentStates];
      if (recent.key == e.first) recent = {};
      return true;
    });
    table.sweep_at = std::max<std::size_t>(128, table.all.size() * 2);
  }
  return state;
}

Op::Instance* Engine::Internals::find_instance(std::uint64_t key) const {
  const RecentState& slot = recent_states[key % kRecentStates];
  if (slot.key == key && slot.instance != nullptr &&
      slot.state->instance_alive.load(std::memory_order_acquire) &&
      &slot.instance->engine() == this)
    return slot.instance;
  const std::lock_guard lock(instances_mutex);
  const auto at = instances.find(key);
  return at == instances.end() ? nullptr : at->second;
}

// ---- Binding
// --------------------------------------------------------------------------------------

const Binding* Op::Instance::protect(ThreadState& state) const {
  const Binding* seen = binding.current.load(std::memory_order_acquire);
  while (true) {
    // Released: what was read of the binding that it named before was read before.
    state.hazard.store(seen, std::memory_order_release);
    reader_fence();
    const Binding* again = binding.current.load(std::memory_order_acquire);
    if (again == seen) return seen;
    seen = again;
  }
}

void Op::Instance::publish(std::unique_ptr<Binding> next, Retired& retired) {
  const Binding* raw = next.get();
  if (next != nullptr) {
    next->serial = binding.next_serial++;
    binding.owned.push_back(std::move(next));
  }
  binding.current.store(raw, std::memory_order_seq_cst);
  reclaim(retired);
}

void Op::Instance::reclaim(Retired& retired) {
  const Binding* current = binding.current.load(std::memory_order_seq_cst);
  if (!writer_fence()) return;  // kept until a later one succeeds
  std::vector<const Binding*> seen;
  {
    const std::lock_guard lock(running.mutex);
    for (const auto& state : running.threads)
      seen.push_back(state->hazard.load(std::memory_order_seq_cst));
  }
  const auto gone = std::partition(binding.owned.begin(), binding.owned.end(), [&](const auto& b) {
    return b.get() == current || std::find(seen.begin(), seen.end(), b.get()) != seen.end();
  });
  std::move(gone, binding.owned.end(), std::back_inserter(retired));
  binding.owned.erase(gone, binding.owned.end());
}

Result<const Binding*> Op::Instance::bound(ThreadState& state, std::uint64_t& published) {
  const std::uint64_t version = default_version();
  const Binding* now = protect(state);
  if (now != nullptr && now->default_version == version) return now;
  TargetChoice choice;
  TENON_TRY_ASSIGN(choice, choose_target(state.frame->device));
  Retired retired;  // outlives the lock: its kernels are destroyed without one
  const std::lock_guard lock(binding.mutex);
  const Binding* current = binding.current.load(std::memory_order_acquire);
  if (current == nullptr || current->default_version != version) {
    auto next = std::make_unique<Binding>();
    // Another default that means the same target keeps what was built.
    if (current != nullptr && current->target.name == choice.name &&
        current->target.kind == choice.kind) {
      next->slots = current->slots;
      next->count = current->count;
    }
    next->target = std::move(choice);
    next->default_version = version;
    next->generation = binding.next_generation++;
    published = next->generation;
    publish(std::move(next), retired);
  }
  // Before the lock is given back: the call that made this binding may fail, and undo it.
  return protect(state);
}

Result<std::unique_ptr<CallFrame>> Op::Instance::checked(const CallArgs& args) const {
  const Construction& settled = *construction.construction;
  auto frame = plan().make_frame();
  if (!plan().check(settled, args, *frame)) return fail(plan().failure(settled, args, *frame));
  return frame;
}

std::uint64_t Op::Instance::default_version() const {
  return has_own_target() ? kOwnTarget : engine().default_version.load(std::memory_order_acquire);
}

void Op::Instance::undo(std::uint64_t published) {
  Retired retired;
  const std::lock_guard lock(binding.mutex);
  const Binding* current = binding.current.load(std::memory_order_acquire);
  if (current == nullptr || current->generation != published) return;
  {
    const std::lock_guard threads(running.mutex);
    for (const auto& state : running.threads) {
      if (state->completed_generation.load(std::memory_order_acquire) == published) return;
    }
  }
  publish(nullptr, retired);
}

std::string Op::Instance::serving_target(ThreadState& state) const {
  const Binding* now = protect(state);
  std::string name = now == nullptr ? std::string() : now->target.name;
  state.hazard.store(nullptr, std::memory_order_release);
  return name;
}

}  // namespace tenon
