// SPDX-License-Identifier: GPL-2.0-only
// Transitions in a frame's life. See frame_table.h.
#include "buffer/frame_table.h"

#include <algorithm>
#include <utility>

#include "base/assertions.h"

namespace rowan {

FrameTable::FrameTable(std::unique_ptr<FrameArena> arena)
    : page_size_(arena->page_size_bytes()), arena_(std::move(arena)), free_list_(arena_.get()) {
  const uint32_t frames = frames_ever();
  EnlargeTable(frames);
  limit_.store(frames, std::memory_order_release);
}

uint32_t FrameTable::Publish(Frame* frame, uint64_t key) {
  ROWAN_DCHECK(frame->latch.IsLockedExclusive());
  ROWAN_DCHECK(key != 0 && frame->page_id.load(std::memory_order_relaxed) == 0);
  ROWAN_DCHECK(frame->state.load(std::memory_order_relaxed) == FrameState::kLoading);
  // Before the entry: a thread that finds the entry waits on the latch and then sees this id.
  frame->page_id.store(key, std::memory_order_relaxed);
  const SharedLock guard(&table_mutex_);
  const uint32_t present =
      table_.load(std::memory_order_relaxed)->InsertIfAbsent(key, frame->number);
  if (present != PageTable::kNone) frame->page_id.store(0, std::memory_order_relaxed);
  return present;
}

Frame* FrameTable::TakeUnused() {
  uint32_t number = frames_used_.load(std::memory_order_relaxed);
  do {
    if (number >= limit_.load(std::memory_order_acquire)) return nullptr;
  } while (!frames_used_.compare_exchange_weak(number, number + 1, std::memory_order_acq_rel,
                                               std::memory_order_relaxed));
  // Other threads read it only for frames with a page.
  ROWAN_DCHECK(frame(number)->state.load(std::memory_order_relaxed) == FrameState::kFree);
  frame(number)->number = number;
  return frame(number);
}

Frame* FrameTable::Claim() { return Claim(Unused::kTake); }

Frame* FrameTable::Claim(Unused unused) {
  for (;;) {
    Frame* frame = free_list_.Pop();
    if (frame == nullptr && unused == Unused::kTake) frame = TakeUnused();
    if (frame == nullptr) return nullptr;
    frame->latch.LockExclusiveUnused();
    ROWAN_CHECK(frame->page_id.load(std::memory_order_relaxed) == 0);
    ROWAN_CHECK(frame->first_dirty_lsn.load(std::memory_order_relaxed) == 0);
    ROWAN_DCHECK(frame->io_in_progress.load(std::memory_order_relaxed) == 0);
    ROWAN_DCHECK(frame->state.load(std::memory_order_relaxed) == FrameState::kFree);
    if (frame->number >= limit_.load(std::memory_order_acquire)) {
      Retire(frame);
      continue;
    }
    frame->state.store(FrameState::kLoading, std::memory_order_relaxed);
    return frame;
  }
}

void FrameTable::Unlist(Frame* frame) {
  const uint64_t key = frame->page_id.load(std::memory_order_relaxed);
  ROWAN_DCHECK(key != 0 && frame->latch.IsLockedExclusive());
  ROWAN_DCHECK(frame->FirstDirtyLsn() == kNoLsn);
  {
    const SharedLock guard(&table_mutex_);
    const bool removed = table_.load(std::memory_order_relaxed)->Remove(key, frame->number);
    ROWAN_CHECK(removed);
    frame->page_id.store(0, std::memory_order_relaxed);
  }
  frame->usage.store(0, std::memory_order_relaxed);
}

bool FrameTable::TryTakeClean(Frame* frame) {
  const auto takeable = [frame] {
    return frame->state.load(std::memory_order_relaxed) == FrameState::kResident &&
           frame->first_dirty_lsn.load(std::memory_order_acquire) == 0 &&
           frame->io_in_progress.load(std::memory_order_acquire) == 0;
  };
  // Checked first without the latch: even a failed exclusive hold disturbs optimistic readers.
  if (!takeable() || !frame->latch.TryLockExclusive()) return false;
  if (!takeable()) {
    frame->latch.UnlockExclusive();
    return false;
  }
  Unlist(frame);
  frame->state.store(FrameState::kLoading, std::memory_order_relaxed);
  // Release it once, so that no thread keeps sleeping for the old page: the next one may be held
  // for long. Only such threads can be inside when the latch is retaken, and they leave at once.
  frame->latch.UnlockExclusive();
  frame->latch.LockExclusiveUnused();
  ROWAN_DCHECK(frame->page_id.load(std::memory_order_relaxed) == 0);
  ROWAN_DCHECK(frame->state.load(std::memory_order_relaxed) == FrameState::kLoading);
  return true;
}

void FrameTable::Drop(Frame* frame) {
  ROWAN_CHECK(frame->io_in_progress.load(std::memory_order_acquire) == 0);
  ClearDirty(frame);
  Unlist(frame);
  Free(frame);
}

void FrameTable::Free(Frame* frame) {
  ROWAN_DCHECK(frame->latch.IsLockedExclusive());
  ROWAN_CHECK(frame->page_id.load(std::memory_order_relaxed) == 0);
  if (frame->number >= limit_.load(std::memory_order_acquire)) return Retire(frame);
  frame->state.store(FrameState::kFree, std::memory_order_release);
  frame->latch.UnlockExclusive();
  free_list_.Push(frame);
}

void FrameTable::Retire(Frame* frame) {
  ROWAN_DCHECK(frame->latch.IsLockedExclusive());
  ROWAN_DCHECK(frame->page_id.load(std::memory_order_relaxed) == 0);
  frame->state.store(FrameState::kRetired, std::memory_order_seq_cst);
  frame->latch.UnlockExclusive();
  // The limit may have been raised since it was read. Either RaiseLimit sees the state or the new
  // limit is seen here (both orders are total), and only one of the two exchanges succeeds.
  if (frame->number >= limit_.load(std::memory_order_seq_cst)) return;
  FrameState retired = FrameState::kRetired;
  if (frame->state.compare_exchange_strong(retired, FrameState::kFree, std::memory_order_seq_cst)) {
    free_list_.Push(frame);
  }
}

void FrameTable::RaiseLimit(uint32_t frames) {
  ROWAN_DCHECK(frames <= arena_->frames_ever());
  const uint32_t before = limit_.exchange(frames, std::memory_order_seq_cst);
  // Those never used are available from now on. Frames still full from an unfinished shrink just
  // stay.
  const uint32_t used = std::min(frames, frames_used_.load(std::memory_order_seq_cst));
  for (uint32_t number = before; number < used; ++number) {
    Frame* frame = arena_->frame(number);
    FrameState retired = FrameState::kRetired;
    if (frame->state.compare_exchange_strong(retired, FrameState::kFree,
                                             std::memory_order_seq_cst)) {
      free_list_.Push(frame);
    }
  }
}

void FrameTable::MarkDirty(Frame* frame, Lsn lower_bound) {
  ROWAN_DCHECK(frame->latch.IsLockedExclusive());
  ROWAN_CHECK(lower_bound != kNoLsn && lower_bound <= kDirtyUnlogged);
  uint64_t word = frame->first_dirty_lsn.load(std::memory_order_relaxed);
  for (;;) {
    uint64_t next = word;
    if (word == 0) next = lower_bound.value();
    if ((word & kCopiedBit) != 0) next = word & ~kCopiedBit;
    if (next == word) return;
    // Release: a sweep that reads the log tail after this change's append sees the mark.
    if (frame->first_dirty_lsn.compare_exchange_weak(word, next, std::memory_order_acq_rel,
                                                     std::memory_order_relaxed)) {
      if (word == 0) dirty_frames_.fetch_add(1, std::memory_order_relaxed);
      ROWAN_DCHECK(frame->page_id.load(std::memory_order_relaxed) != 0);
      return;
    }
  }
}

Lsn FrameTable::ClearDirty(Frame* frame) {
  ROWAN_DCHECK(frame->latch.IsLockedExclusive());
  const uint64_t word = frame->first_dirty_lsn.exchange(0, std::memory_order_acq_rel);
  ROWAN_DCHECK(word == 0 || dirty_frames_.load(std::memory_order_relaxed) != 0);
  if (word != 0) dirty_frames_.fetch_sub(1, std::memory_order_relaxed);
  return Lsn(word & ~kCopiedBit);
}

void FrameTable::EnlargeTable(uint32_t frames) {
  const ExclusiveLock guard(&table_mutex_);
  const PageTable* current = table_.load(std::memory_order_relaxed);
  if (current != nullptr && current->capacity() >= frames) return;
  if (current != nullptr) {
    const uint64_t doubled =
        std::min<uint64_t>(2 * uint64_t{current->capacity()}, arena_->frames_max());
    frames = std::max(frames, static_cast<uint32_t>(doubled));
  }
  auto larger = std::make_unique<PageTable>(frames);
  const uint32_t used = current == nullptr ? 0 : frames_used();
  for (uint32_t number = 0; number < used; ++number) {
    const uint64_t key = arena_->frame(number)->page_id.load(std::memory_order_relaxed);
    // A frame whose id is set but which lost the race to be published is not in the old table.
    if (key != 0 && current->Lookup(key) == number) larger->InsertIfAbsent(key, number);
  }
  table_.store(larger.get(), std::memory_order_release);
  tables_.push_back(std::move(larger));
}

uint64_t FrameTable::TableEntries() {
  const SharedLock guard(&table_mutex_);
  uint64_t entries = 0;
  for (const auto& each : tables_) entries += each->capacity();
  return entries;
}

}  // namespace rowan
