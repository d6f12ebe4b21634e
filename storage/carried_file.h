// SPDX-License-Identifier: GPL-2.0-only
// CarriedFile: a file that others append to (the server's binary log) and whose end is durable in
// the redo log before it is durable in the file. One sync of the log then makes durable both what a
// group of transactions changed and what the file says of them, instead of two, one after the
// other.
//
// Protocol. The appender calls Begin, once for a file; then, each time, it appends to the file and
// calls Carry before it relies on what it appended. Carry reads the bytes back and logs them, so
// that they stay whatever they are, encrypted or not.
//
// Invariants:
//   - What lies in the file beyond its covered end does not count: after a crash the file is cut
//     there (storage/carried_tail.h). So nothing is appended before Begin has returned.
//   - The covered end is that of the control file, or further on the end of the last whole append
//     that the log has.
//   - Before a checkpoint passes such records, the file is synced, and the control file gets the
//     end up to which it was, together with the checkpoint.
//   - Everything logged before a Carry is durable when the Carry is.
// A failed sync of the file stops the engine, like one of a data file.
// Thread safety: Begin, LogAppended, Carry and End by one thread at a time; the others by any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "buffer/checkpoint_gate.h"
#include "io/file.h"
#include "storage/carried_tail.h"
#include "wal/control_file.h"
#include "wal/log.h"

namespace rowan {

class CarriedFile final : public CheckpointGate {
 public:
  /// All outlive it. `tail`: of the last run; null in a new instance.
  CarriedFile(FileSystem* file_system, Log* log, ControlFile* control,
              std::unique_ptr<CarriedTail> tail);

  /// What the last run left; null once that is settled, or if there is nothing.
  [[nodiscard]] const CarriedTail* tail() const { return IsSettled() ? nullptr : tail_.get(); }
  /// The owner has restored the file, or does without: nothing is carried any more.
  Status Settle();

  /// Carries the file from here on, instead of another. What it holds becomes durable, and so does
  /// its name. `mark`: by which the owner knows the file again. kUnsupported: the name is too
  /// long. REQUIRES: settled.
  Status Begin(const std::string& path, uint32_t mark);
  /// Logs what was appended since Begin or the last call. It is durable, with everything logged
  /// before, when the log is up to the end returned. REQUIRES: carrying.
  Result<Lsn> LogAppended();
  /// The same, and waits until it is durable.
  Status Carry();
  /// The file becomes durable, after everything logged so far, and is no longer carried.
  Status End();
  /// Makes a file durable that cannot be carried, and everything logged so far before it.
  Status SyncUncarried(const std::string& path);
  [[nodiscard]] bool carrying() const;

  Status BeforeCheckpoint() override;
  void AtCheckpoint(ControlData* data) override;

 private:
  [[nodiscard]] bool IsSettled() const;
  /// A file may only say what the log has: everything logged so far becomes durable first.
  Status SyncAfterLog(File* file);
  /// `piece`, whose bytes are read from the file, from `piece.offset` to `to`, in several records.
  /// Returns the end LSN of the last.
  Result<Lsn> LogPieces(File* file, CarriedPiece piece, uint64_t to);
  Result<Lsn> LogPiece(File* file, const CarriedPiece& piece, uint64_t size_bytes);
  /// Syncs the file, which stops the engine if it fails.
  Status SyncFile(File* file);
  Status Update(FunctionRef<void(CarriedState&)> change);

  FileSystem* const file_system_;
  Log* const log_;
  ControlFile* const control_;
  GroupBuilder group_;  ///< of the appending thread

  mutable Mutex mutex_{LatchRank::kCarriedFile};
  std::unique_ptr<CarriedTail> tail_;
  bool settled_ ROWAN_GUARDED_BY(mutex_);
  std::shared_ptr<File> file_ ROWAN_GUARDED_BY(mutex_);  ///< null: none is carried
  uint32_t id_ ROWAN_GUARDED_BY(mutex_);                 ///< of the file, or of the last one
  uint64_t end_bytes_ ROWAN_GUARDED_BY(mutex_) = 0;      ///< logged up to here, or being logged
  uint64_t synced_bytes_ ROWAN_GUARDED_BY(mutex_) = 0;
  uint64_t passed_bytes_ ROWAN_GUARDED_BY(mutex_) = 0;  ///< what the next checkpoint may pass
};

}  // namespace rowan
