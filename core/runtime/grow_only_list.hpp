// What an instance makes once and keeps to its end, read without a lock.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

namespace tenon {

/// Items are added, never changed or taken out, so pointers to them hold as long as the list.
template <class T>
class GrowOnlyList {
 public:
  /// The latest item that `is_it` accepts, or null. [any-thread] No lock.
  template <class IsIt>
  [[nodiscard]] const T* find(const IsIt& is_it) const {
    const Node* node = latest_.load(std::memory_order_acquire);
    while (node != nullptr && !is_it(node->item)) node = node->next;
    return node == nullptr ? nullptr : &node->item;
  }
  /// Takes an item, unless another thread was first: then gives that one's, and the item stays the
  /// caller's, to end once he holds no lock. @pre Writers hold one lock.
  template <class IsIt>
  const T& add(T&& item, const IsIt& is_it) {
    if (const T* earlier = find(is_it)) return *earlier;
    nodes_.push_back(std::make_unique<const Node>(
        Node{std::move(item), latest_.load(std::memory_order_relaxed)}));
    latest_.store(nodes_.back().get(), std::memory_order_release);
    return nodes_.back()->item;
  }

 private:
  struct Node {
    T item;
    const Node* next = nullptr;
  };
  std::atomic<const Node*> latest_{nullptr};
  std::vector<std::unique_ptr<const Node>> nodes_;
};

}  // namespace tenon
