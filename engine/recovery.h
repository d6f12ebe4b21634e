// SPDX-License-Identifier: GPL-2.0-only
// Recovery: brings pages to the end of the log. Two passes over the log from the checkpoint: Scan
// finds the end and the spaces dropped on the way; Redo applies records to pages older than their
// group.
//
// A process that died left writes in the kernel that nobody synced, or whose sync failed, so that
// the kernel takes them for clean. The pages look as if redo had nothing to do there. Whatever was
// not durable has records in the log, so each page that the log mentions counts as dirty: it is
// written again before a checkpoint takes the records away.
//
// Suspended pages: a freed page is never written (buffer/buffer_pool.h, Discard), so the disk may
// hold an older incarnation when the log still has records of its last life. A record that cannot
// be applied suspends its page until a record initialises it anew; a page still suspended at the
// end must be free in the space's bitmap, otherwise the instance is damaged and is not opened.
// Thread safety: one thread, before anything else runs.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "buffer/buffer_pool.h"
#include "io/space_files.h"
#include "space/page_allocator.h"
#include "wal/control_file.h"
#include "wal/log_reader.h"

namespace rowan {

struct RecoveryStatistics {
  uint64_t groups = 0;
  uint64_t records = 0;
  uint64_t records_applied = 0;
};

class Recovery {
 public:
  Recovery(FileSystem* file_system, std::string folder, const ControlData& control)
      : file_system_(file_system), folder_(std::move(folder)), control_(control) {}

  /// First pass. kCorrupt: damage below the durable mark (logged).
  Status Scan();
  /// REQUIRES: Scan. Where the log is appended to from now on.
  [[nodiscard]] Lsn end() const { return end_; }

  /// Second pass. `files`: spaces found on disk are open in it.
  Status Redo(BufferPool* pool, SpaceFiles* files);
  /// REQUIRES: Redo, and the allocator is usable. kCorrupt if a suspended page is in use.
  Status ResolveSuspended(PageAllocator* allocator, SpaceFiles* files);

  [[nodiscard]] const RecoveryStatistics& statistics() const { return statistics_; }
  /// Table spaces mentioned in the log whose file is missing although nothing dropped them.
  [[nodiscard]] const std::unordered_set<SpaceId>& missing() const { return missing_; }

 private:
  /// A page of the group being redone: latched until the whole group is applied, so that no half of
  /// a group can ever reach the disk.
  struct HeldPage {
    uint64_t packed = 0;
    PageGuard guard;
    bool apply = false;    ///< false: the page already has this group, or is suspended
    bool changed = false;
  };
  Status RedoGroup(BufferPool* pool, SpaceFiles* files, const LogReader::Group& group);
  Status RedoRecord(BufferPool* pool, const LogReader::Group& group, const RecordView& record);
  Result<HeldPage*> Hold(BufferPool* pool, const LogReader::Group& group, PageId id, bool fresh);

  FileSystem* const file_system_;
  const std::string folder_;
  const ControlData control_;
  Lsn end_{0};
  RecoveryStatistics statistics_;
  std::unordered_set<SpaceId> dropped_;
  std::unordered_set<SpaceId> missing_;
  std::unordered_set<uint64_t> suspended_;  ///< PageId::Packed
  std::vector<HeldPage> held_;              ///< pages of the group in progress
};

}  // namespace rowan
