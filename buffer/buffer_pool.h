// SPDX-License-Identifier: GPL-2.0-only
// BufferPool: pages in memory. Huge-page frame arena, optimistic hash table page id -> frame, clock
// eviction with scan resistance, a background evictor, cleaner and continuous checkpoint.
//
// Invariants:
//   - a page is in at most one frame; frame.page_id changes only under its exclusive latch;
//   - WAL rule: a page image goes to disk only when the log is durable up to its page LSN;
//   - dirty mark before append (buffer/mini_txn.h), so a sweep that starts at LSN x misses no page
//     changed below x;
//   - no latch is held across a write; reads happen under the exclusive latch of a frame in state
//     kLoading, and waiting readers park on that latch.
// Thread safety: all members from any thread unless stated otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/memory_share.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/thread_loop.h"
#include "buffer/buffer_options.h"
#include "buffer/checkpoint.h"
#include "buffer/cleaner.h"
#include "buffer/damage_reporter.h"
#include "buffer/dead_spaces.h"
#include "buffer/evictor.h"
#include "buffer/fix_hint.h"
#include "buffer/frame_supply.h"
#include "buffer/frame_table.h"
#include "buffer/mini_txn_limiter.h"
#include "buffer/page/doublewrite.h"
#include "buffer/page/page_header.h"
#include "buffer/page_files.h"
#include "buffer/page_guard.h"
#include "buffer/page_loader.h"
#include "buffer/page_writer.h"
#include "buffer/pool_pages.h"
#include "buffer/pool_resizer.h"
#include "buffer/read_ahead.h"
#include "buffer/writer_slots.h"
#include "io/space_files.h"
#include "wal/log.h"

namespace rowan {

struct PoolStatistics {
  uint64_t frames = 0;
  uint64_t free_frames = 0;
  uint64_t dirty_frames = 0;
  Lsn checkpoint_lsn;
  uint64_t checkpoint_age_bytes = 0;
  uint64_t page_lsns_bytes = 0;  ///< memory of buffer/page/page_lsns.h
  uint64_t map_bytes = 0;        ///< of map_memory()
};

class RedoBacklog;

/// Of a page of a tree: how long it is worth keeping.
enum class TreeLevel : uint8_t { kLeaf, kInner };

class BufferPool {
 public:
  /// `log` may be null only in tests that read without recovery; `files`, `log`, `control` outlive
  /// the pool.
  static Result<std::unique_ptr<BufferPool>> Open(const BufferOptions& options, SpaceFiles* files,
                                                  FileSystem* file_system, Log* log,
                                                  ControlFile* control);
  ~BufferPool();

  /// Latches the page, reading it if needed. kNotFound: dead space. kCorrupt: checksum, identity
  /// or an older state than the last one written (logged with file and page). kIoError.
  Result<PageGuard> Fix(PageId id, LatchMode mode, FixHint hint = FixHint::kNormal);
  /// Reads a page that is in no frame, and latches it shared; waits for no page's latch, so the
  /// caller may hold any. kRestart: a frame has it, or another thread is reading it. Else as Fix.
  Result<PageGuard> FixAbsent(PageId id, FixHint hint);
  /// Optimistic hold: waits while a writer is inside. Same errors as Fix.
  Status FixOptimistic(PageId id, FixHint hint, OptimisticPage* page);
  /// The same for a page that is likely to be in the pool. False: it is not, or a writer is inside.
  [[nodiscard]] bool TryFixOptimistic(PageId id, TreeLevel level, OptimisticPage* page);
  /// Exclusive latch on a page whose old content does not matter (it will be initialised in the
  /// same mini-transaction); never reads. The bytes are zero.
  Result<PageGuard> FixNew(PageId id);
  /// The page was freed in a committed group: forget its dirty state; it is not written until it is
  /// initialised again. REQUIRES: exclusive guard, released here.
  void Discard(PageGuard guard);
  /// Asks for pages to be read in the background; hints only.
  void Prefetch(std::span<const PageId> pages) { read_ahead_.Request(pages); }
  /// What one reader should ask for at most before it needs them: pages that are not evicted
  /// before, and leave room for what other readers asked for.
  [[nodiscard]] uint32_t PrefetchPagesMax() const { return frames_.limit() / 16; }

