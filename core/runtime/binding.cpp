// Look-up and growth of the call table.
#include "runtime/binding.hpp"

#include <algorithm>
#include <bit>

#include "runtime/tuning.hpp"

namespace tenon {
namespace {

void insert(std::vector<std::shared_ptr<const CallEntry>>& slots,
            std::shared_ptr<const CallEntry> entry) {
  const std::size_t mask = slots.size() - 1;
  std::size_t at = entry->hash & mask;
  while (slots[at] != nullptr) at = (at + 1) & mask;
  slots[at] = std::move(entry);
}

}  // namespace

const std::shared_ptr<const CallEntry>* Binding::find(std::uint64_t hash,
                                                      std::span<const std::uint64_t> key) const {
  if (slots.empty()) return nullptr;
  const std::size_t mask = slots.size() - 1;
  for (std::size_t at = hash & mask; slots[at] != nullptr; at = (at + 1) & mask) {
    const CallEntry& entry = *slots[at];
    if (entry.hash == hash &&
        std::equal(entry.key.begin(), entry.key.end(), key.begin(), key.end()))
      return &slots[at];
  }
  return nullptr;
}

CallEntry::~CallEntry() {
  delete example.load(std::memory_order_acquire);
  // Copies that fill padding may still be on a stream.
  if (pads != nullptr && built != nullptr)
    built->devices().let_go_when_passed(built->device(), std::move(pads));
}

const LaunchExample& CallEntry::example_of(const tenon_launch& launch) const {
  if (const LaunchExample* kept = example.load(std::memory_order_acquire)) return *kept;
  auto made = std::make_unique<const LaunchExample>(launch);
  const LaunchExample* none = nullptr;
  if (example.compare_exchange_strong(none, made.get(), std::memory_order_acq_rel))
    return *made.release();
  return *none;
}

std::unique_ptr<Binding> Binding::like_this() const {
  auto next = std::make_unique<Binding>();
  next->target = target;
  next->generation = generation;
  next->default_version = default_version;
  next->hand = hand;
  return next;
}

void Binding::fill(std::vector<std::shared_ptr<const CallEntry>> entries) {
  count = entries.size();
  slots.resize(std::bit_ceil(std::max<std::size_t>(entries.size() * 2, 2)));
  for (auto& e : entries) insert(slots, std::move(e));
}

std::unique_ptr<Binding> Binding::without(const std::set<const BuiltEntry*>& kernels) const {
  std::vector<std::shared_ptr<const CallEntry>> kept;
  for (const auto& slot : slots) {
    if (slot != nullptr && !kernels.contains(slot->built.get())) kept.push_back(slot);
  }
  if (kept.size() == count) return nullptr;
  auto next = like_this();
  next->fill(std::move(kept));
  return next;
}

std::unique_ptr<Binding> Binding::with(std::shared_ptr<const CallEntry> entry,
                                       std::size_t limit,
                                       std::size_t& evicted) const {
  auto next = like_this();
  std::vector<std::shared_ptr<const CallEntry>> kept;
  for (const auto& slot : slots) {
    if (slot != nullptr) kept.push_back(slot);
  }
  evicted = 0;
  if (kept.size() >= std::max<std::size_t>(limit, 1)) {
    // CLOCK: the first one from the hand on that was not used since the hand passed it last.
    for (std::size_t steps = 0; steps <= 2 * kept.size(); ++steps) {
      next->hand = next->hand % kept.size();
      const auto& candidate = kept[next->hand];
      if (!candidate->used.exchange(false, std::memory_order_relaxed)) break;
      ++next->hand;
    }
    next->hand = next->hand % kept.size();
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(next->hand));
    evicted = 1;
  }
  kept.push_back(std::move(entry));
  next->fill(std::move(kept));
  return next;
}

}  // namespace tenon
