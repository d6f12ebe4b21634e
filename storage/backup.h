// SPDX-License-Identifier: GPL-2.0-only
// Backup: a copy of a running instance that crash recovery makes whole. The log is held and copied
// from the checkpoint at the beginning; then each tablespace is copied from its file while it
// changes; at the end the log goes on to the position wanted, and a control file says that redo
// begins at that checkpoint.
//
// Why that is enough: every change below the checkpoint is in the files, every one behind it is in
// the log, and redo skips what a page has already (page LSN). A page is copied when it is whole:
// one that is being written fails its checksum and is read again. What grows or is dropped
// meanwhile is in the log. A page LSN is never behind the end, because a page is written when the
// log is durable so far and the end is chosen after the last page was read.
//
// An incremental backup has the pages whose LSN is behind the start of an earlier backup, which has
// all changes below it. scripts/backup puts the two together; docs/backup.md tells how to use all
// this, docs/formats/backup.md what the files hold.
// Thread safety: one thread, beside all other work of the instance.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/status.h"
#include "io/aligned_buffer.h"
#include "storage/backup_log.h"
#include "storage/backup_manifest.h"
#include "storage/backup_pages.h"
#include "storage/storage.h"

namespace rowan {

struct BackupOptions {
  std::string folder;  ///< made, its parent too; must be empty
  std::string base;    ///< folder of the backup that this one is incremental to; empty: none
  /// How far the end of the log may get ahead of its copy before the backup is given up.
  uint64_t log_bytes_max = uint64_t{16} << 30;
  uint64_t bytes_per_second_max = 0;  ///< read of tablespaces; 0: as fast as can be
};

class Backup {
 public:
  /// From here on the log is held. Failures are logged as sentences. kBusy: the last run is still
  /// being redone; kInvalidArgument: the folder is not empty, or the base is not of this instance.
  /// The storage outlives the backup.
  static Result<std::unique_ptr<Backup>> Begin(Storage* storage, const BackupOptions& options);
  /// Without Finish: the folder holds what cannot be used, and is left to the caller.
  ~Backup();
  Backup(const Backup&) = delete;
  Backup& operator=(const Backup&) = delete;

  /// Copies every tablespace that is not copied yet. kInterrupted, kCorrupt: a page is damaged
  /// (logged with its name).
  Status CopyPages(FunctionRef<bool()> interrupted);
  /// The instance will be restored as it is at `end`, where a group of the log ends, not before
  /// CopyPages ended; kNoLsn: as it is now. Durable at return. REQUIRES: no tablespace was created
  /// since CopyPages, unless `end` is kNoLsn.
  Status Finish(Lsn end);

  [[nodiscard]] Lsn start() const { return manifest_.start; }
  /// REQUIRES: Finish.
  [[nodiscard]] Lsn end() const { return manifest_.end; }

 private:
  Backup(Storage* storage, const BackupOptions& options);

  Status Prepare();
  Status ReadBase();
  /// IsPlaceMissing (logged): the space's file is on a disk that is not there.
  [[nodiscard]] Status CheckPlace(SpaceId space) const;
  Status CopySpace(SpaceId space, FunctionRef<bool()> interrupted);
  Status ReadBatch(SpaceId space, PageNumber first, MutableBytes images);
  /// `image` becomes a good one of the page, or what there is of a page that nobody uses.
  Status MakeGood(PageId page, MutableBytes image);
  Status ReadAgain(PageId page, MutableBytes image, std::string* wrong);
  [[nodiscard]] std::string WrongWith(PageId page, Bytes image) const;
  Status WaitForPace(FunctionRef<bool()> interrupted);
  Status WriteRest(Lsn end);
  Status WriteSmallFiles();
  Status WriteControlFile();
  Status WriteEmptyPageLsns();
  Status CopyMarks();

  Storage* const storage_;
  const BackupOptions options_;
  BackupManifest manifest_;
  std::optional<BackupManifest> base_;
  BackupLog log_;
  AlignedBuffer buffer_;
  uint64_t begin_nanos_ = 0;  ///< of CopyPages, for the pace
  uint64_t bytes_read_ = 0;
};

}  // namespace rowan
