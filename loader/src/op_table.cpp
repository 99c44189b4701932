// The bounded table of instances: exact recency where the lock is held, a mark where it is not.
#include "tenon/loader/op_table.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "tenon/loader/typed_op.hpp"

namespace tenon {
namespace {

std::uint64_t next_generation() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void append_bytes(std::string& key, std::uint64_t bits) {
  for (int shift = 0; shift < 64; shift += 8) key += static_cast<char>((bits >> shift) & 0xffu);
}

void append_text(std::string& key, std::string_view text) {
  append_bytes(key, text.size());
  key += text;
}

/// A value as bytes, such that different values differ: floats by bits, with one NaN.
void append_value(std::string& key, const Value& value) {
  key += static_cast<char>('a' + value.data().index());
  if (const auto* flag = value.get_if<bool>()) {
    key += *flag ? '1' : '0';
  } else if (const auto* integer = value.get_if<std::int64_t>()) {
    append_bytes(key, static_cast<std::uint64_t>(*integer));
  } else if (const auto* real = value.get_if<double>()) {
    append_bytes(key,
                 std::bit_cast<std::uint64_t>(
                     std::isnan(*real) ? std::numeric_limits<double>::quiet_NaN() : *real));
  } else if (const auto* list = value.get_if<ValueList>()) {
    append_bytes(key, list->items.size());
    for (const Value& item : list->items) append_value(key, item);
  } else if (const auto* adt = value.get_if<AdtValue>()) {
    append_text(key, adt->constructor);
    for (const auto& [name, field] : adt->fields) {
      append_text(key, name);
      append_value(key, field);
    }
  } else {
    append_text(key, value.to_string());
  }
}

std::string key_of(std::string_view op, std::span<const NamedValue> params) {
  std::string key(op);
  for (const auto& [name, value] : params) {
    append_text(key, name);
    append_value(key, value);
  }
  return key;
}

}  // namespace

OpTable::Slot::Slot(std::unique_ptr<TypedOp> made) : op(std::move(made)) {}
OpTable::Slot::~Slot() = default;

struct OpTable::Entries {
  struct Entry {
    std::string key;
    std::shared_ptr<Slot> slot;
  };
  std::mutex mutex;
  std::list<Entry> by_use;  // the last used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key;
  // Evicted, but perhaps remembered by threads: they must not outlive the Runtime.
  std::vector<std::weak_ptr<Slot>> evicted;

  void keep_apart(const std::shared_ptr<Slot>& slot) {
    std::erase_if(evicted, [](const std::weak_ptr<Slot>& each) { return each.expired(); });
    evicted.push_back(slot);
  }

  void drop(std::list<Entry>::iterator at) {
    keep_apart(at->slot);
    by_key.erase(at->key);
    by_use.erase(at);
  }

  /// Makes room for one more. An entry that was used since it was last looked at gets another
  /// round.
  void shrink_below(std::size_t capacity) {
    while (!by_use.empty() && by_use.size() >= capacity) {
      const auto last = std::prev(by_use.end());
      if (last->slot->used.exchange(false, std::memory_order_relaxed)) {
        by_use.splice(by_use.begin(), by_use, last);
      } else {
        drop(last);
      }
    }
  }
};

OpTable::OpTable(std::size_t capacity)
    : capacity_(std::max<std::size_t>(capacity, 1)),
      generation_(next_generation()),
      entries_(std::make_unique<Entries>()) {}

OpTable::~OpTable() {
  clear();
  for (const std::weak_ptr<Slot>& evicted : entries_->evicted) {
    if (const auto slot = evicted.lock()) slot->op.reset();
  }
}

Result<std::shared_ptr<OpTable::Slot>> OpTable::find(std::string_view op,
                                                     std::span<const NamedValue> params,
                                                     const Make& make) {
  std::string key = key_of(op, params);
  const std::uint64_t before = generation();
  {
    const std::lock_guard lock(entries_->mutex);
    if (const auto found = entries_->by_key.find(key); found != entries_->by_key.end()) {
      entries_->by_use.splice(entries_->by_use.begin(), entries_->by_use, found->second);
      return found->second->slot;
    }
  }
  auto slot = std::make_shared<Slot>(make());
  TENON_TRY(slot->op->made());
  const std::lock_guard lock(entries_->mutex);
  if (generation() != before) {
    // Made of a snapshot that is not the current one any more: for this call only.
    entries_->keep_apart(slot);
    return slot;
  }
  if (const auto found = entries_->by_key.find(key); found != entries_->by_key.end()) {
    return found->second->slot;  // another thread was faster
  }
  entries_->shrink_below(capacity_);
  entries_->by_use.push_front({std::move(key), slot});
  entries_->by_key.emplace(entries_->by_use.front().key, entries_->by_use.begin());
  return slot;
}

Result<std::shared_ptr<OpTable::Slot>> OpTable::once(const Make& make) {
  auto slot = std::make_shared<Slot>(make());
  TENON_TRY(slot->op->made());
  const std::lock_guard lock(entries_->mutex);
  entries_->keep_apart(slot);
  return slot;
}

void OpTable::clear() {
  const std::lock_guard lock(entries_->mutex);
  generation_.store(next_generation(), std::memory_order_release);
  while (!entries_->by_use.empty()) entries_->drop(entries_->by_use.begin());
}

std::size_t OpTable::size() const {
  const std::lock_guard lock(entries_->mutex);
  return entries_->by_use.size();
}

}  // namespace tenon
