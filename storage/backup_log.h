// SPDX-License-Identifier: GPL-2.0-only
// BackupLog: copies the redo log of a running instance from a position on. The log is held from the
// copy's end on (Log::Hold), and a thread follows the log's durable end, so that little is held.
// The copy's files have the numbers and places of the instance's own; what lies outside [start, end
// of the copy) is zero, so recovery finds the end of the log there.
// Thread safety: CopyUpTo from any thread, the others from the owner's thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/thread_loop.h"
#include "io/aligned_buffer.h"
#include "io/file.h"
#include "wal/log.h"

namespace rowan {

class BackupLog {
 public:
  struct Options {
    FileSystem* file_system = nullptr;
    Log* log = nullptr;
    InstanceId instance_id{};
    std::string source;      ///< folder of the instance
    std::string target;      ///< folder of the backup
    uint64_t bytes_max = 0;  ///< the end of the log may be this far ahead of the copy
  };
  explicit BackupLog(Options options);
  /// Releases the hold on the log.
  ~BackupLog();

  /// Holds the log from the newest checkpoint on, returns that position and starts the copying
  /// thread.
  Result<Lsn> Start();
  /// Copies what is missing below `end`, which is durable. kStopped: the hold was lost, because the
  /// copy fell too far behind or the disk of the log was full (logged). kInterrupted.
  Status CopyUpTo(Lsn end, FunctionRef<bool()> interrupted = {});
  /// Ends the thread, ends the copy at `end`, where a group ends, and makes it durable.
  Status Finish(Lsn end, FunctionRef<bool()> interrupted);

 private:
  ThreadLoop::Next Tick();
  /// Opens the files that hold `position`, in the instance and in the copy.
  Status OpenFilesLocked(Lsn position) ROWAN_REQUIRES(mutex_);
  Status CloseFilesLocked() ROWAN_REQUIRES(mutex_);
  Status CopyPieceLocked(Lsn end) ROWAN_REQUIRES(mutex_);
  /// Removes what was copied from `end` on.
  Status CutLocked(Lsn end) ROWAN_REQUIRES(mutex_);
  [[nodiscard]] std::string TargetPath(const LogFilePlace& place) const;

  const Options options_;
  std::unique_ptr<LogHold> hold_;  ///< constant from Start on
  Mutex mutex_{LatchRank::kBackupLog};
  Lsn copied_ ROWAN_GUARDED_BY(mutex_);                        ///< everything below it is
  std::vector<LogFilePlace> places_ ROWAN_GUARDED_BY(mutex_);  ///< of the files of the copy
  /// Of the last place; null: none is open.
  std::unique_ptr<File> source_ ROWAN_GUARDED_BY(mutex_);
  std::unique_ptr<File> target_ ROWAN_GUARDED_BY(mutex_);
  AlignedBuffer buffer_ ROWAN_GUARDED_BY(mutex_);
  Status failure_ ROWAN_GUARDED_BY(mutex_);  ///< the first one; nothing is copied after it
  ThreadLoop thread_;
};

}  // namespace rowan