  /// Logs the operator's sentence for a damaged page (buffer/damage_reporter.h) and returns
  /// kCorrupt with `what`, which lives forever.
  Status ReportDamage(PageId id, const char* what, IndexId index = kNoIndex) {
    damage_.Report(id, what, index);
    return Status(Code::kCorrupt, what, id.page.value());
  }
  /// What is wrong with an image read from disk, bypassing the pool; empty: nothing. A concurrent
  /// write may cause anything, so it is not reported.
  [[nodiscard]] std::string WrongWith(Bytes image, PageId id) const {
    return files_.WrongWith(image, id);
  }
  /// Runs `work` while no page is on its way to its file: all writes are either done or not begun.
  /// Others wait for a place to write meanwhile, so it should be short.
  Status WithoutWrites(FunctionRef<Status()> work) {
    const ClosedWriteGate gate(files_.write_gate());
    return work();
  }
  /// Before other threads use the pool.
  void SetDamageNamer(DamageNamer namer) { damage_.SetNamer(std::move(namer)); }
  /// Before anything is written. It outlives the pool's threads.
  void SetCheckpointGate(CheckpointGate* gate) { checkpointer_.SetGate(gate); }

  /// Before recovery, once the existing spaces are open in `files`: repairs torn and stale pages
  /// from the doublewrite file, then empties it. Until EndRedo a page older than its last write is
  /// accepted if redo, from the checkpoint on, has all that it lacks.
  Status RepairFromDoublewrite(const DoublewriteFile::Absent& absent = DoublewriteFile::Absent());
  /// The alternative after a clean shutdown: all that the file lists is durable at home, so no page
  /// is read. Also after everything is written at a shutdown, so the next start reads none.
  Status EmptyDoublewrite() { return doublewrite_.Reset(); }
  /// Before anything of an instance is changed, and without a pool: kCorrupt when the doublewrite
  /// file has a page from beyond `log_end`, which proves that the log has lost its end. Reads only.
  static Status CheckDoublewrite(FileSystem* file_system, SpaceFiles* files, Lsn log_end);
  /// From now on a page that is read gets its records applied before it becomes visible. The caller
  /// keeps the backlog until EndRedo or the end of the pool.
  void BeginRedo(RedoBacklog* backlog) { files_.SetBacklog(backlog); }
  [[nodiscard]] bool IsResident(PageId id) const {
    return frames_.Lookup(id.Packed()) != PageTable::kNone;
  }
  /// True if the pool has changes of the page that are not on disk yet. Only a hint.
  [[nodiscard]] bool IsDirty(PageId id) const;
  /// No page needs the log from here on: until then no checkpoint is published. Pages with kept
  /// redo stay listed; call it again once they are up to date.
  void EndRedo();
  /// Checks what `rowan.page_lsns` holds for the space; damage is logged and repaired by the next
  /// checkpoint.
  Status CheckPageLsns(SpaceId space) { return files_.page_lsns()->Check(space).status(); }
  /// For MiniTxn: the page is about to be changed by a group that starts at or above `lower_bound`
  /// and is not appended yet. Recovery, scrubbing: it may not be on disk as it is. REQUIRES:
  /// exclusive guard.
  void MarkDirty(const PageGuard& guard, Lsn lower_bound);
  /// Latches a page exclusively that is unchanged since it was read or left, and that nobody holds;
  /// no guard otherwise.
  [[nodiscard]] PageGuard TryFixUnchanged(const OptimisticPage& page);

  /// For MiniTxn: in a tiny pool, bounds the number of mini-transactions that hold latches.
  void EnterMiniTxn() { limiter_.Enter(); }
  void LeaveMiniTxn() { limiter_.Leave(); }

