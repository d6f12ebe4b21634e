// SPDX-License-Identifier: GPL-2.0-only
// Transitions in a frame's life. See pool_core.h.
#include "buffer/pool_core.h"

#include <algorithm>

#include "base/assertions.h"
#include "base/counters.h"
#include "base/format.h"
#include "base/logging.h"

namespace rowan {

PoolCore::PoolCore(const BufferOptions& pool_options, SpaceFiles* space_files, FileSystem* fs,
                   Log* redo_log, ControlFile* control_file,
                   std::unique_ptr<FrameArena> frame_arena)
    : options(pool_options),
      page_size(frame_arena->page_size_bytes()),
      files(space_files),
      file_system(fs),
      log(redo_log),
      control(control_file),
      arena(std::move(frame_arena)),
      free_list(arena.get()),
      syncs(space_files, pool_options.data_sync_method),
      versions(fs, space_files),
      doublewrite_mode(pool_options.doublewrite) {}

std::string PoolCore::Judge(Bytes page, PageId id) const {
  const PageVerdict verdict = VerifyPage(page, id);
  if (verdict != PageVerdict::kGood) return PageVerdictText(verdict);
  if (PageTypeOf(page.data()) == PageType::kPacked) {
    return "it is compressed or encrypted by a newer version of Rowan";
  }
  // A page is written when the log is durable up to its LSN. If the log ends before, the log lost
  // its end, or the page is another instance's.
  const Lsn lsn = PageLsnOf(page.data());
  if (log != nullptr && lsn.value() > LogTail()) return "it is newer than the end of the redo log";
  if (!versions.IsStale(id, lsn)) return {};
  AddCounter(Counter::kStalePages);
  return Format("it is older than its last write (LSN {}, expected at least {})", lsn.value(),
                versions.Expected(id).value());
}

uint32_t PoolCore::Publish(Frame* frame, uint64_t key) {
  ROWAN_DCHECK(frame->latch.IsLockedExclusive());
  // Before the entry: whoever finds the entry waits on the latch and then sees this id.
  frame->page_id.store(key, std::memory_order_relaxed);
  const SharedLock guard(&table_mutex);
  const uint32_t present =
      table.load(std::memory_order_relaxed)->InsertIfAbsent(key, frame->number);
  if (present != PageTable::kNone) frame->page_id.store(0, std::memory_order_relaxed);
  return present;
}

Frame* PoolCore::Claim() {
  for (;;) {
    Frame* frame = free_list.Pop();
    if (frame == nullptr) return nullptr;
    frame->latch.LockExclusiveUnused();
    ROWAN_CHECK(frame->page_id.load(std::memory_order_relaxed) == 0);
    ROWAN_CHECK(frame->first_dirty_lsn.load(std::memory_order_relaxed) == 0);
    if (frame->number >= frame_limit.load(std::memory_order_acquire)) {
      Retire(frame);
      continue;
    }
    frame->state.store(FrameState::kLoading, std::memory_order_relaxed);
    return frame;
  }
}

void PoolCore::Unlist(Frame* frame) {
  const uint64_t key = frame->page_id.load(std::memory_order_relaxed);
  {
    const SharedLock guard(&table_mutex);
    const bool removed = table.load(std::memory_order_relaxed)->Remove(key, frame->number);
    ROWAN_CHECK(removed);
    frame->page_id.store(0, std::memory_order_relaxed);
  }
  frame->usage.store(0, std::memory_order_relaxed);
}

bool PoolCore::TryTakeClean(Frame* frame) {
  const auto takeable = [frame] {
    return frame->state.load(std::memory_order_relaxed) == FrameState::kResident &&
           frame->first_dirty_lsn.load(std::memory_order_acquire) == 0 &&
           frame->io_in_progress.load(std::memory_order_acquire) == 0;
  };
  // Looked at first without the latch: even a failed exclusive hold disturbs optimistic readers.
  if (!takeable() || !frame->latch.TryLockExclusive()) return false;
  if (!takeable()) {
    frame->latch.UnlockExclusive();
    return false;
  }
  Unlist(frame);
  frame->state.store(FrameState::kLoading, std::memory_order_relaxed);
  // Let go once, so that nobody goes on sleeping for the old page: the next one may be held for
  // long. Only such threads can be inside when the latch is taken again, and they leave at once.
  frame->latch.UnlockExclusive();
  frame->latch.LockExclusiveUnused();
  return true;
}

void PoolCore::Drop(Frame* frame) {
  ROWAN_CHECK(frame->io_in_progress.load(std::memory_order_acquire) == 0);
  ClearDirty(frame);
  Unlist(frame);
  Free(frame);
}

void PoolCore::Free(Frame* frame) {
  ROWAN_DCHECK(frame->latch.IsLockedExclusive());
  ROWAN_CHECK(frame->page_id.load(std::memory_order_relaxed) == 0);
  if (frame->number >= frame_limit.load(std::memory_order_acquire)) return Retire(frame);
  frame->state.store(FrameState::kFree, std::memory_order_release);
  frame->latch.UnlockExclusive();
  free_list.Push(frame);
}

void PoolCore::Retire(Frame* frame) {
  frame->state.store(FrameState::kRetired, std::memory_order_seq_cst);
  frame->latch.UnlockExclusive();
  // The limit may have been raised since it was looked at. Either RaiseLimit sees the state or the
  // new limit is seen here (both orders are total), and only one of the two exchanges succeeds.
  if (frame->number >= frame_limit.load(std::memory_order_seq_cst)) return;
  FrameState retired = FrameState::kRetired;
  if (frame->state.compare_exchange_strong(retired, FrameState::kFree, std::memory_order_seq_cst)) {
    free_list.Push(frame);
  }
}

void PoolCore::RaiseLimit(uint32_t frames) {
  const uint32_t before = frame_limit.exchange(frames, std::memory_order_seq_cst);
  // Frames still full from an unfinished shrink just stay.
  for (uint32_t number = before; number < frames; ++number) {
    Frame* frame = arena->frame(number);
    FrameState retired = FrameState::kRetired;
    if (frame->state.compare_exchange_strong(retired, FrameState::kFree,
                                             std::memory_order_seq_cst)) {
      free_list.Push(frame);
    }
  }
}

bool PoolCore::TryForget(Frame* frame) {
  if (!frame->latch.TryLockExclusive()) return false;
  if (frame->state.load(std::memory_order_relaxed) != FrameState::kResident ||
      frame->io_in_progress.load(std::memory_order_acquire) != 0 ||
      files->IsLive(PageId::Unpack(frame->page_id.load(std::memory_order_relaxed)).space)) {
    frame->latch.UnlockExclusive();
    return false;
  }
  Drop(frame);
  return true;
}

void PoolCore::MarkDirty(Frame* frame, uint64_t lower_bound) {
  ROWAN_DCHECK(frame->latch.IsLockedExclusive());
  ROWAN_CHECK(lower_bound != 0 && (lower_bound & kCopiedBit) == 0);
  uint64_t word = frame->first_dirty_lsn.load(std::memory_order_relaxed);
  for (;;) {
    uint64_t next = word;
    if (word == 0) next = lower_bound;
    if ((word & kCopiedBit) != 0) next = word & ~kCopiedBit;
    if (next == word) return;
    // Release: a sweep that reads the log tail after this change's append sees the mark.
    if (frame->first_dirty_lsn.compare_exchange_weak(word, next, std::memory_order_acq_rel,
                                                     std::memory_order_relaxed)) {
      if (word == 0) dirty_frames.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
}

uint64_t PoolCore::ClearDirty(Frame* frame) {
  const uint64_t word = frame->first_dirty_lsn.exchange(0, std::memory_order_acq_rel);
  if (word != 0) dirty_frames.fetch_sub(1, std::memory_order_relaxed);
  return word & ~kCopiedBit;
}

Status PoolCore::StopEngine(const char* reason, Status cause) {
  if (!Stopped()) {
    LogError(
        "Rowan stops: {} ({}, error {}). The data on disk is intact up to the last sync; "
        "restart after the cause is removed.",
        reason, cause.message(), cause.detail());
  }
  if (log != nullptr) log->Stop(reason);
  return Status(Code::kStopped, reason);
}

void PoolCore::EnlargeTable(uint32_t frames) {
  const ExclusiveLock guard(&table_mutex);
  const PageTable* current = table.load(std::memory_order_relaxed);
  if (current != nullptr && current->capacity() >= frames) return;
  if (current != nullptr) {
    const uint64_t doubled =
        std::min<uint64_t>(2 * uint64_t{current->capacity()}, arena->frames_max());
    frames = std::max(frames, static_cast<uint32_t>(doubled));
  }
  auto larger = std::make_unique<PageTable>(frames);
  const uint32_t initialised = current == nullptr ? 0 : arena->frames_ever();
  for (uint32_t number = 0; number < initialised; ++number) {
    const uint64_t key = arena->frame(number)->page_id.load(std::memory_order_relaxed);
    // A frame whose id is set but which lost the race to be published is not in the old table.
    if (key != 0 && current->Lookup(key) == number) larger->InsertIfAbsent(key, number);
  }
  table.store(larger.get(), std::memory_order_release);
  tables.push_back(std::move(larger));
}

uint64_t PoolCore::TableEntries() {
  const SharedLock guard(&table_mutex);
  uint64_t entries = 0;
  for (const auto& each : tables) entries += each->capacity();
  return entries;
}

}  // namespace rowan
