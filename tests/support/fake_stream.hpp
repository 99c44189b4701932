// Streams and events of the mock device kind `fake`: a thread per stream, work in order, capture
// and replay.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tenon::test {

using Work = std::function<void()>;

/// A stream handle of kind `fake` points to one of these. Kernels of any plugin enqueue through the
/// function pointer, which is the owner's: so handle and code stay on one side.
struct FakeStream {
  /// Copies `size_bytes` of `arguments` and calls `work` on the copy, after everything enqueued
  /// before.
  void (*enqueue)(FakeStream* stream,
                  void (*work)(void* arguments),
                  const void* arguments,
                  std::uint64_t size_bytes);
};

/// The work of a captured stream.
struct FakeGraph {
  std::vector<Work> steps;
};

/// The owner's side of a stream. Never joined: a stream that is destroyed finishes its work first.
class StreamQueue : public FakeStream {
 public:
  StreamQueue() : FakeStream{&enqueue_bytes}, worker_([this] { run(); }) {}
  StreamQueue(const StreamQueue&) = delete;
  StreamQueue& operator=(const StreamQueue&) = delete;
  ~StreamQueue() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    worker_.join();
  }

  void push(Work work) {
    {
      const std::lock_guard lock(mutex_);
      if (capture_ != nullptr) {
        capture_->steps.push_back(std::move(work));
        return;
      }
      queue_.push_back(std::move(work));
    }
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return queue_.empty() && !running_; });
  }
  [[nodiscard]] bool capturing() {
    const std::lock_guard lock(mutex_);
    return capture_ != nullptr;
  }
  /// False if it captures already.
  bool begin_capture() {
    const std::lock_guard lock(mutex_);
    if (capture_ != nullptr) return false;
    capture_ = std::make_unique<FakeGraph>();
    return true;
  }
  /// Null if it does not capture.
  std::unique_ptr<FakeGraph> end_capture() {
    const std::lock_guard lock(mutex_);
    return std::move(capture_);
  }

 private:
  static void enqueue_bytes(FakeStream* stream,
                            void (*work)(void*),
                            const void* arguments,
                            std::uint64_t size_bytes) {
    const auto* first = static_cast<const unsigned char*>(arguments);
    std::vector<unsigned char> copy(first, first + size_bytes);
    static_cast<StreamQueue*>(stream)->push([work, copy]() mutable { work(copy.data()); });
  }
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const Work work = std::move(queue_.front());
      queue_.pop_front();
      running_ = true;
      lock.unlock();
      work();
      lock.lock();
      running_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  std::unique_ptr<FakeGraph> capture_;
  bool running_ = false;
  bool stopping_ = false;
  std::thread worker_;  // last: it starts when everything else is there
};

/// An event: done when the work before its record has passed. Work that names it may outlive it.
class EventState {
 public:
  /// To be called when it is enqueued; returns what the stream must run.
  Work record() {
    const std::lock_guard lock(state_->mutex);
    const std::uint64_t generation = ++state_->recorded;
    return [state = state_, generation] {
      {
        const std::lock_guard inner(state->mutex);
        if (generation > state->passed) state->passed = generation;
        state->passed_at = std::chrono::steady_clock::now();
      }
      state->changed.notify_all();
    };
  }
  /// What a stream must run to wait for the record that is the latest now.
  Work wait() {
    const std::lock_guard lock(state_->mutex);
    const std::uint64_t generation = state_->recorded;
    return [state = state_, generation] {
      std::unique_lock inner(state->mutex);
      state->changed.wait(inner, [&] { return state->passed >= generation; });
    };
  }
  [[nodiscard]] bool done() const {
    const std::lock_guard lock(state_->mutex);
    return state_->passed == state_->recorded;
  }
  [[nodiscard]] std::chrono::steady_clock::time_point passed_at() const {
    const std::lock_guard lock(state_->mutex);
    return state_->passed_at;
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t recorded = 0;
    std::uint64_t passed = 0;
    std::chrono::steady_clock::time_point passed_at;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// Device addresses are host addresses moved to where nothing can be mapped, so that a host that
/// reads or writes device memory by itself dies at once. Offsets may be added to them.
constexpr std::uintptr_t kFakeAddressShift = std::uintptr_t{1} << 60;
inline void* to_fake_address(void* host) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(host) + kFakeAddressShift);
}
inline bool is_fake_address(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) >= kFakeAddressShift;
}
/// What a kernel of kind `fake` does with every pointer that it gets, workspaces included.
template <class T>
T* from_fake_address(T* address) {
  if (!is_fake_address(address)) return address;
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(address) - kFakeAddressShift);
}

}  // namespace tenon::test
