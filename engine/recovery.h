// SPDX-License-Identifier: GPL-2.0-only
// Recovery: brings pages to the end of the log. Scan reads the log from the checkpoint to its end
// and gathers, page by page, what pages may lack (buffer/redo_backlog.h); Redo has several workers
// apply that. What does not fit into the memory allowed is gathered and applied stretch by stretch.
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
#include "buffer/redo_backlog.h"
#include "buffer/redo_worker.h"
#include "io/space_files.h"
#include "space/page_allocator.h"
#include "wal/control_file.h"
#include "wal/log_reader.h"

namespace rowan {

struct RecoveryOptions {
  uint64_t memory_bytes_max = uint64_t{64} << 20;  ///< of records gathered and not yet applied
  uint32_t workers = 1;
};

struct RecoveryStatistics {
  uint64_t groups = 0;
  uint64_t records = 0;
  uint64_t records_applied = 0;
  uint64_t pages = 0;
  uint32_t stretches = 0;  ///< of the log, gathered and applied one after the other
};

class Recovery {
 public:
  Recovery(FileSystem* file_system, std::string folder, const ControlData& control,
           RecoveryOptions options)
      : file_system_(file_system), folder_(std::move(folder)), control_(control),
        options_(options), gathered_end_(control.checkpoint_lsn) {}

  /// kCorrupt: damage below the durable mark (logged). kNewerFormat: a record of unknown type.
  Status Scan();
  /// REQUIRES: Scan. Where the log is appended to from now on.
  [[nodiscard]] Lsn end() const { return end_; }

  /// `files`: spaces found on disk are open in it.
  Status Redo(BufferPool* pool, SpaceFiles* files);
  /// REQUIRES: Redo, and the allocator is usable. kCorrupt if a suspended page is in use.
  Status ResolveSuspended(PageAllocator* allocator, SpaceFiles* files);

  [[nodiscard]] const RecoveryStatistics& statistics() const { return statistics_; }
  /// Table spaces mentioned in the log whose file is missing although nothing dropped them.
  [[nodiscard]] const std::unordered_set<SpaceId>& missing() const { return missing_; }

 private:
  Status ScanGroup(const LogReader::Group& group, bool gather);
  Status GatherGroup(const LogReader::Group& group);
  void Gather(const RecordView& record, const LogReader::Group& group);
  [[nodiscard]] bool Full() const { return backlog_.MemoryBytes() > options_.memory_bytes_max; }
  /// From where the last stretch ended.
  Status GatherStretch();
  Status ApplyStretch(BufferPool* pool);
  Status Judge(const std::vector<RedoWorker::Failure>& failures);

  FileSystem* const file_system_;
  const std::string folder_;
  const ControlData control_;
  const RecoveryOptions options_;
  Lsn end_{0};
  Lsn gathered_end_;  ///< the backlog has the groups below
  RedoBacklog backlog_;
  RecoveryStatistics statistics_;
  std::unordered_set<SpaceId> dropped_;
  std::unordered_set<SpaceId> missing_;
  std::unordered_set<uint64_t> suspended_;  ///< PageId::Packed
};

}  // namespace rowan
