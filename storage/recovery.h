// SPDX-License-Identifier: GPL-2.0-only
// Recovery: brings pages to the end of the log. Scan reads the log from the checkpoint to its end
// and lists, page by page, where the log has what the page may lack (buffer/redo_backlog.h). If the
// list does not fit the memory allowed, Redo applies the log stretch by stretch and leaves only the
// last stretch, usually the only one: from then on a page is redone before it is used, so the
// instance may serve while Finish redoes the rest. No checkpoint is published before Finish is
// done, so the log stays unchanged; after a crash before then recovery starts over.
//
// If the log cannot be read again when a list is applied, or is not what Scan found, the engine
// stops: that says nothing about the pages, so none is judged damaged, and the next start begins
// again.
//
// A process that died may have left writes in the kernel that were never synced, or whose sync
// failed, so that the kernel takes them for clean. Redo would find nothing to do on such pages.
// Everything not durable has records in the log, so each page that the log mentions counts as
// dirty: it is written again before a checkpoint discards the records.
//
// Suspended pages: a freed page is never written (buffer/buffer_pool.h, Discard), so the disk may
// hold an older incarnation when the log still has records of its last life. A record that cannot
// be applied suspends its page until a record initialises it again. A page still suspended at the
// end of the log must be free in the space's bitmap. Otherwise it is damaged: the table is marked
// (storage/damaged_spaces.h) and the others are served. Damage of the system space keeps the
// instance closed, and so does damage of the undo space unless options.force ignores it.
//
// Pages that wait: a page that cannot be read, or whose file is unavailable, may still be whole.
// Finish retries while the log has room; then what the log has for these pages is kept in a file
// (buffer/kept_redo.h), the log moves on without them, and RetryKept tries again. A page that waits
// fails only the statements that need it.
// Thread safety: Scan, Redo and Finish by one thread at a time, Abandon from any.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/assertions.h"
#include "base/ids.h"
#include "base/status.h"
#include "buffer/buffer_pool.h"
#include "buffer/kept_redo.h"
#include "buffer/redo_backlog.h"
#include "buffer/redo_worker.h"
#include "io/space_files.h"
#include "space/page_allocator.h"
#include "storage/carried_tail.h"
#include "storage/damaged_spaces.h"
#include "wal/control_file.h"
#include "wal/log_groups.h"
#include "wal/log_reader.h"

namespace rowan {

struct RecoveryOptions {
  /// For lists of what is not yet applied, and for records while they are applied; 0: chosen by the
  /// available memory.
  uint64_t memory_bytes_max = 0;
  uint32_t workers = 0;  ///< 0: chosen by the number of processors
  /// Ignores damage of the undo space, and waits for tables' files that cannot be read while the
  /// others are served.
  bool force = false;
};

struct RecoveryStatistics {
  uint64_t groups = 0;
  uint64_t records = 0;
  uint64_t records_applied = 0;
  uint64_t pages = 0;
  uint32_t stretches = 0;  ///< parts of the log, gathered and applied one by one
};

class Recovery {
 public:
  /// `options` has no zeros: Storage has chosen.
  Recovery(FileSystem* file_system, std::string folder, const ControlData& control,
           RecoveryOptions options, DamagedSpaces* damaged)
      : file_system_(file_system),
        folder_(std::move(folder)),
        control_(control),
        options_(options),
        damaged_(damaged),
        carried_(std::make_unique<CarriedTail>(file_system, folder_, control)),
        gathered_end_(control.checkpoint_lsn),
        kept_(file_system, folder_, control.page_size_bytes) {}

  /// kCorrupt: damage below the durable mark (logged). kNewerFormat: a record of unknown type.
  Status Scan();
  [[nodiscard]] Lsn begin() const { return control_.checkpoint_lsn; }
  /// REQUIRES: Scan. Where appending to the log continues.
  [[nodiscard]] Lsn end() const { return end_; }
  /// REQUIRES: Scan. Once.
  [[nodiscard]] std::unique_ptr<CarriedTail> TakeCarried() { return std::move(carried_); }
  /// REQUIRES: Scan. The spaces that the log mentions.
  [[nodiscard]] const std::unordered_set<SpaceId>& spaces() const { return spaces_; }

