// SPDX-License-Identifier: GPL-2.0-only
// Log: the redo log as one endless stream of groups. LSN = byte offset in the stream.
//
// Appending: ReserveOrWait (before any latch) -> Append (no lock: takes a place, copies into a
// ring) -> the end LSN. Durability: leader-follower. A committer that finds no leader writes and
// syncs for all; followers wait for a targeted wake-up; with a deep queue the flusher thread takes
// over leadership. Files: zero-filled ahead in the background, recycled after checkpoints; the
// commit path never changes a file's size. Writes are 4 KiB aligned; the last block is rewritten
// (its old content is a prefix of the new).
//
// Failure: a failed write or sync stops the log for good: every later call returns kStopped, and
// WaitDurable never reports success for bytes not proven durable. Who is told kStopped finds
// stopped() true.
// Locks: those of the parts; parts never call each other with a lock held, except the flusher (its
// mark -> the space), the writer (its mutex -> the file set's).
// Thread safety: everything from any thread unless said otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/status.h"
#include "io/file.h"
#include "wal/commit_queue.h"
#include "wal/control_file.h"
#include "wal/durable_signal.h"
#include "wal/group.h"
#include "wal/log_buffer.h"
#include "wal/log_file_preparer.h"
#include "wal/log_file_set.h"
#include "wal/log_flusher.h"
#include "wal/log_holds.h"
#include "wal/log_latency.h"
#include "wal/log_options.h"
#include "wal/log_space.h"
#include "wal/log_writer.h"

namespace rowan {

struct LogOpening;

/// A part of the log that is kept for a reader; see Log::Hold. Thread safety: all members.
class LogHold {
 public:
  ~LogHold() { holds_->Remove(id_); }
  LogHold(const LogHold&) = delete;
  LogHold& operator=(const LogHold&) = delete;
  /// The reader no longer needs anything below `lsn`. False if the hold was lost.
  bool Advance(Lsn lsn) { return holds_->Advance(id_, lsn); }
  [[nodiscard]] bool lost() const { return holds_->lost(id_); }

 private:
  friend class Log;
  LogHold(LogHolds* holds, LogHolds::Id id) : holds_(holds), id_(id) {}
  LogHolds* const holds_;
  const LogHolds::Id id_;
};

class Log {
 public:
  /// Opens the log for appending at `end` (what recovery found, or 0 in a new instance: the first
  /// LSN handed out is then kFirstLsn). `control` outlives the log; the log's files lie in the same
  /// folder. Creates missing files, makes everything up to `end` durable and increments the epoch.
  static Result<std::unique_ptr<Log>> Open(FileSystem* file_system, const LogOptions& options,
                                           ControlFile* control, Lsn end);
  ~Log();

  static constexpr Lsn kFirstLsn{4096};

  /// Waits until `bytes` more can be appended without overrunning the checkpoint or the ring.
  /// Call before latching anything; return the room with Release (Append does not). kStopped, or
  /// kTooBig when `bytes` could never fit.
  Status ReserveOrWait(uint32_t bytes);
  void Release(uint32_t bytes) { space_.Release(bytes); }

  /// Appends a group and returns its end LSN. Never blocks on I/O within a reservation. In a
  /// stopped log the group is discarded, which is harmless: nothing more is written.
  Lsn Append(GroupBuilder* group);

  /// End of everything appended. A page dirtied before this was read has first_dirty_lsn below it.
  [[nodiscard]] Lsn tail() const { return buffer_.tail(); }
  [[nodiscard]] Lsn durable() const { return queue_.durable(); }
  [[nodiscard]] Lsn written() const { return writer_.written(); }

