// Work that is done once, or by one thread at a time, with no lock held while it runs.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace tenon::loader {

/// Runs a function once; other threads wait for its result, which is kept (a failure only if
/// `keep_failure`). The function may call foreign code: only a flag tells that it is running. A
/// thread that asks again from inside gets `again` instead of waiting for itself.
template <class T>
class OnceState {
 public:
  template <class F>
  T run(F&& work, T again, bool keep_failure = true) {
    std::unique_lock lock(mutex_);
    if (busy_ && by_ == std::this_thread::get_id()) return again;
    done_.wait(lock, [&] { return !busy_; });
    if (result_) return *result_;
    busy_ = true;
    by_ = std::this_thread::get_id();
    lock.unlock();
    try {
      T result = std::forward<F>(work)();
      lock.lock();
      busy_ = false;
      if (result || keep_failure) result_ = result;
      done_.notify_all();
      return result;
    } catch (...) {  // or the end of the thread: nobody waits for it then
      if (!lock.owns_lock()) lock.lock();
      busy_ = false;
      done_.notify_all();
      throw;
    }
  }

 private:
  std::mutex mutex_;  // guards the fields only
  std::condition_variable done_;
  std::optional<T> result_;
  std::thread::id by_;
  bool busy_ = false;
};

/// Lets one thread at a time run a function, again with no lock held meanwhile.
class TurnState {
  struct Turn {
    TurnState& of;
    ~Turn() {
      {
        const std::lock_guard lock(of.mutex_);
        of.busy_ = false;
      }
      of.free_.notify_one();
    }
  };

 public:
  template <class F>
  auto run(F&& work, decltype(work()) again) -> decltype(work()) {
    {
      std::unique_lock lock(mutex_);
      if (busy_ && by_ == std::this_thread::get_id()) return again;
      free_.wait(lock, [&] { return !busy_; });
      busy_ = true;
      by_ = std::this_thread::get_id();
    }
    // Also where an exception or the end of the thread comes out of it.
    const Turn turn{*this};
    return std::forward<F>(work)();
  }

 private:
  std::mutex mutex_;  // guards the fields only
  std::condition_variable free_;
  std::thread::id by_;
  bool busy_ = false;
};

}  // namespace tenon::loader
