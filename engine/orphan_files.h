// SPDX-License-Identifier: GPL-2.0-only
// OrphanFiles: tablespace files that no table of the catalog owned when the instance was opened,
// and what becomes of them. A file goes only on evidence that nobody can want it:
//   - the catalog still has the row of its table, delete-marked by a finished transaction: dropped,
//     or its creation was undone;
//   - not one page of it was ever written: its CREATE was cut short before the undo record, which
//     precedes every page, was durable.
// Whatever else is there is moved to the folder `lost`, complete and with a warning: then it is the
// catalog that may be wrong. A file that the rollback of an unfinished CREATE or purge removes
// meanwhile is no orphan, and a page that redo has not come to yet looks unwritten, so nothing is
// judged before the coordinator, the rollback and redo are through.
// Files made in this run are never looked at.
// Thread safety: all members after Collect.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "engine/catalog.h"
#include "io/file.h"
#include "space/page_allocator.h"

namespace rowan {

/// Below the instance folder.
inline constexpr char kLostFolderName[] = "lost";

class OrphanFiles {
 public:
  OrphanFiles(FileSystem* file_system, PageAllocator* allocator, const Catalog* catalog)
      : file_system_(file_system), allocator_(allocator), catalog_(catalog) {}

  /// Notes the files there are. REQUIRES: the catalog is loaded, no table was created yet.
  Status Collect();
  /// Each may be called several times; the last of the three judges the files.
  Status NoteCoordinatorDone();
  Status NoteRollbackDone();
  Status NoteRedoDone();
  /// There is something to roll back all the same. REQUIRES: redo is not through.
  void NoteRollbackAgain();
  /// Files wait for one of the three.
  [[nodiscard]] bool pending() const;

 private:
  /// When all three are done.
  Status JudgeLocked() ROWAN_REQUIRES(mutex_);
  /// `flushed`: whether the pool was written for an earlier file.
  Status JudgeFile(SpaceId space, bool* flushed);
  Result<bool> IsBlank(SpaceId space) const;
  Status SetAside(SpaceId space);

  FileSystem* const file_system_;
  PageAllocator* const allocator_;
  const Catalog* const catalog_;
  mutable Mutex mutex_{LatchRank::kOrphanFiles};
  std::vector<SpaceId> files_ ROWAN_GUARDED_BY(mutex_);  // not judged yet
  bool coordinator_done_ ROWAN_GUARDED_BY(mutex_) = false;
  bool rollback_done_ ROWAN_GUARDED_BY(mutex_) = false;
  bool redo_done_ ROWAN_GUARDED_BY(mutex_) = false;
};

}  // namespace rowan
