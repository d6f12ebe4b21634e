// SPDX-License-Identifier: GPL-2.0-only
// Backup: a copy of a running instance that crash recovery makes whole. The log is held and copied
// from the checkpoint at the beginning; each tablespace is copied from its file while it changes;
// at the end the log is copied up to the position wanted, and a control file says that redo begins
// at that checkpoint.
//
// Why that is enough: every change below the checkpoint is in the files, every later one is in the
// log, and redo skips what a page already has (page LSN). A page is copied when it is whole: one
// that is being written fails its checksum and is read again. Growth and drops in the meantime are
// in the log. No page LSN is beyond the end, because a page is written only when the log is durable
// up to its LSN, and the end is chosen after the last page was read.
//
// Instead of being read, tablespaces can be cloned (storage/backup_clone.h): all that is said here
// holds, but for the checks of pages.
//
// Invariants of a finished backup:
//   1. every table of the catalog is in it, or named as left out;
//   2. every tablespace that its log changes is in it, dropped by the log, marked as damaged or
//      left out: Finish reads the log to the end to make sure;
//   3. a page in use is whole. A page is zeros only where the log initialises it again;
//   4. the history of an incremental backup contains its base's (wal/log_history.h).
//
// An incremental backup has the pages whose LSN is beyond the start of an earlier backup, which has
// all changes below it. scripts/backup puts the two together; docs/backup.md explains the use,
// docs/formats/backup.md the files.
// Thread safety: one thread, concurrently with all other work of the instance.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/status.h"
#include "io/aligned_buffer.h"
#include "io/clone_file.h"
#include "storage/backup_clone.h"
#include "storage/backup_log.h"
#include "storage/backup_log_scan.h"
#include "storage/backup_manifest.h"
#include "storage/backup_pages.h"
#include "storage/storage.h"

namespace rowan {

struct BackupOptions {
  std::string folder;  ///< created, its parent too; must be empty
  std::string base{};  ///< folder of the backup that this one builds on; empty: none
  /// How far the end of the log may get ahead of its copy before the backup gives up.
  uint64_t log_bytes_max = uint64_t{16} << 30;
  uint64_t bytes_per_second_max = 0;  ///< read from tablespaces; 0: unlimited
  /// A table whose file cannot be read is left out, with a warning, instead of failing the backup.
  bool leave_out_unreadable = false;
  /// Clones tablespaces; those that cannot be cloned are read. Empty: all are. Not with a base.
  CloneFunction clone{};
};

/// The current tables: names ("schema/table") by tablespace.
using TablesOfInstance = std::function<std::map<SpaceId, std::string>()>;

struct BackupSource {
  Storage* storage = nullptr;
  TablesOfInstance tables;
};

class Backup {
 public:
  /// Holds the log from here on. Failures are logged as sentences. kBusy: the last run is still
  /// being redone; kInvalidArgument: the folder is not empty, or the base is not in this instance's
  /// history. The source outlives the backup.
  static Result<std::unique_ptr<Backup>> Begin(BackupSource source, const BackupOptions& options);
  /// Without Finish, the folder's contents cannot be used and are left to the caller.
  ~Backup();
  Backup(const Backup&) = delete;
  Backup& operator=(const Backup&) = delete;

  /// Copies every tablespace not copied yet. kInterrupted. kCorrupt: a page is damaged (logged with
  /// its name). Any other failure: a table's file cannot be read (logged with both names), or the
  /// copy cannot be written.
  Status CopyPages(FunctionRef<bool()> interrupted);
  /// The instance will be restored as of `end`, where a group of the log ends, not before the end
  /// of CopyPages; kNoLsn: as of now. Durable at return. kBusy: a tablespace was created since
  /// CopyPages (logged); with kNoLsn such tablespaces are copied. kInterrupted, as CopyPages: the
  /// folder's contents cannot be used then.
  Status Finish(Lsn end, FunctionRef<bool()> interrupted);
  Status Finish(Lsn end) {
    return Finish(end, [] { return false; });
  }

  [[nodiscard]] Lsn start() const { return manifest_.start; }
  /// REQUIRES: Finish.
  [[nodiscard]] Lsn end() const { return manifest_.end; }
  [[nodiscard]] const BackupManifest& manifest() const { return manifest_; }

 private:
  Backup(BackupSource source, const BackupOptions& options);

  Status Prepare();
  Status MakeFolder(const std::string& folder);
  Status ReadBase();
  [[nodiscard]] Status CheckBase(const BackupManifest& base) const;
  [[nodiscard]] bool IsDone(SpaceId space) const {
    return manifest_.spaces.contains(space) || manifest_.left_out.contains(space);
  }
  /// Copies a table whose file could not be listed or opened at the beginning.
  Status CopyTable(SpaceId space, const std::string& name, FunctionRef<bool()> interrupted);
  /// kUnsupported: it has to be copied.
  Status TryCloneSpace(SpaceId space, FunctionRef<bool()> interrupted);
  /// Copies the file of a live space. A space that is dropped leaves nothing: Ok.
  Status CopySpace(SpaceId space, FunctionRef<bool()> interrupted);
  Status CopySpaceTo(SpaceId space, BackupPages* copy, uint32_t pages,
                     FunctionRef<bool()> interrupted);
  /// The file of a space that still exists could not be read.
  Status Unreadable(SpaceId space, const Status& why);
  Status ReadBatch(SpaceId space, PageNumber first, MutableBytes images);
  /// `image` becomes a good image of the page, or any image of a page that is not in use.
  Status MakeGood(PageId page, MutableBytes image);
  Status ReadAgain(PageId page, MutableBytes image, std::string* wrong);
  [[nodiscard]] std::string WrongWith(PageId page, Bytes image) const;
  /// The page's image is zeros.
  Status CheckZeros(PageId page);
  /// The bitmap that has the page's bit can be consulted: its group is not just being created.
  [[nodiscard]] bool HasBitmap(PageId page);
  Status WaitForPace(FunctionRef<bool()> interrupted);
  Status WriteRest(Lsn end, FunctionRef<bool()> interrupted);
  /// An end that no copied page is beyond, and before which no table was created that was not
  /// copied.
  Result<Lsn> EndNow(FunctionRef<bool()> interrupted);
  /// Checks that what was copied and the log make an instance.
  Status CheckLog(FunctionRef<bool()> interrupted);
  Status WriteSmallFiles(FunctionRef<bool()> interrupted);
  Status WriteControlFile();
  Status WriteEmptyPageLsns();
  Status CopyMarks();
  Status ChecksumFiles(FunctionRef<bool()> interrupted);
  [[nodiscard]] ControlData ControlOfCopy() const;

  Storage* const storage_;
  const TablesOfInstance tables_;
  const BackupOptions options_;
  BackupManifest manifest_;
  std::optional<BackupManifest> base_;
  BackupLog log_;
  BackupLogScan scan_;
  AlignedBuffer buffer_;
  AlignedBuffer bitmap_;
  std::map<SpaceId, std::string> tables_now_;  ///< since CopyPages began
  uint64_t begin_nanos_ = 0;                   ///< of CopyPages, for the pace
  uint64_t bytes_read_ = 0;
  bool told_uncloned_ = false;
};

}  // namespace rowan
