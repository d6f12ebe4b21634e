// SPDX-License-Identifier: GPL-2.0-only
// What a Log is made of. Private to wal/log*.cc.
//
// Threads: "log-flush" leads when many wait, flushes once per second and when half of the ring
// waits for the disk; "log-files" keeps files ready.
// Locks, in order of acquisition: mark_mutex, then any one lock of a part; parts never call each
// other with a lock held, except the writer (its mutex -> the file set's).
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/function_ref.h"
#include "base/mutex.h"
#include "base/thread_loop.h"
#include "wal/commit_queue.h"
#include "wal/durable_signal.h"
#include "wal/log.h"
#include "wal/log_buffer.h"
#include "wal/log_file_set.h"
#include "wal/log_space.h"
#include "wal/log_writer.h"

namespace rowan {

struct Log::Impl {
  struct Setup {
    LogFileSet::Options files;
    uint64_t capacity_bytes = 0;
    uint64_t buffer_bytes = 0;
    Lsn checkpoint;
    Lsn end;
    uint32_t epoch = 0;
    std::unique_ptr<SyncStrategy> strategy;
  };
  Impl(std::unique_ptr<LogFileSet> file_set, Setup setup, std::function<void()> on_stop);
  ~Impl();

  void Start();
  void StopThreads();
  /// Once: stops everything and tells the engine. Later calls do nothing.
  void Fail(const char* what, Status status);
  /// Leader only. True if the caller, the flusher, must lead again.
  [[nodiscard]] bool LeadRound(CommitQueue::Leader leader);
  Status WaitDurable(Lsn lsn);
  Status WaitDurableFor(Lsn lsn, uint64_t limit_nanos, FunctionRef<bool()> interrupted);

  // Bodies of the background threads.
  ThreadLoop::Next Flush();
  ThreadLoop::Next KeepFilesReady();
  bool WantsFlush();
  bool AppendMark();
  [[nodiscard]] Lsn SafeLsn() const;

  std::function<void()> on_stop;
  std::unique_ptr<LogFileSet> files;
  LogBuffer buffer;
  CommitQueue queue;
  LogWriter writer;
  LogSpace pressure;

  DurableSignal durable_signal;  // raised when the durable LSN moved or the log stopped
  std::atomic<bool> stopped{false};
  std::atomic<uint64_t> flush_wanted{0};      // raised by WaitDurableFor, read by log-flush
  std::atomic<uint64_t> files_wanted_end{0};  // raised by waiters, read by log-files
  std::atomic<uint64_t> tail_file_end{0};     // stored by the leader: of the newest byte's file

  Mutex mark_mutex{LatchRank::kLogMark};
  bool closing ROWAN_GUARDED_BY(mark_mutex) = false;  // no marks any more
  GroupBuilder mark;                                  // owned by log-flush, as all below
  Lsn mark_candidate;                                 // the tail at the tick before
  uint64_t mark_considered_nanos = 0;
  uint64_t flushed_at_nanos = MonotonicNanos();
  bool out_of_space = false;  // owned by log-files: the warning was given

  ThreadLoop flush_thread;
  ThreadLoop files_thread;
};

}  // namespace rowan
