// SPDX-License-Identifier: GPL-2.0-only
// LogWriter moves bytes from the log buffer to the files. Two ways:
//   WriteUpTo    hands bytes to the kernel; any thread; short
//   MakeDurable  writes and syncs everything appended so far; the leader only
// With the methods that sync separately, WriteUpTo continues while the leader syncs, so sessions
// that do not ask for durability do not wait for those that do.
//
// Writes are whole 4 KiB blocks; the last block is padded with zeros and later rewritten with more
// in it: the old content is a prefix of the new, so a write torn at 512-byte sectors is harmless.
// After a failure the writer must not be used; nothing is ever retried.
// Thread safety: as stated for each member. Leadership orders all calls marked "leader".
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "io/aligned_buffer.h"
#include "io/file.h"
#include "wal/log_buffer.h"
#include "wal/log_file_set.h"
#include "wal/log_latency.h"
#include "wal/sync_strategy.h"

namespace rowan {

class LogWriter {
 public:
  /// Everything below `durable` is on disk.
  LogWriter(LogFileSet* files, LogBuffer* buffer, Lsn durable,
            std::unique_ptr<SyncStrategy> strategy);

  /// The kernel has everything below it.
  [[nodiscard]] Lsn written() const { return written_.load(std::memory_order_acquire); }
  /// Hands everything appended to the kernel unless it already has everything up to `target`.
  Status WriteUpTo(Lsn target);

  /// Leader only. Returns the LSN up to which the log is durable.
  Result<Lsn> MakeDurable();
  /// Opens the next file, if ready, so that the leader need not.
  Status OpenAhead();
  /// Leader only, with everything written durable. On failure the old strategy stays.
  Status SwitchStrategy(std::unique_ptr<SyncStrategy> strategy);

  [[nodiscard]] LogSyncMethod method() const { return method_.load(std::memory_order_acquire); }
  [[nodiscard]] const LogLatency& latency() const { return latency_; }
  void NoteCommit(uint64_t nanos) { latency_.Add(method(), LogPhase::kCommit, nanos); }

 private:
  /// Which handle bytes go through.
  enum class Via { kPlain, kStrategy };
  /// What a write does to the bytes.
  enum class Effect { kHandOver, kWriteThrough, kWriteAndSync };
  struct Handle {
    LogFilePlace place;
    std::shared_ptr<File> file;  // null: none; otherwise `place` is that of a ready file
  };
  struct Piece {
    Bytes bytes;
    Lsn end;  // of the stream's bytes in it; the padding lies after them
  };

  Status WriteRangeLocked(Lsn from, Lsn target, Via via) ROWAN_REQUIRES(mutex_);
  Status WritePieceLocked(File* file, const Piece& piece, uint64_t offset, Effect effect)
      ROWAN_REQUIRES(mutex_);
  /// In the ledger of bytes written.
  void CountPieceLocked(Lsn position, const Piece& piece) ROWAN_REQUIRES(mutex_);
  Piece NextPieceLocked(Lsn position, Lsn stop) ROWAN_REQUIRES(mutex_);
  /// For the file that holds `position`.
  Result<const Handle*> HandleLocked(Lsn position, Via via) ROWAN_REQUIRES(mutex_);
  /// With or without the strategy's options. Waits while descriptors are short.
  Result<std::shared_ptr<File>> OpenLogFile(uint64_t number, FileOptions options);
  Status WritePendingLocked(Lsn target) ROWAN_REQUIRES(mutex_);
  Status SyncTouched();

  LogFileSet* const files_;
  LogBuffer* const buffer_;
  LogLatency latency_;
  std::atomic<LogSyncMethod> method_;  // stored by the leader, read by any thread
  std::atomic<Lsn> written_;           // stored under mutex_

  Mutex mutex_{LatchRank::kLogWriter};
  /// The stream's bytes from `staged_` on, `staged_bytes_` of them; then zeros.
  AlignedBuffer staging_ ROWAN_GUARDED_BY(mutex_);
  Lsn staged_ ROWAN_GUARDED_BY(mutex_);
  size_t staged_bytes_ ROWAN_GUARDED_BY(mutex_) = 0;
  Handle plain_ ROWAN_GUARDED_BY(mutex_);
  Handle through_ ROWAN_GUARDED_BY(mutex_);
  Handle next_plain_ ROWAN_GUARDED_BY(mutex_);  // of the next file, see OpenAhead
  Handle next_through_ ROWAN_GUARDED_BY(mutex_);
  // Written since their last sync began.
  std::vector<std::shared_ptr<File>> touched_ ROWAN_GUARDED_BY(mutex_);

  // Owned by the leader; the strategy is replaced under mutex_ too.
  std::unique_ptr<SyncStrategy> strategy_;
  Lsn durable_;
  uint64_t sync_nanos_ = 0;                     // spent on making durable in this round
  std::vector<std::shared_ptr<File>> syncing_;  // kept for its capacity
};

}  // namespace rowan
