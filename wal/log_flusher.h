// SPDX-License-Identifier: GPL-2.0-only
// LogFlusher: the thread "log-flush" of a log. It leads commits when many wait; makes the log
// durable once per second, when half of the ring waits for the disk, and on request; and puts a
// mark at the end of an idle log, which tells it from a damaged one.
// Thread safety: all members unless said otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/thread_loop.h"
#include "wal/commit_queue.h"
#include "wal/group.h"
#include "wal/log_buffer.h"
#include "wal/log_space.h"

namespace rowan {

class LogFlusher {
 public:
  /// The parts of the log that it works on; they outlive it.
  struct Parts {
    LogBuffer* buffer = nullptr;
    CommitQueue* queue = nullptr;
    LogSpace* space = nullptr;
    const std::atomic<bool>* stopped = nullptr;  ///< the log
  };
  /// `lead` makes the log durable as its leader; true if the thread must lead again.
  LogFlusher(Parts parts, std::function<bool()> lead);

  Status Start() { return thread_.Start(); }
  void Stop() { thread_.Stop(); }
  void Wake() { thread_.Wake(); }
  /// Asks for the log to be made durable up to `lsn` at once.
  void WantDurable(Lsn lsn);
  /// No more marks will be appended: the log is being closed.
  void EndMarks();

 private:
  ThreadLoop::Next Flush();
  bool WantsFlush();
  bool AppendMark();

  const Parts parts_;
  const std::function<bool()> lead_;
  std::atomic<Lsn> wanted_{kNoLsn};  // raised by WantDurable, read by the thread

  Mutex mark_mutex_{LatchRank::kLogMark};
  bool closing_ ROWAN_GUARDED_BY(mark_mutex_) = false;  // no more marks
  GroupBuilder mark_;                                   // owned by the thread, like all below
  Lsn mark_candidate_;                                  // the tail at the previous tick
  uint64_t mark_considered_nanos_ = 0;
  uint64_t flushed_at_nanos_;

  ThreadLoop thread_;
};

}  // namespace rowan
