// Finding, making and letting go of sub-ops.
#include "runtime/sub_ops.hpp"

#include "runtime/instance.hpp"

namespace tenon {

// ---- The table
// ---------------------------------------------------------------------------------------

std::shared_ptr<SubOp> SubOpTable::find(std::uint32_t stage,
                                        std::span<const std::int64_t> identity) const {
  const auto at = std::find_if(
      all_.begin(), all_.end(), [&](const auto& sub) { return sub->is_for(stage, identity); });
  return at == all_.end() ? nullptr : *at;
}

void SubOpTable::evict_one(SubOps& evicted) {
  for (std::size_t steps = 0; steps < 2 * all_.size(); ++steps) {
    hand_ %= all_.size();
    SubOp& candidate = *all_[hand_];
    if (candidate.is_given || candidate.used.exchange(false, std::memory_order_relaxed)) {
      ++hand_;
      continue;
    }
    candidate.held.store(false, std::memory_order_relaxed);
    evicted.push_back(std::move(all_[hand_]));
    all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(hand_));
    return;
  }
}

std::shared_ptr<SubOp> SubOpTable::hold(std::shared_ptr<SubOp> candidate,
                                        std::size_t limit,
                                        SubOps& evicted) {
  if (auto found = find(candidate->stage, candidate->identity)) {
    found->mark_used();
    return found;
  }
  if (all_.size() >= std::max<std::size_t>(limit, 1)) evict_one(evicted);
  candidate->held.store(true, std::memory_order_relaxed);
  candidate->mark_used();
  all_.push_back(candidate);
  return candidate;
}

// ---- An instance's
// ---------------------------------------------------------------------------------------

Result<std::shared_ptr<SubOp>> Op::Instance::make_sub_op(
    std::uint32_t stage,
    std::span<const std::int64_t> identity,
    const std::function<std::vector<NamedValue>()>& params) const {
  const StageDecl& declared = decl().stages[stage];
  auto sub = std::make_shared<SubOp>();
  sub->stage = stage;
  sub->identity.assign(identity.begin(), identity.end());
  const auto& given = construction.options.delegates;
  if (const auto own = given.find(declared.name); own != given.end()) {
    sub->op = own->second;
    sub->is_given = true;
    return sub;
  }
  const OpClass* op_class = nullptr;
  TENON_TRY_ASSIGN(op_class, construction.snapshot->op(declared.op));
  InstanceOptions options;
  const InstanceOptions& asked = asking().construction.options;
  options.deterministic = asked.deterministic;
  options.copies = asked.copies;
  options.assumed_kinds = asked.assumed_kinds;
  const std::vector<NamedValue> values = params();
  auto made = make_instance(
      construction.engine, construction.snapshot, *op_class, values, options, &asking());
  if (!made) return fail(std::move(made).error());
  sub->op = std::make_shared<Op>(wrap(std::move(*made)));
  return sub;
}

Result<Op*> Op::Instance::delegate_for(ThreadState& state,
                                       std::uint32_t stage,
                                       std::span<const std::int64_t> identity,
                                       const std::function<std::vector<NamedValue>()>& params) {
  std::shared_ptr<SubOp> sub;
  SubOps& mine = state.sub_ops;
  for (auto at = mine.rbegin(); at != mine.rend(); ++at) {
    if (!(*at)->is_for(stage, identity)) continue;
    if (!(*at)->held.load(std::memory_order_relaxed)) {
      sub = *at;  // evicted since: it is held again, unless another one took its place
      continue;
    }
    (*at)->mark_used();
    std::rotate(at.base() - 1, at.base(), mine.end());
    return mine.back()->op.get();
  }
  if (sub == nullptr) {
    const std::lock_guard lock(running.mutex);
    sub = running.sub_ops.find(stage, identity);
  }
  // Made without the lock: making an instance registers it.
  if (sub == nullptr) TENON_TRY_ASSIGN(sub, make_sub_op(stage, identity, params));
  SubOps evicted;  // outlives the lock: the end of an instance takes others
  {
    const std::lock_guard lock(running.mutex);
    sub = running.sub_ops.hold(std::move(sub), engine().options.call_keys_per_instance, evicted);
  }
  engine().sub_ops_evicted.fetch_add(evicted.size(), std::memory_order_relaxed);
  std::erase(mine, sub);
  mine.push_back(sub);
  return sub->op.get();
}

SubOps Op::Instance::held_sub_ops() const {
  const std::lock_guard lock(running.mutex);
  return running.sub_ops.all();
}

}  // namespace tenon
