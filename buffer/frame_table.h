// SPDX-License-Identifier: GPL-2.0-only
// FrameTable: the frames of the pool, which page is in which, and the transitions in a frame's life
// that several parts of the pool perform. Knows neither files nor log. Internal to buffer/.
//
// A frame's life: free -> (Claim) latched, loading -> (Publish) in the page table -> resident ->
// (TryTakeClean / Drop) out of the table -> free. All transitions happen under the exclusive latch.
// Stale holders: a thread with an old frame number may latch any frame briefly, sees another page
// id and releases it; one that waits for the latch gives up when the id changes (LockSharedWhile,
// LockExclusiveWhile). So waiting for an unlisted frame is always short, and no thread waits for a
// page that it did not ask for.
// Thread safety: all members from any thread unless said otherwise.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/assertions.h"
#include "base/bytes.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "buffer/clock_hand.h"
#include "buffer/frame_arena.h"
#include "buffer/free_list.h"
#include "buffer/page_table.h"

namespace rowan {

class FrameTable {
 public:
  /// All frames of the arena are in use and free.
  explicit FrameTable(std::unique_ptr<FrameArena> arena);

  // --- frames ---
  [[nodiscard]] uint32_t page_size() const { return page_size_; }
  [[nodiscard]] Frame* frame(uint32_t number) const { return arena_->frame(number); }
  [[nodiscard]] std::byte* page(uint32_t number) const { return arena_->page(number); }
  [[nodiscard]] MutableBytes PageOf(const Frame* frame) const {
    return {arena_->page(frame->number), page_size_};
  }
  /// The frames from this one on have never been claimed: no page, no change, no memory. A thread
  /// that sees a page's frame in any way sees it counted here.
  [[nodiscard]] uint32_t frames_used() const {
    return frames_used_.load(std::memory_order_acquire);
  }
  /// Frames that were ever usable; see FrameArena.
  [[nodiscard]] uint32_t frames_ever() const { return arena_->frames_ever(); }
  /// Frames [0, limit) are in use; later ones are retired or being retired.
  [[nodiscard]] uint32_t limit() const { return limit_.load(std::memory_order_acquire); }
  [[nodiscard]] uint32_t free_frames() const {
    const uint32_t limit = this->limit();
    return free_list_.size() + limit - std::min(limit, frames_used());
  }
  [[nodiscard]] uint64_t dirty_frames() const {
    return dirty_frames_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] ClockHand* clock_hand() { return &clock_hand_; }

  // --- which page is in which ---
  /// See PageTable::Lookup.
  [[nodiscard]] uint32_t Lookup(uint64_t key) const {
    return table_.load(std::memory_order_acquire)->Lookup(key);
  }
  /// Puts an exclusively latched, unlisted frame into the table as `key`. Returns kNone, or the
  /// frame that already holds the page (then nothing changed).
  uint32_t Publish(Frame* frame, uint64_t key);

  // --- a frame's life ---
  /// Takes a frame from the free list, or one that was never used, latched and loading; nullptr
  /// when there is none.
  Frame* Claim();
  /// The same from the free list only.
  Frame* ClaimListed() { return Claim(Unused::kLeave); }
  /// Makes the page in an exclusively latched, published frame visible once its latch is released.
  static void EndLoad(Frame* frame, uint8_t usage) {
    ROWAN_DCHECK(frame->latch.IsLockedExclusive());
    ROWAN_DCHECK(frame->state.load(std::memory_order_relaxed) == FrameState::kLoading);
    ROWAN_DCHECK(frame->page_id.load(std::memory_order_relaxed) != 0);
    frame->usage.store(usage, std::memory_order_relaxed);
    frame->state.store(FrameState::kResident, std::memory_order_release);
  }
  /// If the frame holds a clean, unused page, takes it out of the table and returns it latched and
  /// loading, like Claim. Never waits for a latch.
  bool TryTakeClean(Frame* frame);
  /// Forgets the page in an exclusively latched frame whose copy is not in flight, releases the
  /// latch and frees the frame.
  void Drop(Frame* frame);
  /// Frees an exclusively latched, unlisted frame.
  void Free(Frame* frame);
  /// The second half of Free for a frame that was beyond the limit; it may no longer be.
  void Retire(Frame* frame);

  // --- dirty pages ---
  /// See BufferPool::MarkDirty.
  void MarkDirty(Frame* frame, Lsn lower_bound);
  /// Makes the frame clean in any case; returns the old first dirty LSN.
  Lsn ClearDirty(Frame* frame);
  /// A page writer cleaned a frame that had not changed since its copy.
  void NoteCleaned() {
    ROWAN_DCHECK(dirty_frames() != 0);
    dirty_frames_.fetch_sub(1, std::memory_order_relaxed);
  }
  /// Evicting threads found dirty frames where they wanted clean ones.
  void WantCleanFrames() { want_clean_frames_.store(true, std::memory_order_relaxed); }
  /// For the cleaner: true once after that.
  bool TakeWantCleanFrames() {
    return want_clean_frames_.exchange(false, std::memory_order_relaxed);
  }

  // --- changing the number of frames: one thread at a time; see PoolResizer ---
  [[nodiscard]] uint32_t frames_max() const { return arena_->frames_max(); }
  /// Makes room for `frames` frames in the table, without using them yet.
  void EnlargeTable(uint32_t frames);
  /// See FrameArena::Grow.
  Status Grow(uint32_t frames) { return arena_->Grow(frames); }
  /// Frames [0, frames) may be used from now on; those of them that are retired become free.
  void RaiseLimit(uint32_t frames);
  void LowerLimit(uint32_t frames) {
    ROWAN_DCHECK(frames <= limit());
    limit_.store(frames, std::memory_order_release);
  }
  /// REQUIRES: the frames after it are retired.
  void Shrink(uint32_t frames) {
    ROWAN_DCHECK(frames >= limit());
    arena_->Shrink(frames);
  }
  /// Entries that all tables, including old ones, were made for.
  uint64_t TableEntries();

 private:
  friend class FrameTableTest;
  enum class Unused { kTake, kLeave };
  Frame* Claim(Unused unused);
  /// Null when all frames up to the limit have been used.
  Frame* TakeUnused();
  void Unlist(Frame* frame);

  // Constant after construction.
  const uint32_t page_size_;
  const std::unique_ptr<FrameArena> arena_;

  FreeList free_list_;
  /// Next to what changes whenever a frame is claimed.
  std::atomic<uint32_t> frames_used_{0};
  /// Read by each eviction: on another cache line than what changes all the time.
  std::atomic<uint32_t> limit_{0};
  alignas(64) std::atomic<uint64_t> dirty_frames_{0};
  ClockHand clock_hand_;
  alignas(64) std::atomic<bool> want_clean_frames_{false};

  /// Published by EnlargeTable, read by each fix: on a line that hardly ever changes.
  alignas(64) std::atomic<PageTable*> table_{nullptr};
  /// Shared: changing entries. Exclusive: replacing the table. Never held while waiting.
  alignas(64) SharedMutex table_mutex_{LatchRank::kPageTable};
  /// All tables ever used: lookups may still be running in an old one. A larger one is made when
  /// the current one is too small, at least twice as large if the pool may grow so far: so the old
  /// ones together have less than twice as many entries.
  std::vector<std::unique_ptr<PageTable>> tables_ ROWAN_GUARDED_BY(table_mutex_);
};

}  // namespace rowan
