// SPDX-License-Identifier: GPL-2.0-only
// WriteGate: many hold it shared while they write pages, one closes it to change how pages are
// written. Closing stops new holders, so it waits no longer than those inside need: they wait for
// I/O and the log only, never for one who wants to enter. (std::shared_mutex lets new holders pass
// a waiting exclusive one, which then waits for ever behind writers that overlap.)
// Meets the standard's requirements for std::shared_lock and std::unique_lock. Not recursive.
// Thread safety: all members from any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace rowan {

class WriteGate {
 public:
  void lock_shared() {
    std::unique_lock guard(mutex_);
    opened_.wait(guard, [this] { return !closed_; });
    ++holders_;
  }
  void unlock_shared() {
    {
      std::lock_guard guard(mutex_);
      --holders_;
    }
    left_.notify_one();
  }
  void lock() {
    std::unique_lock guard(mutex_);
    opened_.wait(guard, [this] { return !closed_; });
    closed_ = true;
    left_.wait(guard, [this] { return holders_ == 0; });
  }
  bool try_lock() {
    std::lock_guard guard(mutex_);
    if (closed_ || holders_ > 0) return false;
    closed_ = true;
    return true;
  }
  void unlock() {
    {
      std::lock_guard guard(mutex_);
      closed_ = false;
    }
    opened_.notify_all();
  }
  /// Somebody has closed it or waits for the holders inside to leave.
  [[nodiscard]] bool closed() {
    std::lock_guard guard(mutex_);
    return closed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  std::condition_variable left_;
  uint32_t holders_ = 0;  // guarded by mutex_
  bool closed_ = false;   // guarded by mutex_
};

}  // namespace rowan
