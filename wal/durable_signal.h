// SPDX-License-Identifier: GPL-2.0-only
// DurableSignal: threads that wait for the log with a time limit sleep here. Committers do not:
// they have their own wake-ups (wal/commit_queue.h). While no thread waits, raising it costs an
// atomic add. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/mutex.h"

namespace rowan {

class DurableSignal {
 public:
  /// Call after a change to anything that waiters check.
  void Raise() {
    // Writes to the count, as WaitFor does: the later of the two sees everything before the earlier
    // one. So either we see the waiter, or it sees the change.
    if (waiters_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
    // Taken so that a waiter that has already checked is asleep before the call.
    { const MutexLock lock(&mutex_); }
    changed_.NotifyAll();
  }

  /// Sleeps until `done()` holds or `limit` has passed; returns done().
  template <typename Done>
  bool WaitFor(std::chrono::nanoseconds limit, Done done) {
    const auto end = std::chrono::steady_clock::now() + limit;
    const MutexLock lock(&mutex_);
    waiters_.fetch_add(1, std::memory_order_acq_rel);
    bool in_time = true;
    bool result = done();
    while (!result && in_time) {
      in_time = changed_.WaitUntil(&mutex_, end);
      result = done();
    }
    waiters_.fetch_sub(1, std::memory_order_relaxed);
    return result;
  }

 private:
  std::atomic<uint32_t> waiters_{0};
  Mutex mutex_{LatchRank::kDurableSignal};
  Condition changed_;
};

}  // namespace rowan