  /// Starts evictor, cleaners and checkpointer (after recovery). As StartThread: then none runs.
  Status StartBackground();
  /// Writes all dirty pages and a checkpoint at the log tail. For shutdown, tests, and the end of
  /// recovery. kInterrupted: `is_over`, if given, returned true; pages are left dirty.
  Status FlushAndCheckpoint(FlushReason reason = FlushReason::kCheckpoint,
                            FunctionRef<bool()> is_over = {});
  /// Forgets all frames of a dead space without I/O (may be lazy). A file with few pages takes as
  /// many steps; if their number is unknown, the whole pool is searched, bit by bit.
  void ForgetSpace(SpaceId space, uint32_t pages_max = UINT32_MAX);
  /// Grows at once, as far as a start would allow (buffer/pool_memory.h); shrinks by writing and
  /// dropping pages. kBusy when some frames could not be emptied yet (call again), kInvalidArgument
  /// beyond the limits.
  Status Resize(uint64_t pool_bytes);
  /// Also while pages are written. kUnsupported for kAtomic unless every file promises it; the
  /// error log names the one that does not.
  Status SetDoublewriteMode(DoublewriteMode mode);
  void SetDataSyncMethod(SyncMethod method) { files_.syncs()->SetMethod(method); }
  void SetIoCapacity(uint32_t pages_per_second) { cleaners_.SetIoCapacity(pages_per_second); }

  [[nodiscard]] uint32_t page_size_bytes() const { return frames_.page_size(); }
  [[nodiscard]] Log* log() const { return files_.log(); }
  [[nodiscard]] SpaceFiles* files() const { return files_.spaces(); }
  [[nodiscard]] PoolStatistics Statistics() const;
  /// Reads every frame without a latch: exact for pages that do not move.
  [[nodiscard]] PoolPages PagesBySpace() const;
  [[nodiscard]] IoBackend io_backend() const { return backend_; }
  /// For knowledge about pages that need not be in the pool, and can be regained.
  [[nodiscard]] const std::shared_ptr<MemoryShare>& map_memory() const { return map_memory_; }

  /// Stops background threads. FlushAndCheckpoint first for a clean shutdown.
  void Close();

 private:
  friend class RedoWorker;  // fills frames like this class

  BufferPool(const BufferOptions& options, SpaceFiles* files, FileSystem* file_system, Log* log,
             ControlFile* control, std::unique_ptr<FrameArena> arena);
  /// The part of opening that may fail.
  Status OpenFiles();
  Status StartThreads();
  void StopBackgroundLocked() ROWAN_REQUIRES(lifecycle_mutex_);
  ThreadLoop::Next FoldPageLsns();

  void ShareMemory(uint64_t pool_bytes);

  const std::shared_ptr<MemoryShare> map_memory_ = std::make_shared<MemoryShare>(UINT64_MAX);
  // Each thread-safe, in the order in which they build on each other.
  FrameTable frames_;
  PageFiles files_;
  DamageReporter damage_;
  const WriterSlots slots_;
  DoublewriteFile doublewrite_;
  FrameSupply supply_;
  PageLoader loader_;
  Checkpointer checkpointer_;
  Cleaners cleaners_;
  ReadAhead read_ahead_;
  MiniTxnLimiter limiter_;
  DeadSpaces dead_spaces_;
  Evictor evictor_;
  ThreadLoop lsn_folder_;
  IoBackend backend_ = IoBackend::kAuto;  // constant once open
  const std::shared_ptr<PressureTarget> pressure_;

  /// Serialises FlushAndCheckpoint and Resize.
  Mutex flush_mutex_{LatchRank::kPoolFlush};
  PageWriter flush_writer_ ROWAN_GUARDED_BY(flush_mutex_);
  PoolResizer resizer_ ROWAN_GUARDED_BY(flush_mutex_);
  Mutex lifecycle_mutex_{LatchRank::kPoolLifecycle};
  bool background_running_ ROWAN_GUARDED_BY(lifecycle_mutex_) = false;
};

}  // namespace rowan