  /// REQUIRES: Scan. IsPlaceMissing (logged): a file that the log has changes of is on a missing
  /// disk. Changes nothing.
  [[nodiscard]] Status CheckPlaces(SpaceFiles* files) const;
  /// Finds the redo that earlier runs kept. Changes nothing.
  [[nodiscard]] Status LoadKept();
  /// Repairs torn pages from the doublewrite file. `files`: spaces found on disk are open in it.
  /// All outlive Finish.
  Status Repair(BufferPool* pool, SpaceFiles* files, ControlFile* control_file);
  /// REQUIRES: Repair.
  Status Redo();
  /// REQUIRES: Redo, and the allocator is usable. Checks the pages suspended so far. kCorrupt if
  /// one in the system or undo space is in use (logged).
  Status ResolveSuspended(PageAllocator* allocator);
  /// REQUIRES: Redo. Finish has more to do than to allow checkpoints.
  [[nodiscard]] bool HasPending() const { return !backlog_.PendingPages().empty(); }
  /// REQUIRES: ResolveSuspended. Redoes what Redo left, judges it, and allows checkpoints.
  /// kInterrupted: abandoned. kBusy: a page cannot be read now; call again later. On the last try
  /// its redo is kept instead, unless that cannot be written.
  enum class Try { kOneOfSome, kLast };
  Status Finish(PageAllocator* allocator, Try which);
  /// After Finish: redo is kept for some page.
  [[nodiscard]] bool keeps() const { return finished() && !kept_.empty(); }
  /// REQUIRES: keeps. Retries the pages that wait, and removes what is kept for spaces whose pages
  /// are all up to date.
  Status RetryKept(PageAllocator* allocator);
  /// Ends Finish early, for good.
  void Abandon() { abandoned_.store(true, std::memory_order_release); }
  /// Nothing is left for Finish but pages that cannot be read.
  [[nodiscard]] bool waits() const { return waits_.load(std::memory_order_acquire); }
  [[nodiscard]] bool finished() const { return finished_.load(std::memory_order_acquire); }
  /// Called when Finish has marked a space. Set before it runs.
  void SetOnDamage(std::function<void(SpaceId)> callback) { on_damage_ = std::move(callback); }

  [[nodiscard]] const RedoBacklog& backlog() const { return backlog_; }
  [[nodiscard]] const KeptRedo& kept() const { return kept_; }
  [[nodiscard]] const RecoveryStatistics& statistics() const { return statistics_; }

 private:
  Status ScanGroup(const LogReader::Group& group, bool gather);
  Status GatherGroup(const LogReader::Group& group);
  void NoteSpace(SpaceId space);
  void Gather(const RecordView& record, const LogReader::Group& group);
  /// A quarter of the memory is reserved for the records being applied.
  [[nodiscard]] bool Full() const {
    return backlog_.MemoryBytes() > options_.memory_bytes_max / 4 * 3;
  }
  /// From where the last stretch ended.
  Status GatherStretch();
  Status RedoPages(const std::vector<uint64_t>& pages);
  /// Pages of the last stretch that cannot wait.
  Status RedoFirst();
  Status LookForMissing();
  Status CheckMissing(SpaceId space);
  /// Adds what is kept and must be applied.
  void AddKept();
  void EndRedo();
  /// Spaces for which nothing need be kept once what is in the pool is written.
  [[nodiscard]] std::vector<SpaceId> Applied() const;
  Status RemoveApplied();
  /// Pages worth another try: all, or one of each space where pages wait.
  std::vector<uint64_t> PagesToTry();
  /// Keeps durably what the log has for the listed pages.
  Status KeepAside(const std::vector<uint64_t>& pages);
  Status KeepPortion(std::span<const uint64_t> pages, uint64_t bytes_max);
  [[nodiscard]] std::vector<uint64_t> PendingOf(SpaceId space) const;
  /// Records in the control file whether the instance has kept redo, which older builds cannot
  /// handle.
  Status NoteFeature(bool kept);
  Status MarkDamaged(SpaceId space, const std::string& why);
  /// False: the page waits.
  Result<bool> CheckPage(PageAllocator* allocator, PageId page, const Status& failure,
                         bool serving);
  Status CheckSuspended(PageAllocator* allocator, bool serving);
  void TellWaiting(PageId page, const Status& failure) const;
  [[nodiscard]] static bool IsTable(SpaceId space) { return space >= kFirstTableSpace; }

  FileSystem* const file_system_;
  const std::string folder_;
  const ControlData control_;
  const RecoveryOptions options_;
  DamagedSpaces* const damaged_;
  BufferPool* pool_ = nullptr;
  SpaceFiles* files_ = nullptr;
  std::unique_ptr<CarriedTail> carried_;
  Lsn end_{0};
  Lsn gathered_end_;                       ///< the backlog has the groups below it
  std::unique_ptr<LogGroups> log_groups_;  ///< from Scan until Finish is through
  RedoBacklog backlog_;
  RecoveryStatistics statistics_;
  std::unordered_set<SpaceId> spaces_;
  std::array<SpaceId, 2> last_spaces_{};  ///< in spaces_: mostly the undo space and a table's
  std::unordered_set<SpaceId> dropped_;
  std::unordered_map<uint64_t, Status> suspended_;  ///< by PageId::Packed: why. These wait, too
  std::unordered_set<SpaceId> told_;                ///< spaces whose waiting pages were logged
  uint32_t tries_ = 0;                              ///< of Finish and RetryKept
  KeptRedo kept_;
  ControlFile* control_file_ = nullptr;
  std::function<void(SpaceId)> on_damage_;
  std::atomic<bool> abandoned_{false};
  std::atomic<bool> waits_{false};
  std::atomic<bool> finished_{false};
};

}  // namespace rowan
