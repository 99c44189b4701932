// The sub-ops that a composite instance holds: a bounded table, and what each thread keeps of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tenon/core/op.hpp"

namespace tenon {

/// A sub-op and what it was made for.
struct SubOp {
  std::uint32_t stage = 0;
  std::vector<std::int64_t> identity;
  std::shared_ptr<Op> op;
  bool is_given = false;          ///< by the caller at construction: never let go
  std::atomic<bool> held{false};  ///< it is in the instance's table
  std::atomic<bool> used{true};   ///< CLOCK's mark
  [[nodiscard]] bool is_for(std::uint32_t s, std::span<const std::int64_t> i) const {
    return stage == s && std::ranges::equal(identity, i);
  }
  void mark_used() {
    if (!used.load(std::memory_order_relaxed)) used.store(true, std::memory_order_relaxed);
  }
};
using SubOps = std::vector<std::shared_ptr<SubOp>>;

/// The sub-ops of an instance, in the order in which they were made. Its user locks.
class SubOpTable {
 public:
  /// The held one of the same stage and identity, or `candidate`, which is held from now on. What
  /// was not used lately goes to `evicted` where there would be more than `limit`.
  std::shared_ptr<SubOp> hold(std::shared_ptr<SubOp> candidate, std::size_t limit, SubOps& evicted);
  [[nodiscard]] std::shared_ptr<SubOp> find(std::uint32_t stage,
                                            std::span<const std::int64_t> identity) const;
  [[nodiscard]] const SubOps& all() const { return all_; }
  /// Gives up all of them.
  [[nodiscard]] SubOps release() { return std::move(all_); }

 private:
  void evict_one(SubOps& evicted);

  SubOps all_;
  std::size_t hand_ = 0;
};

}  // namespace tenon
