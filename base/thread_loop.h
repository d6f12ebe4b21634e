// SPDX-License-Identifier: GPL-2.0-only
// The skeleton of every background thread: a name, a tick, a bounded unit of work, an interruptible
// wait and a clean stop. Work that runs out of memory is retried at the next tick. Thread safety:
// Wake and Stop from any thread; Stop is idempotent and joins.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/status.h"

namespace rowan {

class ThreadLoop {
 public:
  enum class Next { kWait, kAgain };  ///< sleep until woken or the tick, or run again at once
  using Work = std::function<Next()>;

  /// Thread names show as "rowan-<name>" (at most 15 bytes in the kernel).
  ThreadLoop(std::string name, std::chrono::milliseconds tick, Work work);
  ~ThreadLoop();
  ThreadLoop(const ThreadLoop&) = delete;
  ThreadLoop& operator=(const ThreadLoop&) = delete;

  /// As StartThread. May be retried.
  Status Start();
  /// Asks the loop to run its work now. Cheap when it is already awake.
  void Wake();
  /// Finishes the unit of work in progress and joins.
  void Stop();
  [[nodiscard]] bool stopping() const { return stopping_.load(std::memory_order_acquire); }

 private:
  void Run();
  void RunWork();
  Next WorkOnce();

  const std::string name_;
  const std::string kernel_name_;
  const std::chrono::milliseconds tick_;
  const Work work_;
  Mutex mutex_{LatchRank::kThreadWake};
  Condition wake_;
  std::atomic<bool> wake_requested_{false};  // set by Wake, taken by the loop before its work
  std::atomic<bool> stopping_{false};
  Mutex lifecycle_mutex_{LatchRank::kThreadLifecycle};  // orders Start and Stop
  std::thread thread_ ROWAN_GUARDED_BY(lifecycle_mutex_);
};

}  // namespace rowan
