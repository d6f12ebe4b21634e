// SPDX-License-Identifier: GPL-2.0-only
// SyncCrew: runs many independent waits for the disk at once, such as the syncs of the files that a
// checkpoint covers. A device answers many flush requests in about the time of one, and file
// systems combine them in one journal commit; in sequence their times add up. The calling thread
// works too; helpers start when first needed, so a caller with one file never meets another thread.
// Callers may wait for the log or the disk in a unit, not for each other.
// Thread safety: Run from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/thread_loop.h"

namespace rowan {

class SyncCrew {
 public:
  explicit SyncCrew(uint32_t helpers_max) : helpers_max_(helpers_max) {}

  using Unit = std::function<Status(size_t number)>;
  /// Calls `unit` once for each number below `count`, in any order, and waits for all. After a
  /// failure no more begin; returns the first failure.
  Status Run(size_t count, const Unit& unit);

 private:
  struct Job {
    const Unit& unit;
    const size_t count;
    std::atomic<size_t> next{0};
    std::atomic<bool> failed{false};
    // Guarded by mutex_ of the crew.
    uint32_t helpers = 0;  // working on it
    Status status{};
  };

  void Work(Job* job);
  void WakeHelpers(size_t wanted);
  ThreadLoop::Next Help();

  const uint32_t helpers_max_;
  Mutex mutex_{LatchRank::kSyncCrew};
  Condition helped_;                                // a helper left a job
  std::deque<Job*> jobs_ ROWAN_GUARDED_BY(mutex_);  // with units left to take
  Mutex helpers_mutex_{LatchRank::kSyncHelpers};
  /// Destroyed first.
  std::vector<std::unique_ptr<ThreadLoop>> helpers_ ROWAN_GUARDED_BY(helpers_mutex_);
};

}  // namespace rowan
