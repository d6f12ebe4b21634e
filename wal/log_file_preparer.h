// SPDX-License-Identifier: GPL-2.0-only
// LogFilePreparer: the thread "log-files" of a log. It keeps files ready ahead of the tail, so that
// appending never waits for one, and recycles or removes those that recovery does not need. On a
// full disk it first gives up the holds of readers that keep old files; then writers wait for the
// checkpoint. Thread safety: all members unless said otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/ids.h"
#include "base/status.h"
#include "base/thread_loop.h"
#include "wal/commit_queue.h"
#include "wal/log_buffer.h"
#include "wal/log_file_set.h"
#include "wal/log_space.h"
#include "wal/log_writer.h"

namespace rowan {

class LogFilePreparer {
 public:
  /// The parts of the log that it works on; they outlive it.
  struct Parts {
    LogFileSet* files = nullptr;
    const LogBuffer* buffer = nullptr;
    const CommitQueue* queue = nullptr;
    LogWriter* writer = nullptr;
    LogSpace* space = nullptr;
    const std::atomic<bool>* stopped = nullptr;  ///< the log
  };
  /// `fail` stops the log; called on the thread, without locks.
  LogFilePreparer(Parts parts, std::function<void(const char* what, Status status)> fail);

  Status Start() { return thread_.Start(); }
  void Stop() { thread_.Stop(); }
  void Wake() { thread_.Wake(); }
  /// A waiter for log space wants files up to `end`.
  void WantUpTo(Lsn end);
  /// Leader only: the log is durable up to here. Wakes the thread when that is in another file.
  /// Call before leadership is handed on, since a later leader and a checkpoint may release that
  /// file.
  void NoteDurable(Lsn position);

 private:
  ThreadLoop::Next Step();
  /// Recovery needs nothing below it.
  [[nodiscard]] Lsn SafeLsn() const;
  /// A step lacked disk space or resources and has changed nothing.
  ThreadLoop::Next HandleFullDisk(Lsn safe);

  const Parts parts_;
  const std::function<void(const char* what, Status status)> fail_;
  std::atomic<Lsn> wanted_end_{kNoLsn};  // raised by waiters, read by the thread
  std::atomic<Lsn> tail_file_end_;       // stored by the leader: of the newest byte's file
  bool out_of_space_ = false;            // owned by the thread: the warning was given
  ThreadLoop thread_;
};

}  // namespace rowan
