// SPDX-License-Identifier: GPL-2.0-only
// PoolCore: what all parts of the pool share: frames, page table, free list, counts, the way down
// to files and log, and the few transitions of a frame's life that several parts perform. Internal
// to buffer/.
//
// A frame's life: free -> (Claim) latched, loading -> (Publish) in the page table -> resident ->
// (TryTakeClean / Drop) out of the table -> free. All transitions happen under the exclusive latch.
// Stale holders: a thread with an old frame number may latch any frame for a moment, sees another
// page id and lets go; one that waits for the latch gives up when the id changes (LockSharedWhile,
// LockExclusiveWhile). So waiting for a frame that is in no one's table is always short, and no
// thread waits for a page that it did not ask for.
// Thread safety: all members from any thread unless said otherwise.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "buffer/buffer_pool.h"
#include "buffer/clock_hand.h"
#include "buffer/frame_arena.h"
#include "buffer/free_list.h"
#include "buffer/page/page_lsns.h"
#include "buffer/page/sync_tracker.h"
#include "buffer/page_table.h"
#include "buffer/write_gate.h"

namespace rowan {

class RedoBacklog;

struct PoolCore {
  PoolCore(const BufferOptions& pool_options, SpaceFiles* space_files, FileSystem* fs,
           Log* redo_log, ControlFile* control_file, std::unique_ptr<FrameArena> frame_arena);

  // Constant after construction.
  const BufferOptions options;
  const uint32_t page_size;
  SpaceFiles* const files;
  FileSystem* const file_system;
  Log* const log;  ///< may be null
  ControlFile* const control;
  const std::unique_ptr<FrameArena> arena;

  FreeList free_list;
  SyncTracker syncs;
  PageLsns versions;
  std::atomic<DoublewriteMode> doublewrite_mode;
  /// Shared while a batch is written, exclusive while the doublewrite mode changes.
  WriteGate write_gate;
  /// What pages lack of the redo log until redo is through, else null; read where a page comes in,
  /// never where one is found. Used through buffer/redo_use.h.
  std::atomic<RedoBacklog*> backlog{nullptr};
  /// Shared while the backlog is used, also while a page is read; exclusive to wait for its users
  /// once it was taken away.
  SharedMutex backlog_mutex{LatchRank::kRedoBacklog};
  /// Frames [0, frame_limit) are in use; the ones behind are retired or on their way.
  std::atomic<uint32_t> frame_limit{0};
  // Lines of their own for what changes all the time; the limit is read by each eviction.
  alignas(64) std::atomic<uint64_t> dirty_frames{0};
  ClockHand clock_hand;
  /// Evicting threads met dirty frames where they wanted clean ones; taken by the cleaner.
  alignas(64) std::atomic<bool> want_clean_frames{false};

  [[nodiscard]] uint32_t Lookup(uint64_t key) const {
    return table.load(std::memory_order_acquire)->Lookup(key);
  }
  [[nodiscard]] bool Stopped() const { return log != nullptr && log->stopped(); }
  [[nodiscard]] uint64_t LogTail() const { return log == nullptr ? 1 : log->tail().value(); }
  /// Judges an image read from disk; empty: it is good, else what is wrong with it.
  [[nodiscard]] std::string Judge(Bytes page, PageId id) const;
  [[nodiscard]] MutableBytes PageOf(const Frame* frame) const {
    return {arena->page(frame->number), page_size};
  }

  /// Puts an exclusively latched, unlisted frame into the table as `key`. Returns kNone, or the
  /// frame that holds the page already (then nothing changed).
  uint32_t Publish(Frame* frame, uint64_t key);
  /// Takes a frame from the free list, latched and loading; nullptr when it is empty.
  Frame* Claim();
  /// If the frame holds a clean page that nobody uses: takes it out of the table and returns it
  /// latched and loading, like Claim. Never waits for a latch.
  bool TryTakeClean(Frame* frame);
  /// Forgets the page in an exclusively latched frame whose copy is not in flight, releases the
  /// latch and frees the frame.
  void Drop(Frame* frame);
  /// Gives an exclusively latched, unlisted frame back.
  void Free(Frame* frame);
  /// The second half of Free for a frame that was found to be behind the limit; by now it may not
  /// be any more.
  void Retire(Frame* frame);
  /// Frames [0, frames) are in use from now on; those of them that are retired become free.
  void RaiseLimit(uint32_t frames);
  /// Like Drop for a dirty page that nobody may need again (dead space). False if it is in use.
  bool TryForget(Frame* frame);

  /// See BufferPool::MarkDirty.
  void MarkDirty(Frame* frame, uint64_t lower_bound);
  /// Makes the frame clean whatever it was; returns the old first dirty LSN.
  uint64_t ClearDirty(Frame* frame);

  /// A write or sync of `what` failed: stops the engine for good. Returns the status to pass on.
  Status StopEngine(const char* reason, Status cause);

  /// Replaces the table by one for `frames` entries or more, when the current one is too small. By
  /// twice as large a one, if the pool may become so large: old ones are kept, and together have
  /// less than twice as many entries.
  void EnlargeTable(uint32_t frames);
  /// Entries that all tables, old ones too, were made for.
  uint64_t TableEntries();

 private:
  void Unlist(Frame* frame);

  /// Published by EnlargeTable, read by each fix: on a line that hardly ever changes.
  alignas(64) std::atomic<PageTable*> table{nullptr};
  /// Shared: changing entries. Exclusive: replacing the table. Never held while waiting.
  alignas(64) SharedMutex table_mutex{LatchRank::kPageTable};
  /// All tables ever used: lookups may still be running in an old one.
  std::vector<std::unique_ptr<PageTable>> tables ROWAN_GUARDED_BY(table_mutex);
};

}  // namespace rowan
