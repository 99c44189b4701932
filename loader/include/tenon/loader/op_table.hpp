// The instances behind the free functions of the generated headers: a bounded table in each
// Runtime.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "tenon/core/error.hpp"
#include "tenon/core/value.hpp"

namespace tenon {

class TypedOp;

/// Instances by op and parameters; the one that was not used for longest goes first. [any-thread]
///
/// A thread remembers what it found here together with generation(), and asks again only when that
/// has changed: a hit takes no lock.
class OpTable {
 public:
  /// An instance. Whoever holds it keeps it alive beyond its eviction, until the table ends.
  struct Slot {
    explicit Slot(std::unique_ptr<TypedOp> made);
    ~Slot();
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

    /// Marks it as used. Writes only where it is not marked yet.
    void mark() {
      if (!used.load(std::memory_order_relaxed)) used.store(true, std::memory_order_relaxed);
    }
    std::unique_ptr<TypedOp> op;
    std::atomic<bool> used{false};
  };
  using Make = std::function<std::unique_ptr<TypedOp>()>;

  explicit OpTable(std::size_t capacity);
  /// Ends every instance that came from here, evicted ones included.
  ~OpTable();
  OpTable(const OpTable&) = delete;
  OpTable& operator=(const OpTable&) = delete;

  /// Finds an instance, or makes it, outside the table's lock. One that could not be made is not
  /// kept. @errors what made() of the instance says.
  Result<std::shared_ptr<Slot>> find(std::string_view op,
                                     std::span<const NamedValue> params,
                                     const Make& make);

  /// Makes an instance that the table does not keep and ends with the table at the latest.
  /// @errors what made() of the instance says.
  Result<std::shared_ptr<Slot>> once(const Make& make);

  /// Changes when the registry does; unique in the process.
  [[nodiscard]] std::uint64_t generation() const {
    return generation_.load(std::memory_order_acquire);
  }
  /// Forgets every instance: what is found from now on is made of the current snapshot.
  void clear();
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::size_t capacity() const { return capacity_; }

 private:
  struct Entries;
  std::size_t capacity_;
  std::atomic<std::uint64_t> generation_;
  std::unique_ptr<Entries> entries_;
};

}  // namespace tenon