  /// Returns Ok once the log is durable up to `lsn`; the caller may become the leader and sync.
  Status WaitDurable(Lsn lsn);
  /// Returns Ok once the kernel has the bytes up to `lsn`.
  Status WaitWritten(Lsn lsn);
  /// Commit helper: WaitDurable, WaitWritten or just a wake-up of the flusher.
  Status WaitCommitted(Lsn lsn, Durability durability);
  /// For waiters that may give up: asks the flusher to make the log durable up to `lsn` and waits.
  /// Ok, kLockTimeout after `limit_nanos`, kInterrupted once `interrupted` says so (asked a few
  /// times a second), kStopped. Waits for an LSN beyond the tail as for any other.
  Status WaitDurableFor(Lsn lsn, uint64_t limit_nanos, FunctionRef<bool()> interrupted);

  /// Recovery will not need anything below `lsn`: older files may be recycled. Monotonic.
  void SetCheckpoint(Lsn lsn);
  [[nodiscard]] Lsn checkpoint() const { return space_.checkpoint(); }
  /// How far the tail may be ahead of the checkpoint. The files may exceed it by two files, plus
  /// those that readers hold.
  [[nodiscard]] uint64_t capacity_bytes() const { return space_.capacity_bytes(); }
  /// Takes effect at once, even when smaller: writers then wait for the checkpoint. Files made from
  /// now on have a size that suits it. kInvalidArgument: not within the bounds of
  /// wal/log_options.h.
  Status SetCapacity(uint64_t capacity_bytes);

  /// Keeps the log from `from` on for a reader until the hold is destroyed or lost: when the end of
  /// the log is `bytes_max` ahead of it, or the disk is full (wal/log_holds.h). LogReader reads the
  /// files. kNotFound: that part is already gone. The hold must not outlive the log.
  Result<std::unique_ptr<LogHold>> Hold(const std::string& name, Lsn from, uint64_t bytes_max);
  /// Where the byte of `position` lies, which is durable; nullopt: its file is gone, because the
  /// hold on it was lost.
  [[nodiscard]] std::optional<LogFilePlace> FindPlace(Lsn position) const {
    return files_->FindPlace(position);
  }
  [[nodiscard]] std::vector<LogHolds::Reader> Readers() const { return files_->holds().List(); }
  /// How many files the log has.
  [[nodiscard]] uint64_t files() const { return files_->files(); }
  /// Sets a callback for when the log is so full that a writer must wait; it wakes the cleaner.
  /// Must not call the log. An empty function removes it; no call is in progress afterwards.
  void SetPressureCallback(std::function<void()> callback) {
    space_.SetPressureCallback(std::move(callback));
  }

  /// Switches the sync method, even under load. kUnsupported with the reason when refused.
  Status SetSyncMethod(LogSyncMethod method);
  /// The one in use, never kAuto.
  [[nodiscard]] LogSyncMethod sync_method() const { return writer_.method(); }
  [[nodiscard]] const LatencyHistogram& Latency(LogSyncMethod method, LogPhase phase) const {
    return writer_.latency().Of(method, phase);
  }
  /// A commit took this long, including its wait.
  void NoteCommit(uint64_t nanos) { writer_.NoteCommit(nanos); }

  [[nodiscard]] bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  /// Stops the log because something in a layer above failed (data file write or sync).
  void Stop(const char* reason) { Fail(reason, Status(Code::kStopped)); }

  /// Flushes everything and joins the background threads. Ok only if everything is durable. No
  /// other thread may use the log any more. Destroying a log without Close may lose what is not
  /// durable.
  Status Close();

 private:
  explicit Log(LogOpening opening);

  Status Start();
  void StopThreads();
  /// Stops everything. Later calls do nothing.
  void Fail(const char* what, Status status);
  /// Leader only. True if the caller, the flusher, must lead again.
  [[nodiscard]] bool LeadRound(CommitQueue::Leader leader);

  std::atomic<bool> stopped_{false};  // stored once, read by any thread
  const std::unique_ptr<LogFileSet> files_;
  LogBuffer buffer_;
  CommitQueue queue_;
  LogWriter writer_;
  LogSpace space_;
  DurableSignal durable_signal_;  // raised when the durable LSN moves or the log stops
  // The background threads come last: they use all of the above.
  LogFlusher flusher_;
  LogFilePreparer preparer_;
};

}  // namespace rowan
