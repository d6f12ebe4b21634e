// SPDX-License-Identifier: GPL-2.0-only
// OrphanFiles: tablespace files that no table of the catalog owned when the instance was opened,
// and what becomes of them. A file is removed only on evidence that it is not needed:
//   - the catalog still has the row of its table, delete-marked by a finished transaction: dropped,
//     or its creation was undone;
//   - not one page of it was ever written: its CREATE was interrupted before the undo record, which
//     precedes every page, was durable.
// Any other one is moved to the folder `lost`, complete and with a warning: then the catalog may be
// wrong. A file that the rollback of an unfinished CREATE or purge removes in the meantime is no
// orphan, and a page that redo has not reached yet looks unwritten. The catalog row of a dropped
// table may be gone before purge reaches its file. So no file is judged before the coordinator, the
// rollback, redo and the purge of what earlier runs committed are done. Files made in this run are
// never examined.
// Thread safety: all members after Collect.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/work_budget.h"
#include "engine/catalog/catalog.h"
#include "io/file.h"
#include "space/page_allocator.h"

namespace rowan {

/// Below the instance folder.
inline constexpr char kLostFolderName[] = "lost";

class OrphanFiles {
 public:
  OrphanFiles(FileSystem* file_system, PageAllocator* allocator, const Catalog* catalog,
              ShutdownSign shutdown_sign)
      : file_system_(file_system),
        allocator_(allocator),
        catalog_(catalog),
        shutdown_sign_(shutdown_sign) {}

  /// Notes the files there are. REQUIRES: the catalog is loaded, no table was created yet.
  Status Collect();
  /// Each may be called several times; the last of the four judges the files. kInterrupted: Stop,
  /// or the shutdown sign, came in between.
  Status NoteCoordinatorDone();
  Status NoteRollbackDone();
  Status NoteRedoDone();
  Status NotePurgeDone();
  /// There is something to roll back after all. REQUIRES: redo is not done.
  void NoteRollbackAgain();
  /// No more files are judged; a check under way ends soon. The next start finds the files again.
  void Stop() { stopping_.store(true, std::memory_order_relaxed); }
  /// Files wait for one of the four.
  [[nodiscard]] bool pending() const;

 private:
  /// Called when all four are done.
  Status CheckFilesLocked() ROWAN_REQUIRES(mutex_);
  /// `flushed`: whether the pool was written for an earlier file.
  Status CheckFile(SpaceId space, bool* flushed);
  Result<bool> IsBlank(SpaceId space) const;
  [[nodiscard]] bool IsStopping() const {
    return stopping_.load(std::memory_order_relaxed) ||
           (shutdown_sign_ != nullptr && shutdown_sign_());
  }
  Status SetAside(SpaceId space);

  FileSystem* const file_system_;
  PageAllocator* const allocator_;
  const Catalog* const catalog_;
  const ShutdownSign shutdown_sign_;
  std::atomic<bool> stopping_{false};
  mutable Mutex mutex_{LatchRank::kOrphanFiles};
  std::vector<SpaceId> files_ ROWAN_GUARDED_BY(mutex_);  // not checked yet
  bool coordinator_done_ ROWAN_GUARDED_BY(mutex_) = false;
  bool rollback_done_ ROWAN_GUARDED_BY(mutex_) = false;
  bool redo_done_ ROWAN_GUARDED_BY(mutex_) = false;
  bool purge_done_ ROWAN_GUARDED_BY(mutex_) = false;
};

}  // namespace rowan
